"""Clusters that take writes to the same topics together, and the protection groups of their clients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from uuid import uuid4

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import Acl, PatternType, TopicPartition
from kafka_dr.health.health_check import check_health
from kafka_dr.naming import DefaultNaming
from kafka_dr.topology.blocks import (
    ActiveActiveSpec,
    AloneSpec,
    BlockSpec,
    HubAndSpokeSpec,
    MemberSpec,
    groups_of,
    memberships,
)
from kafka_dr.topology.conflicts import ConflictsSpec
from kafka_dr.topology.group_keys import GroupKeys
from kafka_dr.topology.model import ProtectionGroup, Topology
from kafka_dr.topology.route import RouteSpec
from lab import rights
from lab.api import Lab
from support.named_group import NamedGroup
from support.protection import Protection
from support.three_clusters import GroupOfThree
from support.waiting import eventually

_APPLICATION_PREFIXES = {"orders.": ("{}.", "{}-"), "orders-": ("{}-",), "billing-": ("{}-",)}


class MemberProtection(Protection):
    """The clients of one member. Its name is that of the block and that of the member."""

    union: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    rests: Mapping[str, str] = MappingProxyType({})
    #: What moves without the clients of a member: by name where it begins.
    alone: Mapping[str, str] = MappingProxyType({})
    #: The members; all clusters of the lab if there is none.
    members: tuple[str, ...] = ()
    #: The clusters that hold copies of all others; none where each of them does.
    hubs: tuple[str, ...] = ()
    conflicts: ConflictsSpec | None = None

    @property
    def block(self) -> str:
        return self.name.rpartition("-")[0]

    @property
    def topic(self) -> str:
        return f"{self.block}.payments"

    @property
    def topic_prefix(self) -> str:
        return f"{self.block}."

    @property
    def topology(self) -> Topology:
        declared = super().topology
        base = declared.protection_groups[self.name]
        keys = {key: getattr(base, key) for key in GroupKeys.model_fields if key in base.model_fields_set}
        keys |= {
            "topics": (),
            "topic_prefixes": (self.topic_prefix,),
            "transactional_id_prefixes": (f"{self.block}-",),
            "flow": base.flow.model_copy(update={"naming": "default"}),
        }
        keys |= {"union": self.union, "local": self.local, "rest_read_by": dict(self.rests)}
        if self.conflicts is not None:
            keys["conflicts"] = self.conflicts
        keys["moves"] = {f"{self.block}-{name}-moves": name for name in self.hubs or self._names}
        keys["moves_alone"] = {
            name: AloneSpec(
                begins_on=begins_on,
                consumer_groups=(f"{self.block}-{name}-moves",),
                route=self._route(base.route, name),
            )
            for name, begins_on in self.alone.items()
        }
        members = {name: MemberSpec(route=self._route(base.route, name)) for name in self._names}
        hubs = {name: members.pop(name) for name in self.hubs}
        section = "hub_and_spoke" if hubs else "active_active"
        block: BlockSpec = (
            HubAndSpokeSpec(**keys, spokes=members, hubs=hubs) if hubs else ActiveActiveSpec(**keys, members=members)
        )
        dumped = block.model_dump(exclude_unset=True)
        found = memberships(section, self.block, dumped)
        groups = {
            name: ProtectionGroup.model_validate({**keys, "name": name}).as_member(found[name])
            for name, keys, _ in groups_of(section, self.block, dumped)
        }
        return declared.model_copy(update={"protection_groups": groups, section: {self.block: block}})

    @property
    def _names(self) -> tuple[str, ...]:
        return self.members or self.lab.settings.names

    def _route(self, route: RouteSpec, member: str) -> RouteSpec:
        return route.model_copy(update={"path": str(self.folder / "route" / f"{self.block}-{member}.json")})

    def _acls(self, cluster: str) -> Iterable[Acl]:
        """Return the lab's rights, on topics and on copies of them."""
        for acl in self.lab.allowed_on(cluster):
            if acl.pattern is PatternType.PREFIXED and acl.name in _APPLICATION_PREFIXES:
                for form in _APPLICATION_PREFIXES[acl.name]:
                    name = form.format(self.block)
                    yield replace(acl, name=name)
                    if acl.name == "orders.":
                        for origin in self.lab.settings.names:
                            if origin != cluster:
                                yield replace(acl, name=str(DefaultNaming(origin, cluster).copy_of(name)))


class Members(dict[str, NamedGroup]):
    """The groups of the clients of all members, by member."""

    @classmethod
    def adopt(cls, lab: Lab, folder: Path, *, hubs: tuple[str, ...] = (), members: tuple[str, ...] = ()) -> Members:
        block = f"t{uuid4().hex[:8]}"
        made = cls()
        for member in members or lab.settings.names:
            protection = MemberProtection(lab, folder, name=f"{block}-{member}")
            protection.hubs, protection.members = hubs, members
            if not made:
                protection.create()
            made[member] = NamedGroup.adopt_created(protection)
        eventually(made.have_all_copies, seconds=60)
        return made

    def grow(self, member: str) -> None:
        """Declare one more member, and adopt it: first as a standby of each other one, then with clients of its own."""
        names = (*self, member)
        protections = [each.protection for each in self.values() if isinstance(each.protection, MemberProtection)]
        for each in protections:
            each.members = names
        for each in protections:
            with each.clients() as clients:
                record = adopt(each.name, clients, "grow")
            assert record.outcome == "done", record
        with protections[0].cluster(member, "admin") as admin:
            missing = {each.group.canary_topic for each in protections} - admin.topics.names()
            for topic in missing:  # as dr_config_sync creates them
                tasks = protections[0].group.flow.tasks_max
                admin.topics.create(topic, partitions=tasks, replication_factor=1, config={})
        own = MemberProtection(protections[0].lab, protections[0].folder, name=f"{protections[0].block}-{member}")
        own.members = names
        self[member] = NamedGroup.adopt_created(own)
        self.flows()
        eventually(self.have_all_copies, seconds=60)

    def shrink(self, member: str) -> None:
        """Let a member leave whose clients are gone and released: each other one gives its copies up."""
        del self[member]
        for group in self.values():
            GroupOfThree(group.protection).leave(member)
        for group in self.values():
            assert isinstance(group.protection, MemberProtection)
            group.protection.members = tuple(self)

    @property
    def block(self) -> str:
        """The name of the block."""
        return next(iter(self.values())).name.rpartition("-")[0]

    def have_all_copies(self) -> bool:
        """Return whether each member has copies of all topics of the others, those of canaries among them."""
        for cluster, group in self.items():
            wanted = {
                str(DefaultNaming(origin, cluster).copy_of(f"{other.name}.dr-canary"))
                for origin in self
                for other in self.values()
                if (origin, cluster) in self.ends and origin in other.protection.group.clusters
            }
            with group.protection.cluster(cluster, "admin") as admin:
                if not wanted <= admin.topics.names():
                    return False
        return True

    def read_by_union(self, group: str) -> None:
        """Declare a consumer group that runs on each member and reads all."""
        for each in self.values():
            assert isinstance(each.protection, MemberProtection)
            each.protection.union = (group,)

    def read_locally(self, group: str, *, rest: str = "") -> None:
        """Declare a consumer group that runs on each member and reads what is written there alone.

        :param rest: how the groups are called that read elsewhere what it has left on a lost member; empty: none does
        """
        for each in self.values():
            assert isinstance(each.protection, MemberProtection)
            each.protection.local = (group,)
            each.protection.rests = {group: rest} if rest else {}

    def move_alone(self, name: str, begins_on: str) -> NamedGroup:
        """Declare a consumer group that moves without the clients of a member, and adopt it."""
        protections = [each.protection for each in self.values() if isinstance(each.protection, MemberProtection)]
        first = protections[0]
        protections.append(MemberProtection(first.lab, first.folder, name=f"{self.block}-{name}"))
        for each in protections:
            each.alone = {name: begins_on}
        alone = NamedGroup.adopt_created(protections[-1])
        self.check_health()  # the members close the new canary topic to replication
        return alone

    def audit_conflicts(self, declared: ConflictsSpec) -> None:
        """Declare that conflicts are audited."""
        for each in self.values():
            assert isinstance(each.protection, MemberProtection)
            each.protection.conflicts = declared

    def flows(self) -> None:
        """Do what ``dr_flows`` does, until all flows copy."""
        for group in self.values():
            group.flows()

    def wait_copied(self) -> None:
        """Wait until each member has what the others have."""
        for source, target in self.ends:
            self[source].protection.wait_copied(source=source, target=target)

    @property
    def ends(self) -> tuple[tuple[str, str], ...]:
        """Source and target of each flow."""
        return tuple((source, name) for source, group in self.items() for name in group.protection.group.clusters[1:])

    def log(self, number: int, origin: str, cluster: str) -> TopicPartition:
        """Return what a cluster holds of a partition of payments of a member."""
        return next(iter(self.values())).log(number, origin, cluster)

    def check_health(self) -> None:
        """Let ``dr_health`` look at each group once."""
        for group in self.values():
            with group.protection.clients() as clients:
                check_health(group.name, clients)

    def denies(self, cluster: str) -> frozenset[Acl]:
        """Return the DENYs about the names of the block there, those of copies among them."""
        group, block = self[cluster], self.block
        with group.protection.cluster(cluster, "admin") as admin:
            return frozenset(acl for acl in admin.acls.list() if acl.permission == "DENY" and block in acl.name)

    def values_of(self, cluster: str, topic: str) -> list[bytes | None]:
        """Return the values that a cluster holds of a topic of payments, or of a copy of it."""
        group = self[cluster]
        return group.values(cluster, *(TopicPartition(topic, number) for number in range(2)))

    def refused(self, cluster: str) -> bool:
        """Return whether a cluster refuses the writes of applications to its own topic."""
        group = self[cluster]
        found = {group.refused(cluster, who, group.local(0)) for who in (rights.PROBE, rights.ORDERS_APP)}
        assert len(found) == 1, found
        return found.pop()


@contextmanager
def members_of(
    lab: Lab, folder: Path, *, hubs: tuple[str, ...] = (), members: tuple[str, ...] = ()
) -> Iterator[Members]:
    """Yield adopted members, whose flows are gone at the end.

    :param hubs: the clusters that hold copies of all others; none where each of them does
    :param members: all clusters of the lab if left out
    """
    made = Members.adopt(lab, folder, hubs=hubs, members=members)
    try:
        yield made
    finally:
        for group in made.values():
            group.protection.delete_flows()
