"""A group in memory registers, with a list of stranded records and evidence on disk, for what erases and removes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from kafka_dr.audit.stranded import StrandedStore
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.register import Phase
from kafka_dr.rescue.erasing import Wanted
from kafka_dr.retention.erasing import Confirmation, Eraser, ErasureRequest
from kafka_dr.runs.clients import Clients
from kafka_dr.storage.access import StorageAccess
from kafka_dr.storage.deadline_path import DeadlinePath, with_deadline
from kafka_dr.topology.evidence import EvidenceSpec, RetentionSpec
from support.fake_registers import FakeRegisters
from support.kept_list import RUN, kept_list
from support.manual_clock import ManualClock
from support.register_states import a_state

_CHANGES = {"create", "replace", "remove", "remove_folder", "rename"}
DIVERGED = a_state(phase=Phase.DIVERGED, active="west", standby="east", epoch=1000)

#: A break glass.
BY_NAME = Confirmation("dana")


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
        self.clock = ManualClock(start=datetime(2026, 1, 3, tzinfo=UTC))
        self.registers = FakeRegisters(east=DIVERGED, west=DIVERGED)
        self.store = StrandedStore(folder, "orders", RUN)
        self.store.write(kept_list(self.store.folder))

    def eraser(
        self,
        *,
        key: bytes | None = b"alice",
        reason: str = "request 4711",
        dies_after: int = 0,
        confirmed: Confirmation | None = BY_NAME,
    ) -> Eraser:
        request = ErasureRequest("orders", Wanted(key=key), "dana", reason, confirmed)
        return Eraser(self.clients(dies_after=dies_after), request)

    def clients(self, *, dies_after: int = 0, key: SigningKey | None = None, **days: int) -> Clients:
        """Return clients whose storage dies after some changes.

        :param days: the rules of retention
        """
        root = with_deadline(self.folder)
        self.storage = MortalStorage(root.access, dies_after)
        mortal = DeadlinePath(root.path, self.storage)
        evidence = EvidenceStore(mortal, self.clock)
        evidence.secrets.add("hunter2-hunter2")
        declared = EvidenceSpec(root=str(self.folder), retention=RetentionSpec(**days))
        reached = self.registers.clients(
            evidence_root=mortal, evidence=evidence, signing_key=key, register=self._register, clock=self.clock
        )
        cast("Any", reached.topology).evidence = declared
        return reached

    def set_state(self, **state: Any) -> None:
        """Let both registers hold another record of the group; what is journaled stays."""
        for register in self.registers.by_cluster.values():
            now = register.read("orders")
            register.compare_and_set(now, a_state(**state))

    def _register(self, cluster: str) -> Any:
        kept = self.registers.register(cluster)
        return SimpleNamespace(**{**vars(kept), "add_fact": self.registers.by_cluster[cluster].add_fact})

    def journal(self, cluster: str = "west") -> dict[str, Any]:
        return self.registers.by_cluster[cluster].facts("orders", RUN)

    def content(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())
