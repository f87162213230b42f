"""What is added to a cluster whose own register may be unusable is recorded in the register that decides.

A cluster that is given up can live and take writes while its register has no leader, is gone or takes no records. So
that register is never needed to add a DENY there. It gets each change in the background, and from ``dr_health`` what it
missed: see :mod:`kafka_dr.health.copied_acls`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kafka_dr.errors import KafkaDrError
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.register.kept_acls import KeptByItself
from kafka_dr.register.port import Register
from kafka_dr.runs.background import BackgroundCall, ask

#: How long the cluster's own register may take to say what it lists, in seconds. It is only asked before DENYs are
#: lifted. What it does not say then stays.
_OWN_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class KeptElsewhere:
    """The record of what was added to one cluster, which the register that decides has to take.

    :param own: the cluster's own register
    :param decides: another cluster's register, the one that decides
    """

    group: str
    cluster: str
    own: Register
    decides: Register

    def known(self) -> AddedAcls:
        """Return what the register says that decides."""
        return self.decides.added_acls(self.group, self.cluster)

    def read(self) -> AddedAcls:
        """Return what both say; what the register says that decides, if the cluster's own one does not answer."""
        copy = self.known()
        try:
            own = ask(
                f"what was added to {self.cluster}",
                lambda: self.own.added_acls(self.group, self.cluster),
                seconds=_OWN_SECONDS,
            )
        except KafkaDrError:
            return copy
        return own.with_copy(copy)

    def change(self, change: Callable[[AddedAcls], AddedAcls]) -> None:
        """Change the copy in the register that decides, and in the background the cluster's own record."""
        self.decides.change_added_acls(self.group, self.cluster, lambda found: change(found).as_copy(found))
        itself = KeptByItself(self.group, self.cluster, self.own)
        BackgroundCall(f"a record for {self.cluster}", lambda: itself.change(change))

    def catch_up(self) -> None:
        """Let the cluster's own register record what it has missed, as after a process that died in between.

        :raises KafkaDrError: one of the registers does not answer; ``dr_health`` does it later
        """
        copy = self.known()
        self.own.change_added_acls(self.group, self.cluster, lambda found: found.with_copy(copy))
