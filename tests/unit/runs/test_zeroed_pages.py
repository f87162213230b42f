"""A page of a stored Parquet file that a disk has zeroed, under a footer that is whole, is never read as good."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafka_dr.audit.kept_map import KeptMap, MapKey
from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.audit.recorded_input import InputKind, RecordedInput
from kafka_dr.json_documents import write_whole
from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.syncs.files import SyncArchive, SyncRow
from kafka_dr.offsets.syncs.history import ArchivedSync
from kafka_dr.positions import TopicPartition
from kafka_dr.register.digests import RecordedDigest
from kafka_dr.runs.recorded_files import KnownFiles, unrecorded_files, with_recorded_only
from kafka_dr.runs.recorded_inputs import newest_records, record_input, unrecorded, without
from kafka_dr.storage.deadline_path import DeadlinePath
from support import damaged_files
from support.failing_storage import FailingStorage
from support.memory_register import MemoryRegister

FORWARD = "east-to-west"
ONE = TopicPartition("orders.payments", 0)
IDS = {ONE.topic: ("e", "w")}
NOW = datetime(2026, 11, 23, 1, tzinfo=UTC)
MAP = RecordedInput(InputKind.OFFSET_MAP, "orders", FORWARD)


@pytest.fixture
def root(tmp_path: Path) -> DeadlinePath:
    return DeadlinePath(tmp_path, FailingStorage())


def pages(file: Path) -> Iterator[Callable[[], None]]:
    """Yield what zeroes all pages, and then the pages of one column after the other; each time of the whole file."""
    whole = file.read_bytes()
    group = pq.ParquetFile(file).metadata.row_group(0)

    def zero(column: int) -> None:
        chunk = group.column(column)
        start = min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset)))
        content = bytearray(whole)
        content[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
        file.write_bytes(content)

    yield lambda: damaged_files.zero_the_pages(file)
    for number in range(group.num_columns):
        file.write_bytes(whole)
        yield lambda number=number: zero(number)  # type: ignore[misc]


def test_a_page_of_an_offset_map(root: DeadlinePath) -> None:
    kept = KeptMap(Path(str(root)), group="orders", direction=FORWARD)
    kept.add("a", {MapKey(1, "e", "w", ONE.topic, ONE.partition): [OffsetRun(5, 5, 5), OffsetRun(50, 50, 50)]})
    (part,) = kept.folder.joinpath("map").iterdir()
    state = {"identity": ["E", "W", 1], "maps": ["a"], "partitions": []}
    write_whole(root.joinpath(*MAP.file.split("/")), json.dumps(state).encode())
    register = MemoryRegister()
    record_input(register, MAP, MAP.sha256(root), at=NOW)

    def read(seen: DeadlinePath) -> dict[TopicPartition, object]:
        return dict(MapStore(seen, "orders", source=("east", "E"), target=("west", "W")).read(IDS).runs)

    assert read(root)
    whole = part.read_bytes()
    for start in range(0, len(whole), 8):
        part.write_bytes(whole[:start] + bytes(8) + whole[start + 8 :])
        found = unrecorded(root, lambda: newest_records(lambda _: register, "orders", ["east"]), [MAP])
        assert [each.what for each in found] == [MAP]
        assert read(without(root, found)) == {}


def test_a_page_of_archived_syncs(root: DeadlinePath) -> None:
    known: dict[str, RecordedDigest] = {}

    def record(path: str, sha256: str | None) -> None:
        known[path] = RecordedDigest((sha256 or "",), NOW.isoformat())

    def archive(seen: DeadlinePath) -> SyncArchive:
        return SyncArchive(seen, source="east", target="west", cluster_ids=("e", "w"), record=record)

    rows = [SyncRow(ONE, ArchivedSync(at, at * 10, at * 10, 1_000 + at), ("e", "w")) for at in range(5)]
    archive(root).extend("topic-id", rows, first=0, end=5)
    ((path, digest),) = known.items()
    file = Path(str(root)).joinpath(*path.split("/"))
    assert digest.sha256 == (hashlib.sha256(file.read_bytes()).hexdigest(),)
    seen = with_recorded_only(root, KnownFiles(lambda: known))
    assert archive(seen).read({ONE.topic}, topic_ids=IDS).syncs
    for zero in pages(file):
        zero()
        (found,) = unrecorded_files(root, (f"offset_syncs/{FORWARD}",), KnownFiles(lambda: known))
        assert (found.path, found.at) == (path, NOW.isoformat())
        for each in (seen, root):
            assert archive(each).read({ONE.topic}, topic_ids=IDS).syncs == {}
