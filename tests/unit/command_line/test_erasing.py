"""Erasing on the command line: what registers and evidence say afterwards, and a process that dies anywhere."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.audit.erasure import erasures_in
from kafka_dr.audit.stranded import StrandedStore
from kafka_dr.command_line.erasing import Eraser, ErasureRequest
from kafka_dr.errors import Refused
from kafka_dr.evidence import EvidenceStore, SecretInEvidence
from kafka_dr.evidence.sealed_run_check import check_sealed_run
from kafka_dr.register import Phase
from kafka_dr.rescue import Wanted, missing_from
from kafka_dr.storage import DeadlinePath, StorageAccess, with_deadline
from support.fake_registers import FakeRegisters
from support.kept_list import RUN, kept_list
from support.register_states import a_state

_CHANGES = {"create", "replace", "remove", "remove_folder", "rename"}
_DIVERGED = a_state(phase=Phase.DIVERGED, active="west", standby="east", epoch=1000)


class KilledHere(BaseException):
    """The process is gone."""


class MortalStorage:
    """Dies right after one of its changes.

    :param after: which change, from 1; never with 0
    """

    def __init__(self, real: StorageAccess, after: int) -> None:
        self._real = real
        self._after = after
        self.changes = 0

    def do(self, operation: Any, path: Any, **more: Any) -> bytes:
        found = self._real.do(operation, path, **more)
        self.changes += operation in _CHANGES
        if operation in _CHANGES and self.changes == self._after:
            raise KilledHere
        return found


class KeptWorld:
    """Registers in memory, and a list of stranded records on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registers = FakeRegisters(east=_DIVERGED, west=_DIVERGED)
        self.store = StrandedStore(folder, "orders", RUN)
        self.store.write(kept_list(self.store.folder))

    def eraser(self, *, key: bytes | None = b"alice", reason: str = "request 4711", dies_after: int = 0) -> Eraser:
        root = with_deadline(self.folder)
        self.storage = MortalStorage(root.access, dies_after)
        mortal = DeadlinePath(root.path, self.storage)
        evidence = EvidenceStore(mortal)
        evidence.secrets.add("hunter2-hunter2")
        clients = self.registers.clients(
            evidence_root=mortal, evidence=evidence, signing_key=None, register=self._register
        )
        return Eraser(clients, ErasureRequest("orders", Wanted(key=key), "dana", reason))

    def _register(self, cluster: str) -> Any:
        kept = self.registers.register(cluster)
        return SimpleNamespace(**{**vars(kept), "add_fact": self.registers.by_cluster[cluster].add_fact})

    def journal(self, cluster: str = "west") -> dict[str, Any]:
        return self.registers.by_cluster[cluster].facts("orders", RUN)

    def content(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())


@pytest.fixture
def world(tmp_path: Path) -> KeptWorld:
    return KeptWorld(tmp_path)


def test_a_look_changes_nothing(world: KeptWorld) -> None:
    before = world.content()
    assert world.eraser().look(RUN).matches.total == 4
    assert (world.content(), world.storage.changes, world.journal()) == (before, 0, {})


def test_whatever_it_dies_after_the_next_call_finishes_with_one_erasure_and_its_sealed_record(tmp_path: Path) -> None:
    after = 0
    while True:
        after += 1
        world = KeptWorld(tmp_path / str(after))
        try:
            world.eraser(dies_after=after).erase(RUN)
            break
        except KilledHere:
            found = world.store.read()
            assert found is not None
            # Until a register knows of it, a failback sees no change; afterwards it waits for the rest.
            before = missing_from(found, world.store.folder, erasures_in(world.journal()))
            assert before == "" or "run python -m kafka_dr erase again" in before
        world.eraser().erase(RUN)
        assert_erased(world)
        assert world.eraser().erase(RUN).matches.total == 0
        assert len(erasures_in(world.journal())) == 1
    assert after > 8


def assert_erased(world: KeptWorld) -> None:
    found, (erasure,) = world.store.read(), erasures_in(world.journal())
    assert found is not None
    assert missing_from(found, world.store.folder, (erasure,)) == ""
    assert b"alice" not in world.content()
    assert (erasure.by, erasure.reason, erasure.records) == ("dana", "request 4711", 4)
    assert erasures_in(world.journal("east")) == (erasure,)
    sealed = check_sealed_run(world.folder / "runs" / "orders" / erasure.run)
    assert (sealed.changed, sealed.seals) == ((), 1)


def test_a_register_that_did_not_answer_gets_the_record_with_the_next_call(world: KeptWorld) -> None:
    world.registers.silent = {"east"}
    world.eraser().erase(RUN)
    assert (len(world.journal()), world.journal("east")) == (2 - 1, {})
    world.registers.silent = set()
    world.eraser().erase(RUN)
    assert_erased(world)


def test_it_is_refused_while_a_failback_reads_the_list_and_while_the_register_that_decides_is_silent(
    world: KeptWorld,
) -> None:
    before = world.content()
    world.registers.set(west=a_state(**{**_CLAIMED}), east=a_state(**{**_CLAIMED}))
    with pytest.raises(Refused, match="the failback home holds orders"):
        world.eraser().erase(RUN)
    world.registers.silent = {"west"}
    with pytest.raises(Exception, match="west"):
        world.eraser().erase(RUN)
    assert world.content() == before


_CLAIMED = {
    "phase": Phase.DIVERGED,
    "active": "west",
    "standby": "east",
    "epoch": 1001,
    "verb": "failback",
    "run": "home",
}


def test_a_reason_that_holds_a_secret_is_refused_before_anything_is_written(world: KeptWorld) -> None:
    before = world.content()
    with pytest.raises(SecretInEvidence):
        world.eraser(reason="the password is hunter2-hunter2").erase(RUN)
    assert (world.content(), world.journal()) == (before, {})
