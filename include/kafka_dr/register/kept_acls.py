"""Where is recorded what this project added to one cluster: in the cluster's own register, or first in another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.register.port import Register


class KeptAcls(Protocol):
    """The record of what was added to one cluster for one group."""

    def known(self) -> AddedAcls:
        """Return what the register says that is written first; nothing else is waited for."""
        ...

    def read(self) -> AddedAcls:
        """Return everything that is recorded."""
        ...

    def change(self, change: Callable[[AddedAcls], AddedAcls]) -> None:
        """Change the record, see :meth:`~kafka_dr.register.port.Register.change_added_acls`."""
        ...


@dataclass(frozen=True, slots=True)
class KeptByItself:
    """The cluster's own register has to take each change."""

    group: str
    cluster: str
    register: Register

    def known(self) -> AddedAcls:
        """Return what it says."""
        return self.register.added_acls(self.group, self.cluster)

    def read(self) -> AddedAcls:
        """Return the same."""
        return self.known()

    def change(self, change: Callable[[AddedAcls], AddedAcls]) -> None:
        """Change it by compare-and-set."""
        self.register.change_added_acls(self.group, self.cluster, lambda found: found.after(change))
