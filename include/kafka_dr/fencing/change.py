"""Change a cluster's ACLs so that only ACLs added by this project are ever lifted.

ACLs are recorded in the register of the cluster *before* they are added. If a run is killed between the two, the
register lists an ACL that does not exist, and lifting it does no harm. In the other order, a fence could remain that no
run may lift.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kafka_dr.clock import Clock
from kafka_dr.clusters import Acl, KafkaCluster
from kafka_dr.errors import TryAgain
from kafka_dr.register.port import Register

#: A change must follow the register read that permits it within this time, in seconds.
FRESH_SECONDS = 1.0
_TRIES = 5

#: Reads the register, and raises :class:`~kafka_dr.errors.Refused` unless the caller may still make changes.
Permission = Callable[[], None]


def is_permitted_now(permission: Permission, clock: Clock) -> bool:
    """Ask whether a change may be made, a few times, and return whether an answer took no longer than it may be old.

    :raises KafkaDrError: the change is not permitted, or the register cannot be read
    """
    for _ in range(_TRIES):
        asked = clock.monotonic()
        permission()
        if clock.monotonic() - asked <= FRESH_SECONDS:
            return True
    return False


class AclChanges:
    """Adds and lifts the DENYs of one protection group on one cluster.

    :param cluster: reached as the operator
    :param register: the register of that same cluster
    :param permission: called right before each change
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
        """Add the missing ACLs, each stage after the one before it was answered, and return those that were added."""
        present = self._cluster.acls.list()
        missing = [frozenset(stage) - present for stage in stages]
        added = frozenset[Acl]().union(*missing)
        if not added:
            return added
        # A run that may not add ACLs must not record them: a DENY of another owner could become one that is lifted.
        self._permitted()
        recorded = self._register.added_acls(self._group, self._cluster.name)
        if not added <= recorded:
            self._register.record_added_acls(self._group, self._cluster.name, recorded | added)
        for stage in filter(None, missing):
            self._cluster.acls.add(stage, before_each=self._permitted)
        return added

    def lift(self, *stages: Collection[Acl]) -> frozenset[Acl]:
        """Remove those of the ACLs that this project added, stage by stage, and return them; other ACLs stay."""
        recorded = self._register.added_acls(self._group, self._cluster.name)
        removed = [frozenset(stage) & recorded for stage in stages]
        lifted = frozenset[Acl]().union(*removed)
        if lifted:
            for stage in removed:
                self._cluster.acls.remove(stage, before_each=self._permitted)
            # A delayed caller must not remove from the record what others added since: no run could lift that again.
            self._permitted()
            self._register.record_added_acls(self._group, self._cluster.name, recorded - lifted)
        return lifted

    def foreign(self, unwanted: Collection[Acl]) -> frozenset[Acl]:
        """Return those of the ACLs that are on the cluster but were not added by this project."""
        return (frozenset(unwanted) & self._cluster.acls.list()) - self._register.added_acls(
            self._group, self._cluster.name
        )

    def _permitted(self) -> None:
        if not is_permitted_now(self._permission, self._clock):
            raise TryAgain(
                f"{self._cluster.name}: no read of the register before an ACL change took less than "
                f"{FRESH_SECONDS:g} s, in {_TRIES} tries: the change was not made, run the step again"
            )
