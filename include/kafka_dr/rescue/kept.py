"""Reading the list's records from Parquet, partition by partition, in the order in which they were written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.audit.stranded import StrandedList
from kafka_dr.errors import NeedsPerson

_BATCH = 2_000
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A stranded record, complete.

    :param offset: the offset *of* the record on the old cluster
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: tuple[tuple[str, bytes | None], ...] = field(repr=False)


def missing_from(found: StrandedList, folder: Any) -> str:
    """Say what of a list is no longer kept; empty if every record is there, in files that nobody changed.

    Of a list without digests only the number of records is known.

    :param folder: the folder of the list
    """
    rows = 0
    for each in found.files:
        path = folder.joinpath(*each.path.split("/"))
        try:
            if each.sha256 and _sha256(path) != each.sha256:
                return f"{path} is not what was written when the list was made: restore it from a copy"
            with path.open("rb") as file:
                rows += _parquet(file).metadata.num_rows
        except (OSError, ValueError) as error:
            return f"{path} cannot be read ({error}): restore it from a copy"
    if rows != found.records:
        return (
            f"the files below {folder} hold {rows} records, and {found.records} are stranded: restore what is missing"
        )
    return ""


def read_partition(
    found: StrandedList, folder: Any, *, topic: str, partition: int, from_offset: int = 0
) -> Iterator[KeptRecord]:
    """Yield the records of one partition from an offset on, in order.

    :raises NeedsPerson: a file cannot be read
    """
    try:
        for _, path in sorted(_files_of(found, folder, topic, partition)):
            with folder.joinpath(*path.split("/")).open("rb") as file:
                for batch in _parquet(file).iter_batches(_BATCH):
                    yield from (
                        _record(row)
                        for row in batch.to_pylist()
                        if (row["topic"], row["partition"]) == (topic, partition) and row["offset"] >= from_offset
                    )
    except (OSError, ValueError) as error:
        raise NeedsPerson(f"the records kept in {folder} cannot be read ({error}): restore them from a copy") from error


def _files_of(found: StrandedList, folder: Any, topic: str, partition: int) -> Iterator[tuple[int, str]]:
    """Yield the files that may hold records of a partition, by the first offset in each: one reader wrote each file."""
    for each in found.files:
        with folder.joinpath(*each.path.split("/")).open("rb") as file:
            metadata = _parquet(file).metadata
            if not metadata.num_rows:
                continue
            first = metadata.row_group(0)
            topics, partitions, offsets = (first.column(number).statistics for number in range(3))
            if topics.min <= topic <= topics.max and partitions.min <= partition <= partitions.max:
                yield offsets.min, each.path


def _sha256(path: Any) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def _parquet(file: Any) -> Any:
    # Loaded here: every step of every verb imports this room, and Arrow takes half a second.
    import pyarrow.parquet as pq

    return pq.ParquetFile(file)


def _record(row: dict[str, Any]) -> KeptRecord:
    return KeptRecord(
        topic=row["topic"],
        partition=row["partition"],
        offset=row["offset"],
        timestamp_ms=row["timestamp"],
        key=row["key"],
        value=row["value"],
        headers=tuple((header["key"], header["value"]) for header in row["headers"] or ()),
    )
