"""Where applications find the active cluster, and the contract of every router.

A route follows the DR register: it is switched after the target is open, by compare-and-set on the epoch, so that a run
with an outdated epoch cannot send traffic back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from kafka_dr.codec import StoredDocument, ZuluTime
from kafka_dr.errors import NeedsPerson, OutcomeUnknown, Refused, TryAgain

SCHEMA_VERSION = 1


class RouteConflict(Refused):
    """The stored route is not the one that the caller expected. Nothing was changed."""


class RouteUnreadable(NeedsPerson):
    """There is a route, but not one that can be read. This never counts as "no route"."""


class RouteSilent(TryAgain):
    """What keeps the route gave no usable answer, so nothing is known of it. This never counts as "no route"."""


class RouteBusy(TryAgain):
    """Another switch of the same route did not end before the deadline."""


class RouteUnwritable(TryAgain):
    """The route could not be stored. Nothing was changed."""


class RouteUncertain(OutcomeUnknown):
    """The new route may be there or not, or not last, or not be seen everywhere: read it before doing anything else."""


@dataclass(frozen=True, slots=True)
class Route(StoredDocument):
    """Which cluster applications of a protection group use.

    :param group: the protection group
    :param active: the cluster
    :param bootstrap_servers: what applications connect to
    :param epoch: the epoch of the DR register that this follows
    :param at: when it was decided, aware
    """

    derived = ("schema_version",)
    schema_version: ClassVar[int] = SCHEMA_VERSION

    group: str
    active: str
    bootstrap_servers: str
    epoch: int
    at: ZuluTime

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError(f"The route of {self.group} is stamped {self.at}, without time zone: pass an aware time.")
        if not (self.group and self.active and self.bootstrap_servers):
            raise ValueError(f"The route of {self.group!r} to {self.active!r} lacks a name or an address.")
        if self.epoch < 1:
            raise ValueError(f"The route of {self.group} has epoch {self.epoch}: epochs of the register begin at 1.")


class Router(Protocol):
    """One protection group's route, wherever it is kept."""

    def read(self) -> Route | None:
        """Return the stored route, or None if there has never been one.

        :raises RouteUnreadable: when there is something that cannot be understood, or not without a person
        :raises RouteSilent: when what keeps it does not answer
        """
        ...

    def switch(self, *, expected_epoch: int | None, route: Route) -> None:
        """Store a route if the stored one still has the expected epoch; storing what is stored already succeeds.

        :param expected_epoch: the epoch of the stored route; None when there must be none
        :param route: the new route, whose epoch is higher
        :raises RouteConflict: when another route is stored; nothing was changed
        :raises RouteUnreadable: when the stored route cannot be understood; nothing was changed
        :raises RouteSilent: when what keeps it does not answer; nothing was changed
        :raises RouteBusy: when another switch held the route until the deadline; nothing was changed
        :raises RouteUnwritable: when it cannot be stored; nothing was changed
        :raises RouteUncertain: when it is not certain that it is stored, stays stored, or is what everybody reads
        """
        ...

    def try_out(self) -> None:
        """Find out whether the route could be switched now; what is stored stays as it is.

        :raises RouteUnwritable: it could not
        """
        ...

    def shown_by(self) -> tuple[str, ...]:
        """Return commands of a shell that show where the route is kept, and who may change it; none if none can."""
        ...

    def by_hand(self, route: Route) -> tuple[str, ...]:
        """Return commands of a shell that store a route where nothing of this project runs; none if none can."""
        ...

    def remove(self) -> None:
        """Remove the route, whatever it says; only that of a drill, whose group ends.

        :raises RouteUnwritable: when it cannot be removed
        """
        ...

    def remains(self) -> tuple[str, ...]:
        """Return what is there of the route, by name; nothing after it was removed.

        :raises RouteSilent: when what keeps it does not answer
        """
        ...


def must_replace(stored: Route | None, route: Route, *, expected_epoch: int | None) -> bool:
    """Return whether the new route has to be written: False if it is stored already.

    The time of the decision is not compared: a step that runs again writes a new time.

    :raises RouteConflict: the stored route is not the expected one, or the epoch would not rise
    """
    if stored is not None and _says(stored) == _says(route):
        return False
    if stored is not None and stored.group != route.group:
        raise RouteConflict(
            f"The route belongs to group {stored.group} and was asked to lead {route.group}: "
            "give each protection group a route of its own."
        )
    stored_epoch = stored.epoch if stored else None
    if stored_epoch != expected_epoch:
        seen = f"is at epoch {stored_epoch} and leads to {stored.active}" if stored else "is not set"
        raise RouteConflict(
            f"The route of {route.group} {seen}, expected {_epoch(expected_epoch)}: another run switched it; "
            "read the DR register before trying again."
        )
    if stored_epoch is not None and route.epoch <= stored_epoch:
        raise RouteConflict(
            f"The route of {route.group} is at epoch {stored_epoch} and cannot go to epoch {route.epoch}: "
            "a route only follows a higher epoch of the DR register."
        )
    return True


def _says(route: Route) -> tuple[str, str, str, int]:
    return route.group, route.active, route.bootstrap_servers, route.epoch


def _epoch(expected: int | None) -> str:
    return "no route" if expected is None else f"epoch {expected}"
