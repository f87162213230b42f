"""Which rights reach the DR register: shown in the plan although no plan changes them, and never given by one."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kafka_dr.clusters.model import Acl
from kafka_dr.config_sync.items import Item, ItemKind, ItemVerdict
from kafka_dr.config_sync.snapshot import ACLS, Snapshot
from kafka_dr.fencing.authorizer import EVERYONE, Authorizer
from kafka_dr.fencing.register_writers import OWN_TOPICS, Guarded, Intruder, guarded, intruders
from kafka_dr.topology.model import ProtectionGroup

#: What these rows are about, in addition to the ACL: the same ACL may differ between the clusters as well.
REGISTER_RIGHT = "reaches the register"
_FIX = f"remove it, or deny it on the prefixes {OWN_TOPICS} (topics) and kafka-dr- (transactional ids)"


class RegisterRights:
    """Knows which ACLs let another principal than this project's own write the DR register.

    :param groups: every protection group of the topology
    """

    def __init__(self, active: Snapshot, standby: Snapshot, groups: Collection[ProtectionGroup]) -> None:
        self._snapshots = (active, standby)
        self._wanted = {snapshot.cluster: guarded(groups, snapshot.own_topics) for snapshot in self._snapshots}
        self._super_users = frozenset(user for group in groups for user in group.super_users)

    def rows(self) -> Iterator[Item]:
        """Yield one row for each right that reaches a register on one of the clusters."""
        found: dict[Acl | None, dict[str, list[Intruder]]] = {}
        for snapshot in self._snapshots:
            if ACLS not in snapshot.unknown:
                for each in self._intruders(snapshot, snapshot.acls):
                    found.setdefault(each.right, {}).setdefault(snapshot.cluster, []).append(each)
        active, standby = (snapshot.cluster for snapshot in self._snapshots)
        for right, by_cluster in sorted(found.items(), key=lambda row: str(row[0])):
            first, *others = next(iter(by_cluster.values()))
            more = f" (and {len(others)} more such rights come from it)" if others else ""
            reason = f"{first}{more}. Whoever writes the register decides which cluster is active: {_FIX}"
            shown = [("there" if name in by_cluster else None) for name in (active, standby)]
            yield Item(ItemKind.ACL, _named(right), _key(right), shown[0], shown[1], ItemVerdict.NEVER, reason)

    def opened_by(self, acl: Acl) -> Intruder | None:
        """Return what an ACL would open on the standby if it were added; ``None`` if no register is reached."""
        _, standby = self._snapshots
        reached = [each for each in self._wanted[standby.cluster] if each.is_reached_by(acl)]
        if not reached:
            return None
        able = self._intruders(standby, standby.acls | {acl}, reached)
        return next((each for each in able if each.principal in (acl.principal, EVERYONE)), None)

    def _intruders(
        self, snapshot: Snapshot, acls: Collection[Acl], wanted: Collection[Guarded] | None = None
    ) -> Iterator[Intruder]:
        authorizer = Authorizer(frozenset(acls) | snapshot.fence, allow_if_no_acl=snapshot.open_to_all)
        among = self._wanted[snapshot.cluster] if wanted is None else wanted
        return intruders(authorizer, among, super_users=self._super_users)


def _named(right: Acl | None) -> str:
    return f"no ACL names the register, so {EVERYONE} may write it" if right is None else str(right)


def _key(right: Acl | None) -> str:
    return REGISTER_RIGHT if right is None or right.host == "*" else f"{REGISTER_RIGHT} from {right.host}"
