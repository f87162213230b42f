"""Approvals that nobody verified: each is named until somebody has looked at it, and has said so."""

from __future__ import annotations

from kafka_dr.approvals.signed import unreviewed
from kafka_dr.health.registers import RegisterAnswers
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.runs.group_context import GroupContext

_MOST = 3


def check_break_glass(context: GroupContext, state: RegisterState, registers: RegisterAnswers) -> Check:
    """Return whether somebody has reviewed every run that was approved by break glass.

    Answers are in the register that decided before the claim, so every register that answers is asked.
    """
    histories = [context.clients.register(name).history(state.group) for name in registers.states]
    runs = sorted({run for history in histories for run in unreviewed(history)})
    if not runs:
        return Check("break_glass", "ok", f"no approval of {state.group} is unverified")
    shown = ", ".join(runs[:_MOST]) + (f" and {len(runs) - _MOST} more" if len(runs) > _MOST else "")
    said = (
        f"{shown} of {state.group}: approved by break glass, or records that it left were erased that way, so nobody "
        "verified who approved. Read the evidence of the run, ask the person, then say so: python -m kafka_dr review "
        f"--group {state.group} --run {runs[0]}"
    )
    return Check("break_glass", "failed", said)
