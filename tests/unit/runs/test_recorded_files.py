"""A last look, offset pairs and archived syncs without a digest in the register are as if they did not exist."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.json_documents import write_whole
from kafka_dr.register.digests import RecordedDigest, recorded
from kafka_dr.runs.recorded_files import KnownFiles, UnrecordedFile, said, unrecorded_files, with_recorded_only
from kafka_dr.storage.deadline_path import DeadlinePath
from support.failing_storage import FailingStorage

LOOK = "last_looks/orders/east-to-west.json"
SYNCS = "offset_syncs/east-to-west/topic-id/0-9.parquet"
AT = "2026-11-23T01:00:00+00:00"


def digest(*contents: bytes) -> RecordedDigest:
    return RecordedDigest(tuple(hashlib.sha256(each).hexdigest() for each in contents), AT)


@pytest.fixture
def root(tmp_path: Path) -> DeadlinePath:
    """An evidence root with two such files and one of another kind."""
    found = DeadlinePath(tmp_path, FailingStorage())
    for path in (LOOK, SYNCS, "runs/orders/1/run.json"):
        write_whole(found.joinpath(*path.split("/")), path.encode())
    return found


def test_a_file_counts_with_its_digest_alone_and_other_files_need_none(root: DeadlinePath) -> None:
    seen = with_recorded_only(root, KnownFiles(lambda: {LOOK: digest(LOOK.encode())}))
    assert seen.joinpath(*LOOK.split("/")).read_bytes() == LOOK.encode()
    assert [each.name for each in seen.joinpath("last_looks", "orders").iterdir()] == ["east-to-west.json"]
    assert seen.joinpath("runs", "orders", "1", "run.json").read_bytes()
    with pytest.raises(FileNotFoundError):
        seen.joinpath(*SYNCS.split("/")).read_bytes()
    assert list(seen.joinpath("offset_syncs", "east-to-west").iterdir()) == []


@pytest.mark.parametrize("content", [b"{}", b"", b"\0" * 4096])
def test_another_content_is_not_read_in_any_way(root: DeadlinePath, content: bytes) -> None:
    known = KnownFiles(lambda: {LOOK: digest(LOOK.encode())})
    write_whole(root.joinpath(*LOOK.split("/")), content)
    file = with_recorded_only(root, known).joinpath(*LOOK.split("/"))
    for read in (file.read_bytes, file.size, file.open):
        with pytest.raises(FileNotFoundError):
            read()
    found = unrecorded_files(root, ("last_looks/orders", "offset_syncs/east-to-west", "runs/orders"), known)
    assert found == (UnrecordedFile(LOOK, AT), UnrecordedFile(SYNCS, ""))
    assert said(found) == (
        f"not used, as the register does not have their digests: {LOOK} (recorded otherwise at {AT}), {SYNCS} (never "
        "recorded)"
    )


def test_a_file_that_is_replaced_while_a_run_reads_is_compared_with_the_newest_digest(root: DeadlinePath) -> None:
    answers = iter([{LOOK: digest(b"older")}, {LOOK: digest(LOOK.encode(), b"older")}])
    known = KnownFiles(lambda: next(answers))
    assert known.has(LOOK)
    seen = with_recorded_only(root, known)
    assert seen.joinpath(*LOOK.split("/")).read_bytes() == LOOK.encode()


def test_until_a_file_is_replaced_the_one_that_is_there_counts_however_often_that_fails() -> None:
    now = datetime(2026, 11, 23, 1, tzinfo=UTC)
    found = recorded("b", at=now, before=RecordedDigest(("a",), AT), held="a")
    again = recorded("c", at=now, before=found, held="a")
    assert (found.sha256, again.sha256) == (("b", "a"), ("c", "a"))
    assert recorded("d", at=now, before=again, held="c").sha256 == ("d", "c")
    assert recorded("d", at=now, before=None, held="forged").sha256 == ("d",)
