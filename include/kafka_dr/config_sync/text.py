"""A plan as a person reads it: in a terminal or a task's log, in colour, and as rows for the evidence page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kafka_dr.config_sync.items import Item, ItemVerdict
from kafka_dr.config_sync.plan import Plan
from kafka_dr.quoting import line as quoted

#: More rows of one kind would hide what matters; the evidence holds all of them.
_MOST_ROWS = 100
_RED, _GREEN, _YELLOW, _DIM, _BOLD, _END = (f"\033[{code}m" for code in (31, 32, 33, 2, 1, 0))
_HEADINGS = {
    ItemVerdict.UNKNOWN: ("Unknown: could not be read", _RED),
    ItemVerdict.APPROVAL: ("Needs an approval", _YELLOW),
    ItemVerdict.SAFE: ("Safe to change", _GREEN),
    ItemVerdict.NEVER: ("Never changed by a program", _RED),
    ItemVerdict.NOTE: ("Differs, and may", _DIM),
}


def lines(plan: Plan, *, colour: bool = True) -> Iterator[str]:
    """Yield a plan line by line.

    :param colour: whether to paint with ANSI codes, which Airflow's log page understands
    """
    paint = _painted if colour else _plain
    yield paint(plan.summary, _BOLD)
    for verdict, (heading, tint) in _HEADINGS.items():
        items = plan.of(verdict)
        if items:
            yield paint(f"{heading} ({len(items)})", tint)
            yield from (_row(item, colour=colour) for item in items[:_MOST_ROWS])
        if len(items) > _MOST_ROWS:
            yield f"  … and {len(items) - _MOST_ROWS} more, all of them in the evidence"
    if plan.access:
        yield paint("After a switch, with the ACLs as they are now", _BOLD)
        yield from (
            f"  {paint(quoted(access), _RED if access.lost else _YELLOW)}" for access in plan.access[:_MOST_ROWS]
        )
        left = [str(access) for access in plan.access_after]
        yield "  " + (
            "once this plan is applied: " + quoted("; ".join(left[:4]))
            if left
            else "nothing of it is left by this plan"
        )
    yield paint(f"digest {plan.digest}", _DIM)


def _painted(text: str, tint: str) -> str:
    return f"{tint}{text}{_END}"


def _plain(text: str, _tint: str) -> str:
    return text


def _row(item: Item, *, colour: bool) -> str:
    paint = _painted if colour else _plain
    mark, tint = ("+", _GREEN) if item.standby is None else ("-", _RED) if item.active is None else ("~", _YELLOW)
    if item.verdict is ItemVerdict.UNKNOWN:
        mark, tint = "?", _RED
    name = quoted(f"{item.kind} {item.subject} {item.key}".rstrip())
    values = ""
    if item.standby is not None and item.active is not None:
        values = f": {paint(quoted(item.standby), _RED)} → {paint(quoted(item.active), _GREEN)}"
    elif item.active not in (None, "there"):
        values = f": {paint(quoted(item.active or ''), _GREEN)}"
    blocks = paint(" [stops a switch]", _RED) if item.blocks else ""
    return f"  {paint(mark, tint)} {name}{values}{blocks} {paint(quoted(item.reason), _DIM)}"


def table(plan: Plan) -> dict[str, Any]:
    """Return a plan as the evidence page shows it."""
    return {
        "active": plan.active,
        "standby": plan.standby,
        "rows": [_cells(item) for item in _ordered(plan.items)],
        "access": list(_access(plan)),
    }


def _access(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield what applications could do otherwise now, and what only the plan itself would change."""
    left = {access.about for access in plan.access_after}
    for access in plan.access:
        yield {"lost": access.lost, "mended": access.about not in left, "sentence": str(access)}
    now = {access.about for access in plan.access}
    for access in plan.access_after:
        if access.about not in now:
            yield {"lost": access.lost, "mended": False, "sentence": f"{access}, once this plan is applied"}


def _ordered(items: Iterable[Item]) -> list[Item]:
    order = {verdict: place for place, verdict in enumerate(_HEADINGS)}
    return sorted(items, key=lambda item: (not item.blocks, order[item.verdict]))


def _cells(item: Item) -> dict[str, Any]:
    return {
        "verdict": item.verdict.value,
        "blocks": item.blocks,
        "what": f"{item.kind} {item.subject} {item.key}".rstrip(),
        "active": item.active,
        "standby": item.standby,
        "reason": item.reason,
    }
