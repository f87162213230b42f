"""The protection group of a drill: derived from a real one, in memory alone, with names of its own.

Everything that a drill creates on a cluster begins with the name of its group, which has the time of the drill in it.
So a drill meets nothing of another one, and what a drill has left is found by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from kafka_dr.errors import Refused
from kafka_dr.topology.drill import DrillKind, DrillSpec
from kafka_dr.topology.drill_rules import NOBODY
from kafka_dr.topology.group_keys import ConfigSyncSpec, DisasterSpec
from kafka_dr.topology.model import ProtectionGroup, Topology
from kafka_dr.topology.names import DRILL_PREFIX, reaches
from kafka_dr.topology.readers import GroupsPolicy, ReadersSpec

#: Below the evidence root: one folder for each real group, and in it one for each drill.
DRILLS_FOLDER = "drills"
_NAME = re.compile(rf"{re.escape(DRILL_PREFIX)}(?P<group>.+)-(?P<id>\d{{14}})")


@dataclass(frozen=True, slots=True)
class Drill:
    """One drill of a protection group.

    :param group: the real group, which the drill never touches
    :param id: when it began, UTC, as 14 digits
    :param kind: which failover is practised
    :param clusters: where the real group is active now, which is where the drill begins; where the drill goes; all of
        the real group's, in any order, for what only has to know the names
    """

    group: ProtectionGroup
    spec: DrillSpec
    id: str
    kind: DrillKind
    clusters: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the drill's own group."""
        return f"{DRILL_PREFIX}{self.group.name}-{self.id}"

    @property
    def prefix(self) -> str:
        """How the names of the drill's topics, consumer groups and transactional ids begin."""
        return f"{self.name}."

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that its application uses."""
        return tuple(f"{self.prefix}{number}" for number in range(1, self.spec.topics + 1))

    @property
    def readers(self) -> str:
        """The consumer group that reads them."""
        return f"{self.prefix}readers"

    @property
    def active(self) -> str:
        """Where it begins."""
        return self.clusters[0]

    @property
    def standby(self) -> str:
        """Where it goes."""
        return self.clusters[1]

    @property
    def by_nobody(self) -> bool:
        """Whether the topology approves its steps, and no person does."""
        return self.spec.approval == "automatic"


def id_at(moment: datetime) -> str:
    """Return the id of a drill that begins at a moment.

    :param moment: aware
    """
    return f"{moment:%Y%m%d%H%M%S}"


def drill_of(name: str) -> tuple[str, str] | None:
    """Return the real group and the id of the drill whose group has a name; ``None`` if that is no drill's."""
    found = _NAME.fullmatch(name)
    return (found["group"], found["id"]) if found else None


def declared(topology: Topology, group: str) -> DrillSpec:
    """Return how a group is drilled.

    :raises UnknownName: there is no such group
    :raises Refused: the topology does not say how, or one of its groups owns names that a drill would use
    """
    spec = topology.group(group).drill
    if spec is None:
        raise Refused(
            f"the topology names no principal that a drill of {group} writes as: add drill: to the group, with "
            "principal and the id of its connection on each cluster (connections), and create these connections"
        )
    if topology.group(group).audit_principal is None:
        raise Refused(f"the topology does not name the audit_principal of {group}, which has to read a drill's topics")
    real = topology.group(group)
    begins = (DRILL_PREFIX, *(copy for name in real.clusters for copy in real.copies_of([DRILL_PREFIX], name)))
    for other in topology.protection_groups.values():
        owned = [(name, False) for name in (*other.topics, *other.consumer_groups, *other.transactional_ids)]
        owned += [(name, True) for name in other.topic_prefixes]
        owned += [(name, True) for name in (*other.consumer_group_prefixes, *other.transactional_id_prefixes)]
        if found := [name for name, prefix in owned if reaches(name, begins, prefix=prefix)]:
            raise Refused(
                f"{found[0]!r} of {other.name} also covers names that begin with {' or '.join(begins)}, which drills "
                "use, so a drill would not be apart from it: declare a longer prefix"
            )
    return spec


def topology_of(drill: Drill, topology: Topology) -> Topology:
    """Return what a drill knows: the clusters, and its own group alone. The real group cannot be reached by it."""
    own = _group_of(drill, drill.group)
    root = f"{topology.evidence.root.rstrip('/')}/{DRILLS_FOLDER}/{drill.group.name}/{drill.id}"
    evidence = topology.evidence.model_copy(update={"root": root})
    return topology.model_copy(
        update={"protection_groups": {drill.name: own}, "notifications": {}, "evidence": evidence}
    )


def topology_for(name: str, topology: Topology) -> Topology:
    """Return what a job knows that is asked about a group: of a drill's group what the drill knows, else everything.

    :raises UnknownName: it is the group of a drill of no group
    :raises Refused: the topology does not say how that group is drilled
    """
    found = drill_of(name)
    if found is None:
        return topology
    real, drill_id = found
    group, spec = topology.group(real), declared(topology, real)
    # Where the drill began is of no concern to a job: it asks the registers.
    return topology_of(Drill(group, spec, drill_id, "unplanned", group.clusters), topology)


def _group_of(drill: Drill, real: ProtectionGroup) -> ProtectionGroup:
    """Return the drill's group: objectives, times, limits and flow of the real one, names and people of its own."""
    names = {
        "name": drill.name,
        "clusters": drill.clusters,
        "initial_active": drill.active,
        "topics": (),
        "topic_prefixes": (drill.prefix,),
        "topic_patterns": (),
        "consumer_groups": (),
        "consumer_group_prefixes": (drill.prefix,),
        "transactional_ids": (),
        "transactional_id_prefixes": (drill.prefix,),
        "principals": (drill.spec.principal,),
        "route": real.route.for_group(drill.name),
    }
    people = {"approvers": (NOBODY,), "approver_roles": (), "approver_keys": {}, "requester_may_approve": True}
    rules = {
        # The drill's topics are compared from their first record by the preflight itself; no audit watches them.
        "audits": real.audits.model_copy(update={"before_failover": "not_red"}),
        # The real cluster is up, so nobody else can see the drill's disaster.
        "disaster": DisasterSpec(down_when=real.disaster.down_when, vantages_needed=1),
        "readers": ReadersSpec(),
        "groups_policy": GroupsPolicy(start=real.groups_policy.start, start_time=real.groups_policy.start_time),
        "config_sync": ConfigSyncSpec(),
        "drill": None,
        # A drill copies its topics by a flow of its own.
        "existing_replication": None,
    }
    return real.model_copy(update={**names, **rules, **(people if drill.by_nobody else {})})
