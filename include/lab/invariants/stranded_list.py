"""What was kept after a disaster: the list of stranded records, and the ranges in quarantine.

The files are read as anybody could read them: JSON that names Parquet files of records with key, value and headers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.invariants.kept_content import row_opener
from lab.invariants.model import LogRecord, Logs, Partition, RecordId, StrandedRecord
from lab.traffic.records import fingerprint, identify

Range = tuple[int, int]


def stranded(
    folder: Path, content_key: str, location: Callable[[str, int], Partition] = Partition
) -> list[StrandedRecord]:
    """Read the list of stranded records.

    :param folder: of the list of one run
    :param content_key: what an encrypted list is opened with
    :param location: which partition it is, by topic and number on the lost cluster
    :raises LabError: there is no list, or it cannot be read
    """
    import pyarrow.parquet as parquet

    try:
        summary = json.loads((folder / "summary.json").read_text())
        files = [folder / each["path"] for each in summary["files"]]
        opened = row_opener(summary, content_key)
        rows = [opened(row) for file in files for row in parquet.read_table(file).to_pylist()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LabError(f"the list of stranded records in {folder} cannot be read: {error!r}") from error
    return [_stranded(row, location(row["topic"], row["partition"])) for row in rows]


def without(logs: Logs, quarantine: Mapping[Partition, Sequence[Range]]) -> Logs:
    """Leave out the ranges that stay in quarantine: nobody counts on them.

    :param quarantine: offsets ``first <= offset < after`` by partition
    """
    return {partition: _outside(log, quarantine.get(partition, ())) for partition, log in logs.items()}


def parse_range(text: str) -> tuple[Partition, Range]:
    """Read ``topic-partition:first-after``.

    :raises LabError: it is something else
    """
    name, _, offsets = text.rpartition(":")
    topic, _, number = name.rpartition("-")
    first, _, after = offsets.partition("-")
    try:
        return Partition(topic, int(number)), (int(first), int(after))
    except ValueError as error:
        raise LabError(f"{text!r} is not a range in quarantine") from error


def _outside(log: Sequence[LogRecord], ranges: Sequence[Range]) -> tuple[LogRecord, ...]:
    return tuple(each for each in log if not any(first <= each.offset < after for first, after in ranges))


def _stranded(row: Mapping[str, Any], partition: Partition) -> StrandedRecord:
    who = identify((header["key"], header["value"]) for header in row["headers"] or ())
    if who is None:
        return StrandedRecord(partition, row["offset"], None)
    now = fingerprint(row["key"], row["value"], row["timestamp"])
    return StrandedRecord(
        partition, row["offset"], RecordId(who.application, who.sequence), intact=now == who.fingerprint
    )
