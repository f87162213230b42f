"""Looking up by name what the topology declares, and what is said about a name that it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from kafka_dr.errors import Refused

T = TypeVar("T")


class UnknownName(Refused):
    """A cluster, a protection group, an observed flow or a stretch cluster was asked for that is not declared."""


class OnlyObserved(Refused):
    """Something was asked of a flow that is only observed, or of a stretch cluster."""


class NotLookedUp(Refused):
    """The topics that a pattern matches are needed, and nobody has looked them up on a cluster."""


def declared(things: Mapping[str, T], name: str, *, kind: str) -> T:
    """Return what has this name.

    :param kind: what it would be, for the message
    :raises UnknownName: when it is not declared
    """
    if name in things:
        return things[name]
    near = get_close_matches(name, things, n=1)
    known = f"declared are {', '.join(sorted(things))}." if things else "none is declared."
    hint = f"did you mean {near[0]!r}?" if near else known
    raise UnknownName(f"The topology declares no {kind} {name!r}: {hint}")


def texts_of(dumped: Any) -> Iterator[str]:
    """Yield every name and other text of a declaration, as pydantic dumps it for JSON."""
    if isinstance(dumped, str):
        yield dumped
    elif isinstance(dumped, dict):
        for name, inner in dumped.items():
            yield str(name)
            yield from texts_of(inner)
    elif isinstance(dumped, list):
        for inner in dumped:
            yield from texts_of(inner)
