"""Changing a cluster's ACLs so that only what was added here can ever be lifted.

What is going to be added is kept in the register of the cluster *before* it is added: a run killed between the two
leaves a record of an ACL that does not exist, which is harmless to lift; the other order would leave a fence that
nobody may lift.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kafka_dr.clock import Clock
from kafka_dr.clusters import Acl, KafkaCluster
from kafka_dr.errors import TryAgain
from kafka_dr.register.port import Register

#: An ACL change must follow the register read that permits it within this time.
_FRESH_SECONDS = 1.0
_TRIES = 5

#: Reads the register and raises :class:`~kafka_dr.errors.Refused` unless the caller may still change things.
Permission = Callable[[], None]


class AclChanges:
    """Adds and lifts the DENYs of one protection group on one cluster.

    :param cluster: reached as the operator
    :param register: the register of that same cluster
    :param permission: asked right before each change
    """

    def __init__(
        self, group: str, cluster: KafkaCluster, register: Register, *, permission: Permission, clock: Clock
    ) -> None:
        self._group = group
        self._cluster = cluster
        self._register = register
        self._permission = permission
        self._clock = clock

    def add(self, *stages: Collection[Acl]) -> frozenset[Acl]:
        """Add those of the ACLs that are missing, one stage after another has been answered, and return them."""
        present = self._cluster.acls.list()
        missing = [frozenset(stage) - present for stage in stages]
        added = frozenset[Acl]().union(*missing)
        if not added:
            return added
        # A run that may not add must not be recorded as having added: somebody else's DENY could become "ours".
        self._permitted()
        ours = self._register.added_acls(self._group, self._cluster.name)
        if not added <= ours:
            self._register.record_added_acls(self._group, self._cluster.name, ours | added)
        for stage in filter(None, missing):
            self._cluster.acls.add(stage, before_each=self._permitted)
        return added

    def lift(self, *stages: Collection[Acl]) -> frozenset[Acl]:
        """Remove those of the ACLs that were added here, stage by stage, and return them; what others added stays."""
        ours = self._register.added_acls(self._group, self._cluster.name)
        mine = [frozenset(stage) & ours for stage in stages]
        lifted = frozenset[Acl]().union(*mine)
        if lifted:
            for stage in mine:
                self._cluster.acls.remove(stage, before_each=self._permitted)
            # Who was held up meanwhile must not take from the record what others added since: nobody could lift that.
            self._permitted()
            self._register.record_added_acls(self._group, self._cluster.name, ours - lifted)
        return lifted

    def foreign(self, unwanted: Collection[Acl]) -> frozenset[Acl]:
        """Return those of the ACLs that stand on the cluster though they were never added here."""
        return (frozenset(unwanted) & self._cluster.acls.list()) - self._register.added_acls(
            self._group, self._cluster.name
        )

    def _permitted(self) -> None:
        for _ in range(_TRIES):
            asked = self._clock.monotonic()
            self._permission()
            if self._clock.monotonic() - asked <= _FRESH_SECONDS:
                return
        raise TryAgain(
            f"{self._cluster.name}: the register could not be read within {_FRESH_SECONDS:g} s before an ACL change: "
            "nothing was changed, run the step again"
        )
