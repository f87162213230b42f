"""Every access to the evidence has a deadline: a child that hangs is left alone, and nothing else changes."""

from __future__ import annotations

import errno
import os
import signal
import stat
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_dr.evidence.storage_path import create_file
from kafka_dr.storage.access import AccessDeadline, StorageSilent
from kafka_dr.storage.child_access import ChildAccess
from kafka_dr.storage.deadline_path import DeadlinePath, with_deadline
from kafka_dr.storage.thread_access import ThreadAccess


@pytest.fixture
def access() -> ChildAccess:
    return ChildAccess(AccessDeadline(60))


@pytest.fixture(params=["child", "thread"])
def root(request: pytest.FixtureRequest, tmp_path: Path, access: ChildAccess) -> DeadlinePath:
    return DeadlinePath(tmp_path, access if request.param == "child" else ThreadAccess(AccessDeadline(60)))


def test_a_file_is_written_read_listed_renamed_and_removed(root: DeadlinePath) -> None:
    folder = root.joinpath("runs", "orders")
    folder.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    with folder.joinpath("a").open("wb") as file:
        file.write(b"some ")
        file.write(b"content")
    assert folder.joinpath("a").read_bytes() == b"some content"
    assert (folder / "a").size() == 12
    folder.joinpath("a").rename(folder.joinpath("b"))
    assert [path.name for path in folder.iterdir()] == ["b"]
    assert folder.is_dir()
    assert not folder.joinpath("b").is_dir()
    folder.joinpath("b").unlink()
    with pytest.raises(FileNotFoundError):
        folder.joinpath("b").read_bytes()
    with pytest.raises(FileNotFoundError):
        folder.joinpath("b").open("rb")


def test_a_file_that_must_not_exist_is_not_replaced(root: DeadlinePath) -> None:
    create_file(root.joinpath("once"), b"first")
    with pytest.raises(FileExistsError):
        create_file(root.joinpath("once"), b"second")
    assert root.joinpath("once").read_bytes() == b"first"


def test_a_file_is_not_written_if_an_error_ends_the_writing(root: DeadlinePath) -> None:
    def write_half() -> None:
        with root.joinpath("half").open("wb") as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert [path.name for path in root.iterdir()] == []


def test_parquet_is_read_through_it(root: DeadlinePath, tmp_path: Path) -> None:
    table = pa.table({"offset": list(range(300_000)), "value": [os.urandom(8) for _ in range(300_000)]})
    pq.write_table(table, tmp_path / "records.parquet", row_group_size=50_000)
    with root.joinpath("records.parquet").open("rb") as file:
        assert pq.ParquetFile(file).read() == table
    assert root.joinpath("records.parquet").read_bytes() == (tmp_path / "records.parquet").read_bytes()


def test_a_folder_is_removed_with_everything_in_it(access: ChildAccess, tmp_path: Path) -> None:
    (tmp_path / "old" / "inner").mkdir(parents=True)
    (tmp_path / "old" / "inner" / "file").write_bytes(b"1")
    DeadlinePath(tmp_path / "old", access).rmdir(recursive=True)
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_for_this_user_alone_whatever_the_mask(tmp_path: Path) -> None:
    former = os.umask(0)
    try:
        root = DeadlinePath(tmp_path, ChildAccess(AccessDeadline(60)))
        root.joinpath("a", "b").mkdir(parents=True, exist_ok=True)
        for name, mode in (("new", "xb"), ("whole", "wb")):
            with root.joinpath("a", "b", name).open(mode) as file:
                file.write(b"secret")
    finally:
        os.umask(former)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a").rglob("*")}
    assert modes == {"b": 0o700, "new": 0o600, "whole": 0o600}
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


@pytest.fixture
def hanging(tmp_path: Path) -> tuple[DeadlinePath, ChildAccess]:
    """A path whose child is stopped, as one is that waits for a file system that hangs."""
    access = ChildAccess(AccessDeadline(3.0, left_alone_seconds=0))
    root = DeadlinePath(tmp_path, access)
    with root.joinpath("before").open("wb") as file:
        file.write(b"before")
    stopped = access.process_id
    assert stopped is not None
    os.kill(stopped, signal.SIGSTOP)
    return root, access


def test_a_child_that_hangs_is_left_alone_and_the_next_access_has_another_one(
    hanging: tuple[DeadlinePath, ChildAccess],
) -> None:
    root, access = hanging
    stopped = access.process_id
    with pytest.raises(StorageSilent, match=r"no answer to read .*before within"):
        root.joinpath("before").read_bytes()
    assert access.process_id is None
    # A new interpreter may take its time on a busy machine.
    DeadlinePath(root.path, patient := ChildAccess(AccessDeadline(60))).joinpath("before").read_bytes()
    assert patient.process_id != stopped


def test_more_than_a_pipe_holds_does_not_wait_for_a_child_that_hangs(
    hanging: tuple[DeadlinePath, ChildAccess],
) -> None:
    with pytest.raises(StorageSilent), hanging[0].joinpath("large").open("wb") as file:
        file.write(bytes(4 * 1024 * 1024))


def test_after_an_access_that_was_left_alone_nothing_is_waited_for(tmp_path: Path) -> None:
    access = ChildAccess(AccessDeadline(5.0, left_alone_seconds=3600))
    root = DeadlinePath(tmp_path, access)
    list(root.iterdir())
    assert access.process_id is not None
    os.kill(access.process_id, signal.SIGSTOP)
    with pytest.raises(StorageSilent, match="no answer to list"):
        root.iterdir()
    with pytest.raises(StorageSilent, match="is asked again in"):
        root.iterdir()
    assert access.process_id is None


def test_a_child_that_was_killed_is_replaced(tmp_path: Path, access: ChildAccess) -> None:
    root = DeadlinePath(tmp_path, access)
    list(root.iterdir())
    assert access.process_id is not None
    os.kill(access.process_id, signal.SIGKILL)
    assert list(root.iterdir()) == []


def test_a_fifo_without_a_writer_hangs_the_access_and_not_this_process(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    access = ChildAccess(AccessDeadline(3.0, left_alone_seconds=0))
    with pytest.raises(StorageSilent, match="the storage hangs"):
        DeadlinePath(tmp_path / "fifo", access).read_bytes()


def test_an_object_store_that_hangs_is_left_alone() -> None:
    class HangingPath:
        name = "evidence"

        def iterdir(self) -> Any:
            Event().wait()

    root = with_deadline(HangingPath(), seconds=0.05)
    with pytest.raises(StorageSilent, match="no answer to list"):
        root.iterdir()


def write_to(path: DeadlinePath, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)


def test_a_full_disk_leaves_no_part_of_a_file(tmp_path: Path, access: ChildAccess) -> None:
    """``/dev/full`` refuses each write as a full disk does; what was opened for the content is removed."""
    (tmp_path / "link").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as refused:
        write_to(DeadlinePath(tmp_path / "link", access), b"1")
    assert refused.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_a_path_has_one_deadline_and_its_process_one_child(tmp_path: Path) -> None:
    root = with_deadline(tmp_path)
    assert with_deadline(root) is root
    assert with_deadline(tmp_path / "other").access is root.access
    assert str(root / "runs") == str(tmp_path / "runs")
    assert root.joinpath("runs").parent.name == tmp_path.name
