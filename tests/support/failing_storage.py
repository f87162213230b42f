"""Evidence storage that hangs or is full whenever a test says so, and clients with registers in memory that use it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any, Literal

from kafka_dr.errors import TryAgain
from kafka_dr.runs.clients import Clients
from kafka_dr.storage.access import AccessDeadline, Operation, StorageSilent
from kafka_dr.storage.child_access import ChildAccess
from kafka_dr.storage.deadline_path import DeadlinePath
from kafka_dr.topology.loading import load
from support.manual_clock import ManualClock
from support.memory_register import MemoryRegister
from support.no_connections import NO_CONNECTIONS

TOPOLOGY = Path(__file__).parents[2] / "include" / "topology.yaml"
LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}
_WRITES = {"create", "replace", "make_folder", "rename", "remove"}


class FailingStorage:
    """A file system that works, or hangs, or is full.

    How a file system really hangs or fills is in the tests of :mod:`kafka_dr.storage`; what they answer is this.
    """

    def __init__(self) -> None:
        self.state: Literal["works", "hangs", "is full"] = "works"
        self.asked = 0
        #: Parts of the names of files that it does not take, while it works.
        self.refuses: tuple[str, ...] = ()
        self._real = ChildAccess(AccessDeadline(60))

    def do(
        self, operation: Operation, path: Any, *, other: Any = "", offset: int = 0, size: int = 0, data: bytes = b""
    ) -> bytes:
        """Do it, unless the storage fails."""
        self.asked += 1
        if self.state == "hangs":
            raise StorageSilent(f"no answer to {operation} {path} within 10 s")
        refused = any(each in str(path) for each in self.refuses)
        if (self.state == "is full" or refused) and operation in _WRITES:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return self._real.do(operation, path, other=other, offset=offset, size=size, data=data)


class StoredClients(Clients):
    """Clients that reach nothing but two registers in memory and the evidence."""

    def __init__(self, root: Path) -> None:
        self.storage = FailingStorage()
        self.registers = {name: MemoryRegister() for name in ("east", "west")}
        #: Clusters whose registers do not answer.
        self.silent: set[str] = set()
        declared = load(TOPOLOGY, LAB)
        unsigned = declared.evidence.model_copy(update={"signing_connection": None})
        super().__init__(
            declared.model_copy(update={"evidence": unsigned}),
            connections=NO_CONNECTIONS,
            evidence_root=DeadlinePath(root, self.storage),
            clock=ManualClock(),
        )

    def require_declared(self, cluster: str) -> None:
        """Do nothing: both clusters are the declared ones."""

    def register(self, cluster: str) -> Any:
        """Return a register, unless it is silent."""
        if cluster in self.silent:
            raise TryAgain(f"{cluster} does not answer")
        return self.registers[cluster]
