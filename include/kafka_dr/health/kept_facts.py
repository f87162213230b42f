"""What is kept of a health check with its sentences: for the status page, for metrics, and to find changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from kafka_dr.errors import ConnectionMistake, KafkaDrError
from kafka_dr.health.concerned_standbys import rows_of_standbys
from kafka_dr.health.half_moved import HALF_MOVED, HALF_MOVED_RUN
from kafka_dr.health.registers import RegisterAnswers, read_registers
from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.register import RegisterState
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.watch_results.kept import READ_AT, ROLES


def facts_of(
    state: RegisterState, asked_at: datetime, checks: Sequence[Check], seen: Mapping[str, list[Any]]
) -> dict[str, Any]:
    """Return what the register says of a group, which checks are not ok, and what was seen of its clusters.

    :param asked_at: the register was read after this moment, UTC
    :param seen: the results of :func:`matched_by`, :func:`heard_from` and :func:`without_fence`
    """
    found = {check.name for check in checks if check.outcome != "ok"}
    return {
        **record_facts(state),
        READ_AT: asked_at.isoformat(),
        "open_checks": {name: _worst_of(name, checks) for name in sorted(found)},
        **half_moved_facts(checks),
        **rows_of_standbys(state, checks),
        "denies_added": sum(check.facts.get("denies_added", 0) for check in checks),
        **seen,
    }


def record_facts(state: RegisterState) -> dict[str, Any]:
    """Return what is kept of a group's record; of several standbys also the role of each."""
    return {
        "phase": state.phase.value,
        "active": state.active,
        "standby": state.standbys_in_words,
        "epoch": state.epoch,
        "verb": state.verb,
        "run": state.run,
        "recorded_at": state.at.astimezone(UTC).isoformat(timespec="seconds"),
        "approved_by": state.approved_by,
        "held": state.is_held,
        **({ROLES: roles} if (roles := state.roles_of_several) else {}),
    }


def record_at_the_end(group: str, clients: Clients) -> dict[str, Any]:
    """Return what the registers that answer say of a group at the end of a run; nothing if none can be read."""
    asked_at = clients.clock.now()
    try:
        state = read_registers(GroupContext(group, clients)).newest
    except KafkaDrError:
        return {}
    return {**record_facts(state), "seen_at": asked_at.isoformat()} if state is not None else {}


def half_moved_facts(checks: Sequence[Check]) -> dict[str, str]:
    """Return why a group is half moved, and by which run; both are empty if it is not."""
    found = next((check for check in checks if (check.name, check.outcome) == (HALF_MOVED, "failed")), None)
    return {HALF_MOVED: found.detail if found else "", HALF_MOVED_RUN: found.facts["run"] if found else ""}


def matched_by(patterns: Collection[str], checks: Sequence[Check]) -> dict[str, list[Any]]:
    """Return the topics that a group's patterns match, a row each; nothing if the clusters could not be asked.

    Then what was known before stays, and so does since when.
    """
    asked = [check.facts["matched_topics"] for check in checks if "matched_topics" in check.facts]
    return {"matched_topics": list(chain.from_iterable(asked))} if asked or not patterns else {}


def heard_from(registers: RegisterAnswers, *, too_slow: str) -> dict[str, list[str]]:
    """Return which clusters answered, and which did not although this worker could have heard them.

    :param too_slow: why this worker could not ask; empty if it could. Then a silence says nothing, and what was known
        before stays; an answer is one all the same. A cluster is *unheard* if it gave none and another one did
    """
    heard: dict[str, list[str]] = {"answering": sorted(registers.answering), "unheard": []}
    if not (too_slow and registers.silent):
        return {**heard, "silent": sorted(registers.silent)}
    asked = [name for name, error in registers.silent.items() if not isinstance(error, ConnectionMistake)]
    return {**heard, "unheard": sorted(asked) if registers.answering else []}


def without_fence(fences: Mapping[str, Sequence[Check]]) -> dict[str, list[str]]:
    """Return which clusters were found without a part of their fence. A fence of which nothing is known is not missing.

    A cluster that an unplanned failover left unfenced, and that is back and fenced now, is expected to lack it.

    :param fences: what was found of the fence of each cluster that answered
    """
    missing = (cluster for cluster, checks in fences.items() if _is_missing(checks))
    return {"fence_missing": sorted(missing)}


def all_of(fences: Mapping[str, Sequence[Check]]) -> tuple[Check, ...]:
    """Return the checks of all fences."""
    return tuple(chain.from_iterable(fences.values()))


def _is_missing(checks: Sequence[Check]) -> bool:
    # Whoever may change topics and groups cannot write by that.
    failed = {check.name for check in checks if check.outcome == "failed"} - {"changes_refused"}
    return bool(failed) and "returned" not in failed


def _worst_of(name: str, checks: Sequence[Check]) -> CheckOutcome:
    outcomes = {check.outcome for check in checks if check.name == name}
    return next(each for each in ("failed", "unknown", *sorted(outcomes - {"ok"})) if each in outcomes)
