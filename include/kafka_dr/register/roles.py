"""What each cluster is for a protection group, as its record says it. Everything asks here: ``roles.of(cluster)``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeAlias

from kafka_dr.codec import InForm
from kafka_dr.errors import NeedsPerson, Refused


class Role(StrEnum):
    """What one cluster is. A standby says how far it can be relied on, and each standby says that of itself."""

    #: Its applications may write, if the phase allows it, and all standbys are copied from it.
    ACTIVE = "active"
    #: A standby that holds the copy: a failover may go to it.
    COPY = "copy"
    #: A standby to which no flow of this project runs yet, or any more.
    PENDING = "pending"
    #: A standby that was active before, and is not proven to refuse writes.
    UNFENCED = "unfenced"
    #: A standby that was active before, refuses writes, and may hold records that no other cluster has.
    DIVERGED = "diverged"
    #: A member among several that applications use.
    SERVING = "serving"
    #: A member whose applications have moved to other members.
    EVACUATED = "evacuated"
    #: A member that was evacuated, whose applications may not come back yet.
    RETURNING = "returning"

    @property
    def is_standby(self) -> bool:
        """Whether it holds a copy, or is to hold one, and refuses application writes."""
        return self in _STANDBYS


_STANDBYS = frozenset({Role.COPY, Role.PENDING, Role.UNFENCED, Role.DIVERGED})


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of a group's clusters: one active cluster and its standbys, or members alone.

    :param each: the role of each cluster, by name, in the order of the names
    """

    each: tuple[tuple[str, Role], ...]

    def __post_init__(self) -> None:
        """Refuse roles that contradict each other, and keep them in one order, so that equal ones are equal.

        :raises ValueError: they do
        """
        object.__setattr__(self, "each", tuple(sorted(self.each)))
        actives = sum(role is Role.ACTIVE for _, role in self.each)
        members = [name for name, role in self.each if role is not Role.ACTIVE and not role.is_standby]
        if actives != (0 if members else 1) or (members and self.standbys) or len(dict(self.each)) != len(self.each):
            raise ValueError(f"a group has one active cluster and standbys, or members alone, and not {self}")

    @classmethod
    def of_pair(cls, active: str, standby: str, role: Role = Role.COPY) -> Roles:
        """Return the roles of two clusters.

        :param role: of the standby
        :raises ValueError: both are the same cluster, or the role is none of a standby
        """
        if active == standby:
            raise ValueError(f"{active} is both active and standby")
        return cls(((active, Role.ACTIVE), (standby, role)))

    @classmethod
    def at_first(cls, clusters: Collection[str], active: str) -> Roles:
        """Return the roles of a group of which no register knows: one cluster is active, all others are standbys.

        :raises Refused: the active one is none of them
        """
        if active not in clusters:
            raise Refused(f"{active} is none of the group's clusters: choose one of {', '.join(clusters)}")
        return cls(tuple((name, Role.ACTIVE if name == active else Role.PENDING) for name in clusters))

    def changed(self, roles: Mapping[str, Role]) -> Roles:
        """Return the same roles, but for these clusters.

        :raises ValueError: they contradict each other then
        """
        return Roles(tuple({**dict(self.each), **roles}.items()))

    def without(self, cluster: str) -> Roles:
        """Return the same roles, but for a cluster that has left."""
        return Roles(tuple((name, role) for name, role in self.each if name != cluster))

    def of(self, cluster: str) -> Role | None:
        """Return the role of a cluster; ``None`` if the record does not name it, so that it has to be fenced."""
        return dict(self.each).get(cluster)

    @property
    def clusters(self) -> tuple[str, ...]:
        """Every cluster that the record names, sorted."""
        return tuple(name for name, _ in self.each)

    @property
    def active(self) -> str:
        """The active cluster.

        :raises NeedsPerson: the group has members, and no cluster alone is active
        """
        return _only([name for name, role in self.each if role is Role.ACTIVE], "active cluster", self)

    @property
    def standbys(self) -> tuple[str, ...]:
        """Every standby, whatever state it is in."""
        return tuple(name for name, role in self.each if role.is_standby)

    @property
    def has_several(self) -> bool:
        """Whether there are several standbys, so that a run has to say which one it concerns."""
        return len(self.standbys) > 1

    @property
    def given_up(self) -> tuple[str, ...]:
        """Every standby that may hold records which the active cluster lacks: a failback makes it a copy again."""
        return tuple(name for name, role in self.each if role in (Role.UNFENCED, Role.DIVERGED))

    @property
    def copies(self) -> tuple[str, ...]:
        """Every standby that holds the copy, so that a failover may go to it."""
        return tuple(name for name, role in self.each if role is Role.COPY)

    @property
    def standby(self) -> str:
        """The standby of a pair.

        :raises NeedsPerson: the group has none, or several
        """
        return _only(self.standbys, "standby", self)

    def __str__(self) -> str:
        return ", ".join(f"{name} {role}" for name, role in self.each)


#: As a record holds them: the role of each cluster by its name.
StoredRoles: TypeAlias = Annotated[
    Roles, InForm(Mapping[str, Role], lambda roles: dict(roles.each), lambda found: Roles(tuple(found.items())))
]


def _only(found: Sequence[str], what: str, roles: Roles) -> str:
    if len(found) != 1:
        raise NeedsPerson(f"the clusters of the group are {roles}, and this needs exactly one {what}")
    return found[0]
