"""Which of several standbys a check of health concerns: what is wrong with one says nothing of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.register import RegisterState
from kafka_dr.watch_results import STANDBYS, WORST_FIRST, WatchOutcome
from kafka_dr.watch_results.of_standbys import standby_row

#: The fact of a check that concerns one standby: its name.
STANDBY = "standby"


def rows_of_standbys(state: RegisterState, checks: Sequence[Check]) -> dict[str, list[dict[str, Any]]]:
    """Return what was found of each standby, a row each; nothing of a pair.

    A check that names no standby concerns all of them.
    """
    if not state.has_several:
        return {}
    return {
        STANDBYS: [_row(name, [each for each in checks if _concerns(each, name, state)]) for name in state.standbys]
    }


def _concerns(check: Check, standby: str, state: RegisterState) -> bool:
    named = check.facts.get(STANDBY)
    return named == standby or named not in state.standbys


def _row(standby: str, checks: Sequence[Check]) -> dict[str, Any]:
    found = {_outcome(each.outcome) for each in checks}
    outcome: WatchOutcome = next((each for each in WORST_FIRST if each in found), "ok")
    said = [each.detail for each in checks if outcome != "ok" and _outcome(each.outcome) == outcome]
    return standby_row(standby, outcome, said)


def _outcome(outcome: CheckOutcome) -> WatchOutcome:
    found: Mapping[CheckOutcome, WatchOutcome] = {"ok": "ok", "failed": "failed", "unknown": "unknown"}
    return found.get(outcome, "warning")
