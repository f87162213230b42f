"""Reading the list's records from Parquet, partition by partition, in the order in which they were written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.audit.content_keys import ContentKeys
from kafka_dr.audit.erasure import Erasure, erased_in, files_after
from kafka_dr.audit.stranded import StrandedList
from kafka_dr.causes import cause
from kafka_dr.counted import counted
from kafka_dr.errors import NeedsPerson
from kafka_dr.rescue.content import content_opener

_BATCH = 2_000
_BLOCK = 1 << 20
#: The column of a file that an erasure changed: whether a row has lost its content.
ERASED = "erased"


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A stranded record, complete.

    :param offset: the offset *of* the record on the old cluster
    :param erased: whether its content was erased: then only its offset is known
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: tuple[tuple[str, bytes | None], ...] = field(repr=False)
    erased: bool = False


def missing_from(found: StrandedList, folder: Any, erasures: Sequence[Erasure] = ()) -> str:
    """Say what of a list is no longer kept; empty if every record is there, in files that nobody changed.

    Of a list without digests only the number of records is known. A record whose content was erased counts as kept.

    :param folder: the folder of the list
    :param erasures: those that a register knows
    """
    rows = erased = 0
    for each in files_after(found.files, erasures):
        path = folder.joinpath(*each.path.split("/"))
        try:
            if each.sha256 and (now := sha256_of(path)) != each.sha256:
                return _why_changed(found, path, each.path, now, erased_in(each.path, erasures))
            with path.open("rb") as file:
                parquet = parquet_file(file)
                rows += parquet.metadata.num_rows
                erased += _count_erased(parquet)
        except (OSError, ValueError) as error:
            return f"{path} cannot be read ({cause(error)}): restore it from a copy"
    if erased and not erasures:
        return (
            f"below {folder} {counted(erased, 'record is', 'records are')} marked as erased, and no register "
            f"knows of an erasure: restore them "
            "from a copy"
        )
    if rows != found.records:
        return (
            f"the files below {folder} hold {counted(rows, 'record')}, and {found.records} are stranded: "
            f"restore what is missing"
        )
    return ""


def _why_changed(found: StrandedList, path: Any, name: str, now: str, erasure: Erasure | None) -> str:
    if erasure is None:
        return f"{path} is not what was written when the list was made: restore it from a copy"
    if now in {file.sha256 for file in found.files if file.path == name}:
        return (
            f"records of {path} were {erasure.sentence}, and the file still holds them: run python -m kafka_dr erase "
            "again, which finishes that"
        )
    return f"{path} is not what it was after records of it were {erasure.sentence}: restore it from a later copy"


def erased_records(found: StrandedList, folder: Any) -> int:
    """Return how many records of a list have lost their content.

    :raises NeedsPerson: a file cannot be read
    """
    total = 0
    for each in found.files:
        path = folder.joinpath(*each.path.split("/"))
        try:
            with path.open("rb") as file:
                total += _count_erased(parquet_file(file))
        except (OSError, ValueError) as error:
            raise NeedsPerson(f"{path} cannot be read ({cause(error)}): restore it from a copy") from error
    return total


def _count_erased(parquet: Any) -> int:
    if ERASED not in parquet.schema_arrow.names:
        return 0
    return sum(
        sum(map(bool, batch.column(0).to_pylist()))
        for batch in parquet.iter_batches(_BATCH, columns=[ERASED], use_threads=False)
    )


def read_partition(
    found: StrandedList,
    folder: Any,
    *,
    topic: str,
    partition: int,
    from_offset: int = 0,
    keys: ContentKeys | None = None,
) -> Iterator[KeptRecord]:
    """Yield the records of one partition from an offset on, in order.

    :param keys: of the content, where the topology names any
    :raises NeedsPerson: a file cannot be read, or its content is encrypted and the key is not known
    """
    opened = content_opener(found, keys)
    try:
        for _, path in sorted(_files_of(found, folder, topic, partition)):
            with folder.joinpath(*path.split("/")).open("rb") as file:
                for batch in parquet_file(file).iter_batches(_BATCH, use_threads=False):
                    yield from (
                        _record(opened(row))
                        for row in batch.to_pylist()
                        if (row["topic"], row["partition"]) == (topic, partition) and row["offset"] >= from_offset
                    )
    except (OSError, ValueError) as error:
        raise NeedsPerson(
            f"the records kept in {folder} cannot be read ({cause(error)}): restore them from a copy"
        ) from error


def _files_of(found: StrandedList, folder: Any, topic: str, partition: int) -> Iterator[tuple[int, str]]:
    """Yield the files that may hold records of a partition, by the first offset in each: one reader wrote each file."""
    for each in found.files:
        with folder.joinpath(*each.path.split("/")).open("rb") as file:
            metadata = parquet_file(file).metadata
            if not metadata.num_rows:
                continue
            first = metadata.row_group(0)
            topics, partitions, offsets = (first.column(number).statistics for number in range(3))
            if topics.min <= topic <= topics.max and partitions.min <= partition <= partitions.max:
                yield offsets.min, each.path


def sha256_of(path: Any) -> str:
    """Return the SHA-256 of a file, in hex.

    :param path: a path object
    """
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def parquet_file(file: Any) -> Any:
    """Return what reads a Parquet file. Read it without threads, too.

    Arrow aborts the whole process at its end if one of Arrow's threads is not idle yet (26.0, apache/arrow#34314).

    :param file: opened for reading
    """
    # Loaded here: every step of every verb imports this room, and Arrow takes half a second.
    import pyarrow.parquet as pq

    return pq.ParquetFile(file, pre_buffer=False)


def _record(row: Mapping[str, Any]) -> KeptRecord:
    return KeptRecord(
        topic=row["topic"],
        partition=row["partition"],
        offset=row["offset"],
        timestamp_ms=row["timestamp"],
        key=row["key"],
        value=row["value"],
        headers=tuple((header["key"], header["value"]) for header in row["headers"] or ()),
        erased=bool(row.get(ERASED)),
    )
