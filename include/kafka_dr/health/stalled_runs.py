"""A run that holds a group and does not go on: told by the time since it last got something done."""

from __future__ import annotations

from datetime import datetime, timedelta

from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import Check
from kafka_dr.topology.model import Timing

_HOLDING = frozenset({Phase.SWITCHING, Phase.HANDED_OVER})


def longest_step(timing: Timing) -> timedelta:
    """Return how long a step that lives may leave nothing behind: two waits for the world, and what it is told to."""
    told = timing.drain_seconds + timing.transaction_grace_seconds + timing.protect_wait_seconds
    return timedelta(seconds=2 * timing.step_deadline_seconds + told)


def check_progress(
    state: RegisterState, *, last: datetime | None, now: datetime, allowed: timedelta, sealed: bool = True
) -> Check:
    """Judge whether the run that holds a group still lives, and whether one that settled it came to its end.

    :param last: when a step of the run last left evidence; ``None`` where none did
    :param allowed: how long it may be silent
    :param sealed: whether the evidence of a run that settled the group is
    """
    if state.phase not in _HOLDING:
        return _ended(state, last=last, now=now, allowed=allowed, sealed=sealed)
    silent = now - max(filter(None, (last, state.at)))
    held = f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch})"
    if silent <= allowed:
        return Check("run", "ok", f"{held}, which did something {silent.total_seconds():.0f} s ago")
    ways = "finish or abandon it" if state.phase is Phase.SWITCHING else "finish it, it is past its point of no return,"
    said = f"{held} and has done nothing for {silent.total_seconds():.0f} s: if it is dead, {ways} with dr_resume"
    return Check("run", "failed", said)


def _ended(state: RegisterState, *, last: datetime | None, now: datetime, allowed: timedelta, sealed: bool) -> Check:
    """Judge a run that settled the group; of one whose evidence is kept elsewhere nothing is known here."""
    if sealed or last is None or now - last <= allowed:
        return Check("run", "ok", f"no run holds {state.group}")
    decision = "abandon" if state.verb == "roll_back" else "finish"
    said = (
        f"run {state.run} left {state.group} {state.phase} (epoch {state.epoch}) and its evidence was never sealed: "
        f"see what stopped it, then {decision} it with dr_resume"
    )
    return Check("run", "failed", said)


def check_run(context: GroupContext, state: RegisterState) -> Check:
    """Ask register and evidence whether the run that holds a group still lives, or was left before its end."""
    holding = state.phase in _HOLDING
    # A failback takes hours, and who looks after the group then is asked elsewhere.
    goes_home = state.phase is Phase.DIVERGED and state.verb == "failback"
    sealed = holding or goes_home or not context.is_unsealed(state)
    last = context.clients.evidence.last_step(state.group, state.run) if holding or not sealed else None
    allowed = longest_step(context.group.timing)
    return check_progress(state, last=last, now=context.clock.now(), allowed=allowed, sealed=sealed)
