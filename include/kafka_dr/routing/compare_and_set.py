"""A route in a service of others that compares before it sets: one way to switch it, whatever the service is.

An answer may be lost after a write. So each write is followed by a look, and is sent again only with what was seen: a
request that arrives late compares with something older, and changes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol, TypeVar

from kafka_dr.clock import Clock
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.routing.route import Route, RouteBusy, RouteSilent, RouteUncertain, must_replace
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

Seen = TypeVar("Seen")
#: How long a look, and all tries of a switch, may take, in seconds.
DEADLINE_SECONDS = 5.0


class AnswerLost(KafkaDrError):
    """A write was sent and not answered."""


class ComparingStore(Protocol[Seen]):
    """What keeps a route."""

    def look(self) -> tuple[Route | None, Seen]:
        """Return the stored route, and what a write has to find unchanged."""
        ...

    def put(self, seen: Seen, route: Route) -> None:
        """Store a route if everything is as it was seen; else change nothing.

        :raises AnswerLost: it may be stored or not
        :raises RouteUnwritable: it is not stored
        """
        ...


def switch_in(
    store: ComparingStore[Seen],
    route: Route,
    *,
    expected_epoch: int | None,
    clock: Clock,
    seconds: float = DEADLINE_SECONDS,
) -> None:
    """Store a route by compare-and-set, and read it back; see :meth:`~kafka_dr.routing.route.Router.switch`."""
    sent = False

    def is_stored() -> bool:
        nonlocal sent
        found, seen = store.look()
        if not must_replace(found, route, expected_epoch=expected_epoch):
            return True
        # Whoever cannot look after a write does not know of it.
        sent = True
        with suppress(AnswerLost):
            store.put(seen, route)
            sent = False
        return not must_replace(store.look()[0], route, expected_epoch=expected_epoch)

    try:
        done = wait_until(is_stored, bool, clock=clock, seconds=seconds, pause_seconds=SHORT_PAUSE_SECONDS)
    except RouteSilent:
        if not sent:
            raise
        done = False
    if done:
        return
    if sent:
        raise RouteUncertain(
            f"The route of {route.group} may lead to {route.active} or not: it was sent, and no answer came within "
            f"{duration(seconds)}. Read the route, see why what keeps it does not answer, and run the step again."
        )
    raise RouteBusy(
        f"The route of {route.group} changed while it was switched, again and again for {duration(seconds)}: see what "
        "else writes it, then try again."
    )
