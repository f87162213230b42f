"""The answer before a switch: what must match and does not stops the switch, and is named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kafka_dr.config_sync.items import Item, ItemKind, ItemVerdict
from kafka_dr.config_sync.plan import Plan
from kafka_dr.config_sync.simulation import Access
from kafka_dr.counted import counted

_SHOWN = 6


@dataclass(frozen=True, slots=True)
class StandbyReadiness:
    """Whether the standby is configured to take over.

    :param outcome: ``failed`` where something that must match differs, ``unknown`` where something could not be read
    :param sentence: what stops the switch, by name, or how many topics were found alike
    :param differing: the rows that must match and do not
    :param unknown: the rows that could not be read
    :param lost: what applications can do now and could not after a switch
    """

    outcome: Literal["ok", "failed", "unknown"]
    sentence: str
    differing: tuple[Item, ...] = ()
    unknown: tuple[Item, ...] = ()
    lost: tuple[Access, ...] = ()


def ask(plan: Plan) -> StandbyReadiness:
    """Judge a plan that was just made."""
    differing = tuple(item for item in plan.items if item.blocks and item.verdict is not ItemVerdict.UNKNOWN)
    unknown = plan.of(ItemVerdict.UNKNOWN)
    lost = tuple(access for access in plan.access if access.lost and access.declared)
    named = [_named(item, plan) for item in differing] + [str(access) for access in lost]
    if named:
        return StandbyReadiness("failed", _shown(named), differing, unknown, lost)
    if unknown:
        return StandbyReadiness("unknown", _shown([f"{item.subject}: {item.reason}" for item in unknown]), (), unknown)
    many = counted(len(plan.changes), "difference that stops", "differences that stop")
    left = f", {many} no switch" if plan.changes else ""
    return StandbyReadiness("ok", f"{plan.standby} is configured as {plan.active} is{left}")


def _named(item: Item, plan: Plan) -> str:
    if item.kind is ItemKind.FLOW:
        return item.reason
    if item.active is None or item.standby is None:
        missing, there = (plan.standby, plan.active) if item.standby is None else (plan.active, plan.standby)
        return f"{item.kind} {item.subject} {item.key}".rstrip() + f" is on {there} and missing on {missing}"
    what = f"{item.subject} {item.key or item.kind}"
    return f"{what} is {item.active} on {plan.active} and {item.standby} on {plan.standby}"


def _shown(sentences: list[str]) -> str:
    more = f"; and {len(sentences) - _SHOWN} more" if len(sentences) > _SHOWN else ""
    return "; ".join(sentences[:_SHOWN]) + more
