"""Clusters that hold copies of each other's topics, each written by clients of its own: active-active, hub and spoke.

A block is read as several protection groups, one for the clients of each member, because each is moved, approved and
recorded alone. They share the topics. The flow from a member belongs to the group of that member's clients, and so
does the fence of the topics there: a member takes the writes of all clients, or of none.

In active-active use each member is copied to each other one. Spokes are copied to the hubs alone, and hubs to each
other: where the clients of a hub are moved, its consumer groups continue on the other hub.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from kafka_dr.topology.conflicts import ConflictsSpec
from kafka_dr.topology.fields import Name, ResourceName, Section
from kafka_dr.topology.group_keys import GroupKeys
from kafka_dr.topology.names import canary_topic_of
from kafka_dr.topology.route import RouteSpec

#: Where blocks are declared, and which keys of each kind name members: each of them first those that are copied to all.
MEMBERS_OF: Mapping[str, tuple[str, ...]] = {"active_active": ("members",), "hub_and_spoke": ("spokes", "hubs")}
_HUBS = "hubs"
_ALONE = "moves_alone"
#: The keys of a block that its protection groups do not have.
_OWN_KEYS = ("members", "spokes", _HUBS, "union", "local", "rest_read_by", "moves", _ALONE, "conflicts")


class MemberSpec(Section):
    """A cluster that applications use together with the others."""

    route: RouteSpec = Field(description="where the clients of this member look up the cluster that serves them")


class AloneSpec(MemberSpec):
    """Consumer groups that run on one member at a time, and move without the clients of a member."""

    begins_on: Name = Field(description="the member on which they run when the topology is adopted")
    consumer_groups: Annotated[tuple[ResourceName, ...], Field(min_length=1)] = Field(
        description="the consumer groups, which move together"
    )


class BlockSpec(GroupKeys):
    """How consumer groups read what several clusters take together."""

    union: tuple[ResourceName, ...] = Field(
        default=(), description="consumer groups that run on each member and read the records of all members"
    )
    local: tuple[ResourceName, ...] = Field(
        default=(), description="consumer groups that run on each member and read the records of that member alone"
    )
    rest_read_by: dict[ResourceName, ResourceName] = Field(
        default_factory=dict,
        description="of local groups, how the groups are called that read elsewhere what they have left on a lost "
        "member; its name follows after a hyphen",
    )
    moves: dict[ResourceName, Name] = Field(
        default_factory=dict,
        description="consumer groups that run on one member at a time and read all: the member with whose clients each "
        "one moves",
    )
    moves_alone: dict[Name, AloneSpec] = Field(
        default_factory=dict,
        description="consumer groups that run on one member at a time and read all, and move by themselves, by a name",
    )


class ActiveActiveSpec(BlockSpec):
    """Members that take writes to the same topics, and how consumer groups read them."""

    members: Annotated[dict[Name, MemberSpec], Field(min_length=2, max_length=5)] = Field(
        description="the clusters that take writes, two to five, each with the route of its clients"
    )
    conflicts: ConflictsSpec | None = Field(
        default=None, description="how conflicts between members are audited; left out, they are not"
    )

    @property
    def watches(self) -> tuple[Literal["conflicts"], ...]:
        """What looks at this block as a whole on a schedule."""
        return () if self.conflicts is None else ("conflicts",)

    def readers_on(self, member: str) -> tuple[str, ...]:
        """Return the consumer groups that read copies on a member, as far as they are declared."""
        return (*self.union, *(group for group, whose in self.moves.items() if whose == member))


class HubAndSpokeSpec(BlockSpec):
    """Spokes that take writes to the same topics, and hubs that hold copies of them for readers."""

    spokes: Annotated[dict[Name, MemberSpec], Field(min_length=1)] = Field(
        description="the clusters that take writes, each with the route of its clients"
    )
    hubs: Annotated[dict[Name, MemberSpec], Field(min_length=2)] = Field(
        description="the clusters that hold copies of all spokes, two or more, each with the route of its readers"
    )


@dataclass(frozen=True, slots=True)
class MemberOf:
    """What a protection group is in a block.

    :param block: the name of the block
    :param member: the one whose clients the group is; empty if it is consumer groups alone
    :param groups: the names of the groups of all members' clients, by member, in the order of the file
    :param union: the consumer groups that run on each member and read all
    :param local: those that run on each member and read what is written there alone
    :param hubs: the members that hold copies of all others; none where each member does
    :param rest_groups: of some local groups, the groups that read elsewhere what they have left if the member is lost
    :param alone: the names of the groups that are consumer groups alone
    """

    block: str
    member: str
    groups: Mapping[str, str]
    union: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    hubs: tuple[str, ...] = ()
    rest_groups: Mapping[str, str] = field(default_factory=dict)
    alone: tuple[str, ...] = ()

    @property
    def is_first(self) -> bool:
        """Whether the member is declared first: the others are configured like it."""
        return self.member == next(iter(self.groups))

    @property
    def canary_topics(self) -> frozenset[str]:
        """The canary topics of all groups, which each of the groups has among its topics."""
        return frozenset(map(canary_topic_of, (*self.groups.values(), *self.alone)))

    @property
    def holding(self) -> tuple[str, ...]:
        """The members that hold copies of all others."""
        return self.hubs or tuple(self.groups)


def memberships(section: str, block: str, keys: Mapping[str, Any]) -> dict[str, MemberOf]:
    """Return what each protection group of a block is in it, by its name.

    :param keys: of the block, as a file declares it
    """
    groups = group_names(section, block, keys)
    union, local = tuple(keys.get("union", ())), tuple(keys.get("local", ()))
    hubs = tuple(keys.get(_HUBS, ())) if _HUBS in MEMBERS_OF[section] else ()
    alone = alone_names(block, keys)
    return {
        name: MemberOf(block, member, groups, union, local, hubs, _rest_groups(keys, member), tuple(alone.values()))
        for member, name in (*groups.items(), *(("", name) for name in alone.values()))
    }


def members_in(section: str, keys: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Return the members that a block declares, each with the key below which it does, and what it says there."""
    found: dict[str, tuple[str, Any]] = {}
    for kind in MEMBERS_OF[section]:
        for member, spec in _mapping(keys, kind).items():
            found.setdefault(member, (kind, spec))
    return found


def group_names(section: str, block: str, keys: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the protection groups of a block, by member."""
    return {member: f"{block}-{member}" for member in members_in(section, keys)}


def alone_names(block: str, keys: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the protection groups of a block that are consumer groups alone, by the name in the block."""
    return {name: f"{block}-{name}" for name in _mapping(keys, _ALONE)}


#: Where keys of a group are written in its block, by their way in the group.
_Written = dict[tuple[str | int, ...], tuple[str, ...]]


def groups_of(section: str, block: str, raw: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], _Written]]:
    """Yield the protection groups of a block, as a file would declare them.

    :param raw: the block as it is written
    :returns: by group its name, its keys, and where in the block those are written that are not at its top
    """
    members, names, alone = members_in(section, raw), group_names(section, block, raw), alone_names(block, raw)
    holding = [member for member, (kind, _) in members.items() if kind == MEMBERS_OF[section][-1]]
    shared = {key: value for key, value in raw.items() if key not in _OWN_KEYS}
    shared["topics"] = [*_listed(raw, "topics"), *map(canary_topic_of, (*names.values(), *alone.values()))]
    moves = _mapping(raw, "moves")
    declared = {alone[key]: spec if isinstance(spec, dict) else {} for key, spec in _mapping(raw, _ALONE).items()}
    moving = {names[member]: [group for group, whose in moves.items() if whose == member] for member in members}
    moving |= {name: _listed(spec, "consumer_groups") for name, spec in declared.items()}
    all_moving = [*moves, *(group for name in declared for group in moving[name])]
    rests = [group for member in members for group in _rest_groups(raw, member).values()]

    def keys_of(name: str, clusters: list[str], begins_on: Any, route: Any) -> dict[str, Any]:
        # What moves with others reads here, too, once these are here.
        others = [group for group in all_moving if group not in moving[name]]
        return {
            **shared,
            "clusters": clusters,
            "initial_active": begins_on,
            "route": route,
            "consumer_groups": moving[name],
            "readers": {"consumer_groups": [*_listed(raw, "union"), *_listed(raw, "local"), *rests, *others]},
        }

    for member, (kind, spec) in members.items():
        clusters = [member, *(other for other in holding if other != member)]
        yield (
            names[member],
            keys_of(names[member], clusters, member, spec.get("route") if isinstance(spec, dict) else None),
            {
                ("clusters",): (kind,),
                **{("clusters", n): (members[each][0], each) for n, each in enumerate(clusters)},
                ("initial_active",): (kind,),
                ("route",): (kind, member, "route"),
                ("consumer_groups",): ("moves",),
            },
        )
    for key, name in alone.items():
        here, spec = (_ALONE, key), declared[name]
        yield (
            name,
            keys_of(name, holding, spec.get("begins_on"), spec.get("route")),
            {
                ("clusters",): here,
                ("initial_active",): (*here, "begins_on"),
                ("route",): (*here, "route"),
                ("consumer_groups",): (*here, "consumer_groups"),
            },
        )


def _rest_groups(keys: Mapping[str, Any], member: str) -> dict[str, str]:
    """Return, by local group, the group that reads elsewhere what it has left on a member."""
    return {group: f"{name}-{member}" for group, name in _mapping(keys, "rest_read_by").items()}


def _mapping(raw: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = raw.get(key)
    return found if isinstance(found, dict) else {}


def _listed(raw: Mapping[str, Any], key: str) -> list[Any]:
    found = raw.get(key)
    return list(found) if isinstance(found, (list, tuple)) else []
