"""A run that holds a group and makes no progress: judged by the time since its last step began."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence.store import EvidenceUnwritable
from kafka_dr.health.half_moved import HALF_MOVED, claimed_unseen, half_moved, ways_out
from kafka_dr.health.refused_writes import check_refused_writes, longest_outage
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.register.state import HOLDING
from kafka_dr.runs import unfiled
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.request import StepName
from kafka_dr.runs.sealing import seal_run
from kafka_dr.runs.signs_of_life import last_progress
from kafka_dr.topology.group_keys import Timing
from kafka_dr.watch_results import RunningSteps

_LAST_STEPS = (StepName.REPORT.value, "roll_back")


def longest_step(timing: Timing) -> timedelta:
    """Return how long a live step may take: two step deadlines, and its declared waits."""
    declared = timing.drain_seconds + timing.transaction_grace_seconds + timing.protect_wait_seconds
    return timedelta(seconds=2 * timing.step_deadline_seconds + declared)


def check_progress(
    state: RegisterState, *, last: datetime | None, now: datetime, allowed: timedelta, sealed: bool = True
) -> Check:
    """Judge whether the run that holds a group makes progress, and whether a run that settled it reached its end.

    :param last: when the run last made progress; ``None`` if neither registers nor evidence know it
    :param allowed: how long it may make none
    :param sealed: whether the evidence of a run that settled the group is sealed
    """
    if state.phase not in HOLDING:
        return _ended(state, last=last, now=now, allowed=allowed, sealed=sealed)
    silent = now - max(filter(None, (last, state.at)))
    held = f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch})"
    if silent <= allowed:
        return Check("run", "ok", f"{held}, which made progress {duration(silent)} ago")
    said = f"{held} and has made no progress for {duration(silent)}: check the run; if it is dead, {ways_out(state)}"
    return Check(HALF_MOVED, "failed", said)


def _ended(state: RegisterState, *, last: datetime | None, now: datetime, allowed: timedelta, sealed: bool) -> Check:
    """Judge a run that settled the group. If its evidence is not in this store, nothing is known about its end."""
    if sealed or last is None or now - last <= allowed:
        return Check("run", "ok", f"no run holds {state.group}")
    decision = "abandon" if state.verb == "roll_back" else "finish"
    said = (
        f"run {state.run} left {state.group} {state.phase} (epoch {state.epoch}), but its evidence was never sealed: "
        f"find out what stopped it, then {decision} it with dr_resume"
    )
    return Check("run", "failed", said)


def check_run(context: GroupContext, state: RegisterState) -> Check:
    """Does the run that holds the group make progress, or did one stop before its end? The registers say so.

    A run that refuses writes for too long is red also if it makes progress.

    Evidence is asked only about a run that no process took after its claim.
    """
    holding = state.phase in HOLDING
    # A failback takes hours, and another check watches the group in the meantime.
    sealed = holding or state.is_failing_back or not context.is_unsealed(state)
    now = context.clock.now()
    journals = context.journals(state.run) if state.is_held or not sealed else []
    waits = timedelta(seconds=context.group.flow.writes_wait_seconds)
    longest = longest_outage(context.group.objectives.write_outage_seconds) + waits
    if found := half_moved_now(context, state, journals) or check_refused_writes(
        state, journals, now=now, allowed=longest
    ):
        return found
    last = _last_step(context, state, journals) if holding or not sealed else None
    allowed = longest_step(context.group.timing) + waits
    return check_progress(state, last=last, now=now, allowed=allowed, sealed=sealed)


def half_moved_now(context: GroupContext, state: RegisterState, journals: Sequence[Mapping[str, Any]]) -> Check | None:
    """Return what is wrong if a group is half moved, or may be; ``None`` if it is not. Silent clusters are not asked.

    :param journals: the facts of the run of the record, of each register that answered
    """
    silent = tuple(context.known_silent)
    seen = _seen(context, state)
    if found := half_moved(state, journals, silent=silent, seen=seen, now=context.clock.now()):
        return found
    if not silent or state.phase in HOLDING:
        return None
    register = context.clients.register
    answers = context.each_cluster(lambda cluster: register(cluster).history(state.group))
    return claimed_unseen(
        state, (each for each in answers.values() if not isinstance(each, KafkaDrError)), silent=silent
    )


def half_moved_group(context: GroupContext, state: RegisterState) -> Check | None:
    """Return what is wrong if a group is half moved, or may be; ``None`` if it is not.

    A run that has settled the group and is sealed has proven how it left the clusters.
    """
    is_open = state.is_held or context.is_unsealed(state)
    return half_moved_now(context, state, context.journals(state.run) if is_open else [])


def _seen(context: GroupContext, state: RegisterState) -> datetime | None:
    """Return when a process of the run last showed on the pages that it is there; ``None`` if that is not known."""
    with suppress(KafkaDrError, DocumentDamaged, OSError):
        found = RunningSteps(context.clients.evidence_root).of(state.group, state.run)
        return None if found is None else found.seen_at
    return None


def _last_step(context: GroupContext, state: RegisterState, journals: Sequence[Mapping[str, Any]]) -> datetime | None:
    known = last_progress(state, journals)
    return known or context.clients.evidence.last_step(state.group, state.run)


def check_evidence(context: GroupContext, state: RegisterState | None = None) -> Check:
    """File what steps of any run could not file, and seal those runs again; name what still waits.

    :param state: the group's record; its run is sealed if it ended and its storage took the report, but not the seal
    """
    name, clients = context.group.name, context.clients
    answers = context.each_cluster(lambda cluster: clients.register(cluster).history(name))
    histories = [found for found in answers.values() if not isinstance(found, KafkaDrError)]
    runs = {run for history in histories for run in history}
    waiting = {run: unfiled.waiting_in([history.get(run, {}) for history in histories]) for run in runs}
    filed, left = [], []
    for run, steps in sorted(waiting.items()):
        if not steps:
            continue
        if still := unfiled.file_all(clients, name, run, steps):
            left.append(f"{', '.join(map(str, still))} of run {run}")
            continue
        filed.append(run)
        # A run that still continues seals its evidence itself.
        if any(clients.evidence.newest(name, run, last) is not None for last in _LAST_STEPS):
            seal_run(clients, name, run)
    if left:
        said = (
            f"the evidence of {'; '.join(left)} is not filed, only the registers keep it: find out why "
            f"{clients.topology.evidence.root} does not take it, or name another evidence.root"
        )
        return Check("evidence", "failed", said)
    try:
        late = _sealed_late(context, state)
    except (EvidenceUnwritable, OSError) as error:
        return Check("evidence", "failed", f"the evidence of the newest run of {name} cannot be sealed: {cause(error)}")
    done = f"; what waited of {', '.join(filed)} is filed now" if filed else ""
    done += f"; the evidence of {late} is sealed now" if late else ""
    return Check("evidence", "ok", f"no evidence of {name} waits to be filed{done}")


def _sealed_late(context: GroupContext, state: RegisterState | None) -> str:
    """Seal a run that has ended and could not be sealed then, and return its id; empty if there is none.

    :raises EvidenceUnwritable: the storage does not take the seal
    """
    if state is None or state.phase in HOLDING or not context.is_unsealed(state):
        return ""
    if all(context.clients.evidence.newest(state.group, state.run, last) is None for last in _LAST_STEPS):
        return ""
    seal_run(context.clients, state.group, state.run)
    return state.run
