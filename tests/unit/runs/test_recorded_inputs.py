"""A frontier or an offset map that others wrote is found by its digest, and is as if it did not exist."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from kafka_dr.audit.kept_frontier import FileFrontierStore, FrontierPoint, KeptFrontier
from kafka_dr.audit.recorded_input import InputKind, RecordedInput, inputs_of
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClusterUnreachable
from kafka_dr.group_offsets.recorded_frontier import RecordedFrontier, RecordedFrontierStore, recorded_store
from kafka_dr.json_documents import write_whole
from kafka_dr.runs.inputs import folders_of, read_inputs
from kafka_dr.runs.recorded_inputs import (
    UnrecordedInput,
    newest_records,
    record_input,
    unrecorded,
    without,
)
from kafka_dr.runs.run import Run
from kafka_dr.storage.deadline_path import DeadlinePath
from support.failing_storage import FailingStorage
from support.memory_register import MemoryRegister

FORWARD = "east-to-west"
FRONTIER = RecordedInput(InputKind.FRONTIER, "orders", FORWARD)
MAP = RecordedInput(InputKind.OFFSET_MAP, "orders", FORWARD)
NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)


def frontier(offset: int) -> KeptFrontier:
    return KeptFrontier(("e", "w", 3), {"orders.a": ("1", "2")}, {("orders.a", 0): FrontierPoint(offset, offset)})


@pytest.fixture
def root(tmp_path: Path) -> DeadlinePath:
    """An evidence root with a frontier and a map of two parts."""
    found = DeadlinePath(tmp_path, FailingStorage())
    FileFrontierStore(found, "orders").write(FORWARD, frontier(100))
    write_whole(found.joinpath(*MAP.file.split("/")), b'{"maps": ["one"]}')
    for name in ("one.jsonl", "old.jsonl"):
        write_whole(found.joinpath(*MAP.folder.split("/"), name), name.encode())
    return found


@pytest.fixture
def register(root: DeadlinePath) -> MemoryRegister:
    """A register in which both are recorded as they are."""
    found = MemoryRegister()
    for each in (FRONTIER, MAP):
        record_input(found, each, each.sha256(root), at=NOW)
    return found


def unrecorded_by(root: DeadlinePath, register: MemoryRegister, *wanted: RecordedInput) -> tuple[UnrecordedInput, ...]:
    return unrecorded(root, lambda: newest_records(lambda _: register, "orders", ["east"]), wanted)


def wrong(root: DeadlinePath, register: MemoryRegister) -> list[RecordedInput]:
    return [each.what for each in unrecorded_by(root, register, *inputs_of("orders", (FORWARD, "west-to-east")))]


def test_what_was_recorded_or_never_recorded_or_is_gone_is_good(root: DeadlinePath, register: MemoryRegister) -> None:
    assert wrong(root, register) == []
    assert wrong(root, MemoryRegister()) == []
    FileFrontierStore(root, "orders").write("west-to-east", frontier(5))
    root.joinpath(*FRONTIER.file.split("/")).unlink()
    assert wrong(root, register) == []


@pytest.mark.parametrize("decides", ["east", "west"])
def test_of_two_registers_the_newest_record_counts_whichever_of_them_decides(root: DeadlinePath, decides: str) -> None:
    registers = {"east": MemoryRegister(), "west": MemoryRegister()}
    ends = [decides, *({*registers} - {decides})]
    old = FRONTIER.sha256(root)
    for register in registers.values():
        record_input(register, FRONTIER, old, at=NOW)
    FileFrontierStore(root, "orders").write(FORWARD, frontier(200))
    for earlier in range(6):
        record_input(registers["west"], FRONTIER, f"of move {earlier}", at=NOW + timedelta(seconds=earlier))
    record_input(registers["west"], FRONTIER, FRONTIER.sha256(root), at=NOW + timedelta(minutes=1))

    def found() -> tuple[UnrecordedInput, ...]:
        return unrecorded(root, lambda: newest_records(registers.__getitem__, "orders", ends), [FRONTIER])

    assert found() == ()
    FileFrontierStore(root, "orders").write(FORWARD, frontier(100))
    assert FRONTIER.sha256(root) == old
    assert [each.what for each in found()] == [FRONTIER], "an older file that the other register still knows"


def test_only_the_register_that_decides_has_to_answer(root: DeadlinePath, register: MemoryRegister) -> None:
    silent = MemoryRegister()
    registers = {"east": register, "west": silent}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(silent, "history", Mock(side_effect=ClusterUnreachable("west does not answer")))
        assert newest_records(registers.__getitem__, "orders", ["east", "west"]).keys() == {FRONTIER.fact, MAP.fact}
        with pytest.raises(ClusterUnreachable):
            newest_records(registers.__getitem__, "orders", ["west", "east"])


@pytest.mark.parametrize(
    ("path", "what"),
    [
        (FRONTIER.file, FRONTIER),
        (MAP.file, MAP),
        (f"{MAP.folder}/one.jsonl", MAP),
        (f"{MAP.folder}/old.jsonl", MAP),
        (f"{MAP.folder}/added.parquet", MAP),
    ],
)
@pytest.mark.parametrize("content", [b"{}", b"\0" * 4096])
def test_a_file_that_others_write_is_named_and_is_not_read(
    root: DeadlinePath, register: MemoryRegister, path: str, what: RecordedInput, content: bytes
) -> None:
    write_whole(root.joinpath(*path.split("/")), content)
    found = unrecorded_by(root, register, *inputs_of("orders", (FORWARD,)))
    assert [each.what for each in found] == [what]
    assert "orders east→west" in str(found[0])
    assert "is not the one that was recorded in the register at 2026-11-22T03:00:00+00:00" in str(found[0])
    seen = without(root, found)
    assert what.sha256(seen) == ""
    (other,) = {FRONTIER, MAP} - {what}
    assert other.sha256(seen) == other.sha256(root) != ""


def test_what_is_left_out_is_no_input_of_a_run(root: DeadlinePath, register: MemoryRegister, tmp_path: Path) -> None:
    write_whole(root.joinpath(*FRONTIER.file.split("/")), b"{}")
    found = read_inputs(root, folders_of("orders", ("east", "west")), copy=tmp_path / "copy")
    kept = found.without(FRONTIER.covers)
    assert {each.path for each in found.files} - {each.path for each in kept.files} == {FRONTIER.file}
    assert kept.content is not None
    assert kept.content.keys() == {each.path for each in kept.files}


def test_a_run_writes_what_was_hidden_from_it(root: DeadlinePath, register: MemoryRegister) -> None:
    write_whole(root.joinpath(*FRONTIER.file.split("/")), b"{}")
    seen = without(root, unrecorded_by(root, register, FRONTIER))
    store = FileFrontierStore(seen, "orders")
    assert store.read(FORWARD) is None
    store.write(FORWARD, frontier(7))
    assert store.read(FORWARD) == frontier(7)


def test_the_digest_is_recorded_before_the_file_is_written_wherever_the_process_dies(
    root: DeadlinePath, register: MemoryRegister
) -> None:
    files = FileFrontierStore(root, "orders")
    dying = True

    def record(_direction: str, sha256: str) -> None:
        record_input(register, FRONTIER, sha256, at=NOW)
        if dying:
            raise KeyboardInterrupt

    store = RecordedFrontierStore(files, record=record, now=lambda: NOW)
    store.write(FORWARD, frontier(200))
    assert (store.read(FORWARD), files.read(FORWARD)) == (frontier(200), frontier(100))
    with pytest.raises(KeyboardInterrupt):
        store.flush()
    assert files.read(FORWARD) == frontier(100)
    assert wrong(root, register) == []
    dying = False
    store.flush()
    assert files.read(FORWARD) == frontier(200)
    assert wrong(root, register) == []
    files.write(FORWARD, frontier(9_999))
    assert wrong(root, register) == [FRONTIER]


def test_a_frontier_that_moves_again_and_again_while_applications_wait_is_kept_once(root: DeadlinePath) -> None:
    recorded: list[str] = []
    files = FileFrontierStore(root, "orders")
    store = RecordedFrontierStore(files, record=lambda _, sha256: recorded.append(sha256), now=lambda: NOW)
    offset = 100

    def advance(_until: object) -> dict[Any, Any]:
        nonlocal offset
        offset += 1
        store.write(FORWARD, frontier(offset))
        if offset == 103:
            raise ClusterUnreachable("west does not answer")
        return {}

    moving = RecordedFrontier(SimpleNamespace(advance=advance), store)
    with suppress(ClusterUnreachable), moving.kept_once():
        for _ in range(3):
            assert (recorded, files.read(FORWARD)) == ([], frontier(100))
            moving.advance({})
    assert (len(recorded), files.read(FORWARD)) == (1, frontier(103))
    moving.advance({})
    assert (len(recorded), files.read(FORWARD)) == (2, frontier(104))


@pytest.mark.parametrize(
    ("verb", "silent", "kept"),
    [
        ("planned_failover", "none", True),
        ("planned_failover", "east", False),
        ("planned_failover", "west", False),
        ("unplanned_failover", "east", True),
        ("unplanned_failover", "west", False),
    ],
)
def test_a_frontier_is_kept_when_each_register_that_may_decide_next_has_its_digest(
    root: DeadlinePath, verb: str, silent: str, kept: bool
) -> None:
    registers = {cluster: MemoryRegister() for cluster in ("east", "west")}

    def reached(cluster: str) -> MemoryRegister:
        if cluster == silent:
            raise ClusterUnreachable(f"{cluster} does not answer")
        return registers[cluster]

    run: Any = SimpleNamespace(
        evidence_root=root,
        group=SimpleNamespace(name="orders"),
        clock=SystemClock(),
        clients=SimpleNamespace(register=reached),
        request=SimpleNamespace(verb=verb),
        silent=frozenset(),
        arbiter="west" if verb == "unplanned_failover" else "east",
        source="east",
        target="west",
    )
    run.records_inputs = Run.records_inputs.__get__(run)
    store = recorded_store(run)
    store.write(FORWARD, frontier(200))
    if kept:
        store.flush()
    else:
        with pytest.raises(ClusterUnreachable):
            store.flush()
    assert FileFrontierStore(root, "orders").read(FORWARD) == frontier(200 if kept else 100)


def test_writers_that_die_before_they_write_leave_the_frontier_that_is_there(
    root: DeadlinePath, register: MemoryRegister
) -> None:
    held = FRONTIER.sha256(root)
    for number in range(9):
        record_input(register, FRONTIER, f"{number:064x}", at=NOW, held=held)
        assert wrong(root, register) == []
    (fact,) = (f for name, f in register.facts("orders", "audits").items() if name == FRONTIER.fact)
    assert len(fact["sha256"]) == 5


def test_whichever_of_two_writers_at_the_same_time_replaces_the_file_last_its_frontier_counts(
    root: DeadlinePath, register: MemoryRegister
) -> None:
    files = FileFrontierStore(root, "orders")
    content = {offset: files.encoded(FORWARD, frontier(offset)) for offset in (200, 300, 400)}
    for offset in content:
        sha256 = hashlib.sha256(content[offset]).hexdigest()
        record_input(register, FRONTIER, sha256, at=NOW, held=FRONTIER.sha256(root))
    for offset in (400, 300, 200):
        files.write(FORWARD, frontier(offset))
        assert wrong(root, register) == []
    files.write(FORWARD, frontier(9_999))
    assert wrong(root, register) == [FRONTIER]
