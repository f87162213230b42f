"""What is removed once an audit is kept, and what is not; the log's folder is a plain one here."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from jobs.checksum.audit_store import AuditStore, ScanFacts, scan_name
from jobs.checksum.report import ChecksumReport, PartitionReport
from jobs.checksum.state import AuditState, Scan, StateStore
from jobs.fingerprint_log import FingerprintLog
from kafka_dr.audit.coverage import Coverage
from kafka_dr.audit.kept_map import KeptMap, MapKey
from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.clusters import TopicPartition
from kafka_dr.replication.flow import Flow

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)
P, Q = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Folder:
    """The log's folder as names alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def names(self) -> list[str]:
        return sorted(each.name for each in self.path.iterdir())

    def names_in(self, uri: str) -> list[str]:
        return sorted(each.name for each in Path(uri).iterdir()) if Path(uri).is_dir() else []

    def remove(self, name: str) -> None:
        shutil.rmtree(self.path / name)

    def remove_file(self, uri: str) -> None:
        Path(uri).unlink()


@pytest.fixture
def log(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "log")


@pytest.fixture
def memory(tmp_path: Path, log: Folder) -> AuditStore:
    return AuditStore(tmp_path / "root", Flow("shop", "east", "west"), cast("FingerprintLog", log))


def report(*runs: OffsetRun, partition: TopicPartition = P) -> ChecksumReport:
    found = PartitionReport(partition, (), {}, Coverage(), (0, 0), 0, None, {}, runs)
    return ChecksumReport("f", 1, NOW, False, (found,), {"orders": ("a", "b")}, (), "", True, {}, 0, 0)


def keep(memory: AuditStore, log: Folder, at: datetime, said: ChecksumReport, **more: object) -> str:
    """Keep an audit as the job does, on top of what the one before has left."""
    scan = scan_name(at, "abc123")
    (log.path / scan).mkdir()
    before = memory.read() or AuditState(("E", "W", 1))
    maps = () if more.get("full") else before.maps
    state = AuditState(before.identity, scans=(*before.scans, Scan(scan, at, {})), maps=maps)
    begun_again = cast("frozenset[TopicPartition]", more.get("anew", frozenset()))
    memory.keep(state, said, ScanFacts(scan, at, begun_again, keep_for=3 * DAY))
    return scan


def known(memory: AuditStore) -> dict[int, list[OffsetRun]]:
    return {key.partition: list(runs) for key, runs in memory.known_runs(("E", "W")).items()}


def parts(memory: AuditStore) -> set[str]:
    return {each.name for each in (memory.folder / "map").iterdir()}


def test_small_parts_of_the_map_become_one_and_the_old_one_goes(memory: AuditStore, log: Folder) -> None:
    keep(memory, log, NOW, report(OffsetRun(0, 0, 5)))
    last = keep(memory, log, NOW + DAY, report(OffsetRun(5, 5, 5)))
    assert known(memory) == {0: [OffsetRun(0, 0, 10)]}
    assert parts(memory) == {f"{last}.jsonl"}


def test_a_full_audit_replaces_the_map(memory: AuditStore, log: Folder) -> None:
    keep(memory, log, NOW, report(OffsetRun(0, 3, 5)))
    last = keep(memory, log, NOW + DAY, report(OffsetRun(0, 0, 9)), full=True)
    assert known(memory) == {0: [OffsetRun(0, 0, 9)]}
    assert parts(memory) == {f"{last}.jsonl"}


def test_what_is_known_of_a_log_that_was_cut_off_is_forgotten_and_of_others_is_not(
    memory: AuditStore, log: Folder
) -> None:
    keep(memory, log, NOW, report(OffsetRun(0, 0, 9)))
    keep(memory, log, NOW + DAY / 2, report(OffsetRun(0, 0, 7), partition=Q))
    keep(memory, log, NOW + DAY, report(OffsetRun(0, 0, 2)), anew=frozenset({P}))
    assert known(memory) == {0: [OffsetRun(0, 0, 2)], 1: [OffsetRun(0, 0, 7)]}


def test_the_log_is_kept_for_as_long_as_the_topology_says_whatever_names_it(memory: AuditStore, log: Folder) -> None:
    first = keep(memory, log, NOW, report())
    died, strange = scan_name(NOW + DAY, "dead00"), "notes"
    for name in (died, strange):
        (log.path / name).mkdir()
    keep(memory, log, NOW + 2 * DAY, report())
    assert {first, died, strange} <= set(log.names())
    last = keep(memory, log, NOW + 3.5 * DAY, report())
    assert first not in log.names()
    StateStore(memory.folder).write(AuditState(("E", "W", 2)))  # another epoch names none of them
    newest = keep(memory, log, NOW + 4.5 * DAY, report())
    assert log.names() == sorted([scan_name(NOW + 2 * DAY, "abc123"), last, newest, strange])


def test_an_audit_that_dies_while_it_is_kept_leaves_the_map_as_it_was(
    memory: AuditStore, log: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(memory, log, NOW, report(OffsetRun(0, 0, 5)))
    before = memory.read()

    def dies(_store: StateStore, _state: AuditState) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(StateStore, "write", dies)
        with pytest.raises(OSError, match="killed"):
            keep(memory, log, NOW + DAY, report(OffsetRun(5, 8, 4)))
    assert (memory.read(), known(memory)) == (before, {0: [OffsetRun(0, 0, 5)]})
    keep(memory, log, NOW + 2 * DAY, report(OffsetRun(5, 9, 4)))
    assert known(memory) == {0: [OffsetRun(0, 0, 5), OffsetRun(5, 9, 4)]}
    kept = KeptMap(memory.root, group="shop", direction="east-to-west")
    assert list(next(kept.newest_first(("E", "W")))) == [MapKey(1, "a", "b", "orders", 0)]
