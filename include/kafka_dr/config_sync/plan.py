"""The plan: everything that differs between the active cluster and a standby, and what would fix it.

Pure: two snapshots in, rows out. A plan is known by its digest, which covers all that it shows. Before a plan is
applied, it is made again from what the clusters say then; nothing is applied unless the digest is the one that was
shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kafka_dr.clusters.model import Acl
from kafka_dr.config_sync.brokers import compare_brokers
from kafka_dr.config_sync.items import AddAcl, Item, ItemKind, ItemVerdict, RemoveAcl
from kafka_dr.config_sync.policy import Policy
from kafka_dr.config_sync.register_rights import RegisterRights
from kafka_dr.config_sync.rights import compare_acls, compare_quotas, compare_users
from kafka_dr.config_sync.scope import Scope
from kafka_dr.config_sync.simulation import Access, compare_access
from kafka_dr.config_sync.snapshot import ACLS, GROUPS, NAMES, TOPICS, Snapshot
from kafka_dr.config_sync.topics import TopicRules, compare_topics
from kafka_dr.evidence.canonical import digest
from kafka_dr.fencing import plan as fences
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.fencing.closure import of_either_kind
from kafka_dr.topology.model import ProtectionGroup


@dataclass(frozen=True, slots=True)
class Plan:
    """What differs, and what would fix it.

    :param epoch: the register's, when the direction was read from it
    :param cluster_ids: of the active cluster and the standby
    :param access: what applications could do otherwise after a switch, as the ACLs are now
    :param access_after: the same once every change of the plan is made
    """

    group: str
    active: str
    standby: str
    epoch: int
    cluster_ids: tuple[str, str]
    items: tuple[Item, ...]
    access: tuple[Access, ...] = ()
    access_after: tuple[Access, ...] = ()

    @property
    def digest(self) -> str:
        """The SHA-256 of all that the plan shows, the same for the same differences."""
        return digest(self)

    @property
    def changes(self) -> tuple[Item, ...]:
        """The rows that can be fixed, with or without an approval."""
        return tuple(item for item in self.items if item.change is not None)

    def of(self, *verdicts: ItemVerdict) -> tuple[Item, ...]:
        """Return the rows with one of these verdicts."""
        return tuple(item for item in self.items if item.verdict in verdicts)

    @property
    def summary(self) -> str:
        """The plan in one line."""
        counts = [(len(self.of(verdict)), verdict.value) for verdict in ItemVerdict]
        said = ", ".join(f"{count} {word}" for count, word in counts if count)
        return f"{self.group}, {self.active} → {self.standby}: {said or 'no difference'}"


def make_plan(
    active: Snapshot,
    standby: Snapshot,
    group: ProtectionGroup,
    *,
    epoch: int,
    others: Collection[ProtectionGroup] = (),
    further: Collection[Item] = (),
) -> Plan:
    """Compare two clusters.

    :param epoch: the register's, when the direction was read from it
    :param others: the other protection groups of the topology, whose things are left alone
    :param further: rows about what else changes the standby
    """
    scope = Scope(group, others)
    fence = of_either_kind(fences.standby(group.everywhere))
    reaching = RegisterRights(active, standby, (group, *others))
    rules = TopicRules(
        policy=Policy.of(group.config_sync),
        replication_factor=group.flow.replication_factor,
        keyed=group.config_sync.is_keyed,
        written=_Writers(standby, group),
    )
    items: tuple[Item, ...] = (
        *_sections(active, standby),
        *compare_topics(active, standby, rules),
        *compare_acls(active, standby, scope, fence, reaching),
        *reaching.rows(),
        *compare_quotas(active, standby, scope),
        *compare_users(active, standby, scope),
        *compare_brokers(active, standby),
        *further,
    )
    return Plan(
        group=group.name,
        active=active.cluster,
        standby=standby.cluster,
        epoch=epoch,
        cluster_ids=(active.cluster_id, standby.cluster_id),
        items=items,
        access=_access(active, standby, standby.acls, group),
        access_after=_access(active, standby, _changed(standby.acls, items), group),
    )


def _sections(active: Snapshot, standby: Snapshot) -> Iterator[Item]:
    """Yield a row for each section of a cluster that could not be read and is in no other row."""
    for snapshot in (active, standby):
        for section in sorted({TOPICS, NAMES, GROUPS} & snapshot.unknown.keys()):
            name, reason = f"{section} on {snapshot.cluster}", snapshot.unknown[section]
            yield Item(ItemKind.TOPIC, name, "", None, None, ItemVerdict.UNKNOWN, reason, blocks=True)


class _Writers:
    """Whether anybody but replication may write to a topic of the standby, with its fence as it is now."""

    def __init__(self, standby: Snapshot, group: ProtectionGroup) -> None:
        self._known = ACLS not in standby.unknown and standby.acls_decide
        self._authorizer = Authorizer(standby.acls | standby.fence, allow_if_no_acl=standby.open_to_all)
        self._aside = {group.replicator_principal, *group.super_users}

    def __call__(self, topic: str) -> bool:
        """Return whether somebody may, or whether that is not known."""
        return not self._known or bool(self._authorizer.writers([topic]) - self._aside)


def _access(
    active: Snapshot, standby: Snapshot, standby_acls: frozenset[Acl], group: ProtectionGroup
) -> tuple[Access, ...]:
    if ACLS in active.unknown or ACLS in standby.unknown or not (active.acls_decide and standby.acls_decide):
        return ()
    return compare_access(
        active.acls,
        standby_acls,
        group,
        topics=active.topics.keys(),
        groups=active.groups,
        open_to_all=(active.open_to_all, standby.open_to_all),
    )


def _changed(acls: frozenset[Acl], items: Collection[Item]) -> frozenset[Acl]:
    added = {item.change.acl for item in items if isinstance(item.change, AddAcl)}
    removed = {item.change.acl for item in items if isinstance(item.change, RemoveAcl)}
    return (acls | added) - removed


def compare_flow(flow: str, also_changes: Mapping[str, str]) -> Iterator[Item]:
    """Yield a row for each setting by which a flow would change the standby as well, without any regard to fences.

    :param also_changes: by setting, with its value
    """
    for key, found in also_changes.items():
        reason = f"{flow} does not say {key}=false, so two would change the standby: run dr_flows"
        yield Item(ItemKind.FLOW, flow, key, "false", found, ItemVerdict.NEVER, reason, blocks=True)


def unknown_flow(flow: str, reason: str) -> Item:
    """Return the row of a flow of which nobody knows how it is set up."""
    said = f"nobody knows whether {flow} changes the standby as well: {reason}"
    return Item(ItemKind.FLOW, flow, "", None, None, ItemVerdict.UNKNOWN, said, blocks=True)
