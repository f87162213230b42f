"""Whether the route of a group knows of a move that no register knows of which answers.

It is written after each move, and is kept apart from the clusters. If its epoch is higher than that of every record,
then the registers have gone back: one was restored from an older copy, and those that know more do not answer. Together
they could outvote what has happened, so nothing is begun on their word alone. A route that is older says nothing.
"""

from __future__ import annotations

from kafka_dr.errors import KafkaDrError, NeedsPerson
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.routing import Route
from kafka_dr.runs.group_context import GroupContext

NAME = "route_is_not_ahead"


def ahead(route: Route | None, state: RegisterState) -> str:
    """Say what a route knows that the newest record does not; empty if there is nothing."""
    if route is None or route.epoch <= state.epoch:
        return ""
    return (
        f"the route of {state.group} names {route.active} since epoch {route.epoch}, and the registers that answer "
        f"know of epoch {state.epoch} at most, with {state.active} active: one of them was restored from an older "
        "copy, or the one that knows more does not answer. Bring that one back before anything is moved or copied"
    )


def require_not_ahead(context: GroupContext, state: RegisterState) -> None:
    """Refuse to act on records that are older than the route; a route that cannot be read says nothing.

    :raises NeedsPerson: they are
    """
    if said := ahead(_read(context), state):
        raise NeedsPerson(said)


def route_is_not_ahead(context: GroupContext, state: RegisterState, *, override: str) -> Check:
    """Return whether the registers know of the newest move.

    :param override: of a person who knows what has happened
    """
    said = ahead(_read(context), state)
    if not said:
        return Check(NAME, "ok", f"no later move of {state.group} is known than that of epoch {state.epoch}")
    if override:
        return Check(NAME, "overridden", said, {"override": override})
    return Check(NAME, "failed", f"{said}; or, if it is lost for good, trigger a new run with an override")


def route_epoch(context: GroupContext) -> int:
    """Return the epoch of the route, which no later claim may use again; 0 if it is not known."""
    route = _read(context)
    return route.epoch if route else 0


def _read(context: GroupContext) -> Route | None:
    try:
        return context.clients.router(context.group).read()
    except KafkaDrError:
        return None
