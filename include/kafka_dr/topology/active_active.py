"""Active-active use: several clusters take writes to the same topics, each in its own, and hold copies of the others'.

A block is read as several protection groups, one for the clients of each member, because each is moved, approved and
recorded alone. They share the topics. The flow from a member belongs to the group of that member's clients, and so
does the fence of the topics there: a member takes the writes of all clients, or of none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from kafka_dr.topology.fields import Name, ResourceName, Section
from kafka_dr.topology.group_keys import GroupKeys, RouteSpec

BLOCKS = "active_active"
#: The keys of a block that its protection groups do not have.
_OWN_KEYS = ("members", "union", "local", "moves")


class MemberSpec(Section):
    """A cluster that applications use together with the others."""

    route: RouteSpec = Field(description="where the clients of this member look up the cluster that serves them")


class ActiveActiveSpec(GroupKeys):
    """Members that take writes to the same topics, and how consumer groups read them."""

    members: Annotated[dict[Name, MemberSpec], Field(min_length=2, max_length=5)] = Field(
        description="the clusters that take writes, two to five, each with the route of its clients"
    )
    union: tuple[ResourceName, ...] = Field(
        default=(), description="consumer groups that run on each member and read the records of all members"
    )
    local: tuple[ResourceName, ...] = Field(
        default=(), description="consumer groups that run on each member and read the records of that member alone"
    )
    moves: dict[ResourceName, Name] = Field(
        default_factory=dict,
        description="consumer groups that run on one member at a time and read all: the member with whose clients each "
        "one moves",
    )


@dataclass(frozen=True, slots=True)
class MemberOf:
    """What a protection group is in a block.

    :param block: the name of the block
    :param member: the one whose clients the group is
    :param groups: the names of the groups of all members' clients, by member, in the order of the file
    :param union: the consumer groups that run on each member and read all
    """

    block: str
    member: str
    groups: Mapping[str, str]
    union: tuple[str, ...] = ()

    @property
    def is_first(self) -> bool:
        """Whether the member is declared first: the others are configured like it."""
        return self.member == next(iter(self.groups))


def memberships(block: str, spec: ActiveActiveSpec) -> dict[str, MemberOf]:
    """Return what each protection group of a block is in it, by its name."""
    groups = group_names(block, spec.members)
    return {name: MemberOf(block, member, groups, spec.union) for member, name in groups.items()}


def group_names(block: str, members: Iterable[str]) -> dict[str, str]:
    """Return the names of the protection groups of a block, by member."""
    return {member: f"{block}-{member}" for member in members}


#: Where keys of a group are written in its block, by their way in the group.
_Written = dict[tuple[str | int, ...], tuple[str, ...]]


def groups_of(block: str, raw: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], _Written]]:
    """Yield the protection groups of a block, as a file would declare them.

    :param raw: the block as it is written
    :returns: by group its name, its keys, and where in the block those are written that are not at its top
    """
    found = raw.get("members")
    members: dict[str, Any] = found if isinstance(found, dict) else {}
    names = group_names(block, members)
    shared = {key: value for key, value in raw.items() if key not in _OWN_KEYS}
    shared["topics"] = [*_listed(raw, "topics"), *(f"{name}.dr-canary" for name in names.values())]
    found = raw.get("moves")
    moves: dict[str, Any] = found if isinstance(found, dict) else {}
    everywhere = [*_listed(raw, "union"), *_listed(raw, "local")]
    for member, spec in members.items():
        clusters = [member, *(other for other in members if other != member)]
        route = spec.get("route") if isinstance(spec, dict) else None
        yield (
            names[member],
            {
                **shared,
                "clusters": clusters,
                "initial_active": member,
                "route": route,
                "consumer_groups": [group for group, whose in moves.items() if whose == member],
                # What moves with other clients reads here, too, once these are here.
                "readers": {
                    "consumer_groups": [*everywhere, *(group for group, whose in moves.items() if whose != member)]
                },
            },
            {
                **_members(clusters),
                ("initial_active",): ("members",),
                ("route",): ("members", member, "route"),
                ("consumer_groups",): ("moves",),
            },
        )


def _listed(raw: Mapping[str, Any], key: str) -> list[Any]:
    found = raw.get(key)
    return list(found) if isinstance(found, (list, tuple)) else []


def _members(clusters: Iterable[str]) -> _Written:
    return {("clusters",): ("members",), **{("clusters", n): ("members", each) for n, each in enumerate(clusters)}}
