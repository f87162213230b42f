"""A file system that really hangs, and one that is really full: what the rest of the tests takes for granted."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from kafka_dr.evidence.store import EvidenceStore, EvidenceUnwritable
from kafka_dr.storage.access import AccessDeadline, StorageSilent
from kafka_dr.storage.child_access import ChildAccess
from kafka_dr.storage.deadline_path import DeadlinePath
from support.storage_mounts import full, hanging


def test_a_file_system_that_hangs_is_left_alone_and_used_again_when_it_answers(tmp_path: Path) -> None:
    (tmp_path / "before").write_bytes(b"before")
    root = DeadlinePath(tmp_path, ChildAccess(AccessDeadline(3.0, left_alone_seconds=0)))
    store = EvidenceStore(root)
    with hanging(tmp_path):
        with pytest.raises(StorageSilent, match="the storage hangs"):
            root.joinpath("before").read_bytes()
        with pytest.raises(EvidenceUnwritable, match="the storage hangs"):
            store.write("orders", "run-1", 5, "drain", {"seen": 1})
        with pytest.raises(StorageSilent):
            store.newest("orders", "run-1", "drain")
    patient = DeadlinePath(tmp_path, ChildAccess(AccessDeadline(60)))
    assert patient.joinpath("before").read_bytes() == b"before"


def test_a_disk_without_space_refuses_and_keeps_no_part_of_a_file(tmp_path: Path) -> None:
    root = DeadlinePath(tmp_path, ChildAccess(AccessDeadline(60)))
    with full(tmp_path):
        with pytest.raises(EvidenceUnwritable, match="the disk is full"):
            EvidenceStore(root).write("orders", "run-1", 5, "drain", {"seen": 1})
        with pytest.raises(OSError, match="No space left") as refused, root.joinpath("file").open("xb") as file:
            file.write(bytes(100_000))
        assert refused.value.errno == errno.ENOSPC
        assert list(root.iterdir()) == []
