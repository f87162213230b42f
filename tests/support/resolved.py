"""Which value of a key counts, in plain Python: what Spark's strategies are held to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple


class LastRecord(NamedTuple):
    """The last record of a key on one member; without content it deletes the key."""

    origin: int
    time: int
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Counting:
    """What counts.

    :param winner: the member whose record it is
    :param fields: those in which merged objects differ
    """

    winner: int | None
    content: bytes | None
    fields: tuple[str, ...] | None = None
    refused: bool = False


PlainStrategy = Callable[[Sequence[LastRecord]], Counting]
PlainCustom = Callable[[bytes | None, bytes | None], bytes | None]


def newest(records: Sequence[LastRecord]) -> LastRecord:
    """Of equal times the member that is declared first."""
    latest = max(each.time for each in records)
    return min((each for each in records if each.time == latest), key=lambda each: each.origin)


def in_order(records: Sequence[LastRecord]) -> list[LastRecord]:
    rest, found = list(records), []
    while rest:
        found.append(newest(rest))
        rest.remove(found[-1])
    return found[::-1]


def last_write_wins(records: Sequence[LastRecord]) -> Counting:
    last = newest(records)
    return Counting(last.origin, last.content)


def source_priority(priority: Sequence[int]) -> PlainStrategy:
    def decide(records: Sequence[LastRecord]) -> Counting:
        by_origin = {each.origin: each for each in records}
        first = next(by_origin[origin] for origin in priority if origin in by_origin)
        return Counting(first.origin, first.content)

    return decide


def keep_both(records: Sequence[LastRecord]) -> Counting:
    return Counting(records[0].origin, records[0].content) if len(records) == 1 else Counting(None, None)


def merge(records: Sequence[LastRecord]) -> Counting:
    objects = [as_object(each.content) for each in in_order(records)]
    known = [each for each in objects if each is not None]
    if len(records) == 1 or len(known) < len(objects):
        return last_write_wins(records)
    whole: dict[str, Any] = {}
    differing = set()
    for each in known:
        differing |= {name for name, value in each.items() if name in whole and as_json(whole[name]) != as_json(value)}
        whole |= each
    return Counting(None, as_json(whole).encode(), tuple(sorted(differing)))


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def as_object(content: bytes | None) -> dict[str, Any] | None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError(pairs)
        return dict(pairs)

    try:
        found = json.loads((content or b"").decode(), object_pairs_hook=once)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def custom(function: PlainCustom) -> PlainStrategy:
    def decide(records: Sequence[LastRecord]) -> Counting:
        ordered = in_order(records)
        answers = [
            reduce(function, (each.content for each in one_order)) for one_order in (ordered, ordered[::-1], ordered)
        ]
        whose = [each.origin for each in ordered if each.content == answers[0]]
        return Counting(whose[-1] if whose else None, answers[0], refused=len(set(answers)) > 1)

    return decide
