"""I9: is every record that an audit called equal the same on both clusters?

Read from what an audit leaves: its ledger, and the pairs of offsets that it matched.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.invariants.deletions import Ids
from lab.invariants.model import STATEMENTS, InvariantResult, LogRecord, Logs, Partition
from lab.invariants.names import Names


@dataclass(frozen=True, slots=True)
class Matched:
    """One stretch of offsets that an audit called equal.

    :param ids: of the topic, on the source and on the target
    """

    partition: Partition
    ids: tuple[str, str]
    source_start: int
    target_start: int
    length: int


@dataclass(frozen=True, slots=True)
class Audit:
    """One audit of a flow.

    :param verified: by partition, how many records its ledger counts as equal
    """

    name: str
    source: str
    target: str
    verified: Mapping[Partition, int]
    matched: tuple[Matched, ...]


def audits_in(folder: Path) -> list[Audit]:
    """Read the full audits of a protection group; those that build on earlier ones show a part only.

    :param folder: of its checksum audits, by flow
    :raises LabError: one cannot be read
    """
    found = []
    for path in sorted(folder.glob("*-to-*/*/report.json")):
        try:
            report = json.loads(path.read_text())
            if report["full"]:
                found.append(_audit(path, report))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LabError(f"the audit in {path.parent} cannot be read: {error!r}") from error
    return found


def _audit(path: Path, report: Mapping[str, Any]) -> Audit:
    import pyarrow.parquet as parquet

    source, _, target = path.parent.parent.name.partition("-to-")
    rows = parquet.read_table(path.with_name("offset_map") / "part-0.parquet").to_pylist()
    return Audit(
        name=path.parent.name,
        source=source,
        target=target,
        verified={
            Partition(topic["topic"], each["partition"]): each["coverage"]["verified"]
            for topic in report["topics"]
            for each in topic["partitions"]
        },
        matched=tuple(
            Matched(
                Partition(row["topic"], row["partition"]),
                (row["source_topic_id"], row["target_topic_id"]),
                row["source_start"],
                row["target_start"],
                row["length"],
            )
            for row in rows
        ),
    )


def check_audits(
    audits: list[Audit], *, logs: Mapping[str, Logs], ids: Ids, names: Names | None = None
) -> InvariantResult:
    """Look up every pair that an audit called equal, where both logs are still there to be read.

    :param logs: by cluster, as they are now
    :param ids: of the topics that it read
    :param names: of topics; the same everywhere if left out
    """
    names = names or Names()
    wrong: list[str] = []
    seen = 0
    for audit in audits:
        wrong += _miscounted(audit)
        here, there = (_by_offset(logs.get(name, {})) for name in (audit.source, audit.target))
        for each in audit.matched:
            place = names.place(audit.source, each.partition.topic, each.partition.number)
            here_id, there_id = (
                ids.get(cluster, {}).get(names.called(cluster, place)) for cluster in (audit.source, audit.target)
            )
            if each.ids != (here_id, there_id) or place not in here or place not in there:
                continue
            seen += each.length
            wrong += _differing(audit, each, here[place], there[place])
    if wrong:
        return InvariantResult(
            "I9", "violated", f"{len(wrong)} times an audit called equal what is not", tuple(wrong[:3])
        )
    if not seen:
        return InvariantResult("I9", "unknown", "no audit matched any record that can still be looked up")
    said = f"{seen} records that audits called equal were looked up, and are the same on both clusters"
    return InvariantResult("I9", "held", f"{STATEMENTS['I9']}: {said}")


def _miscounted(audit: Audit) -> Iterator[str]:
    """Yield where the ledger counts more as equal than was matched."""
    matched: Counter[Partition] = Counter()
    for each in audit.matched:
        matched[each.partition] += each.length
    for partition, count in audit.verified.items():
        if count > matched[partition]:
            yield f"{audit.name} counts {count} records of {partition} as equal, and matched {matched[partition]}"


def _differing(
    audit: Audit, each: Matched, here: Mapping[int, LogRecord], there: Mapping[int, LogRecord]
) -> Iterator[str]:
    for step in range(each.length):
        first, second = here.get(each.source_start + step), there.get(each.target_start + step)
        if first is None or second is None or (first.record, first.intact) != (second.record, second.intact):
            yield (
                f"{audit.name}: {each.partition} offset {each.source_start + step} of {audit.source} was called equal "
                f"to offset {each.target_start + step} of {audit.target}"
            )


def _by_offset(logs: Logs) -> dict[Partition, dict[int, LogRecord]]:
    return {partition: {each.offset: each for each in log} for partition, log in logs.items()}
