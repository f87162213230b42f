"""Hand over in the target's register and open the target. The compare-and-set is the point of no return.

A source that could not be fenced may accept writes after this, until it answers again and is fenced. What it accepts
is counted then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr import parallel
from kafka_dr.failover.planned import open_target as planned
from kafka_dr.failover.planned.cut_over_groups import unread_is_held
from kafka_dr.failover.planned.stop_flow import target_is_shut
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.transitions import handed_over
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.record import standing_facts
from kafka_dr.runs.run import Run

intent = planned.intent
prove = planned.prove


def check(run: Run) -> Sequence[Check]:
    """Until the hand-over: the flow is still fenced, and the target's log has not grown since.

    That the target has deleted what a group has not read is said, and stops nobody: there is no other copy to open.
    """
    if run.request.dry_run or (run.register_state is not None and run.register_state.phase is Phase.HANDED_OVER):
        return ()
    run.fact("translations")
    shut, held = parallel.at_once(lambda: target_is_shut(run), lambda: unread_is_held(run))
    return (*shut, held if held.passes else replace(held, outcome="excused"))


def act(run: Run) -> Mapping[str, Any]:
    """Hand over in the target's register, copy the record to the source if it answers, and lift the target's fence.

    Of a group with several standbys most registers have to hold it first: another run may have won them meanwhile.
    """
    state = run.record()
    if state.phase is Phase.SWITCHING:
        state = run.advance(handed_over(state, run=run.request.run, at=run.clock.now()))
    copy_to_source(run, state)
    planned.tell_most(run, state, first=next((name for name in state.standbys if name != run.source), None))
    opened_at = planned.lift_fence(run)
    return {**standing_facts(state), "handed_over_at": state.at, "opened_at": opened_at}


def copy_to_source(run: Run, state: RegisterState) -> BackgroundCall[RegisterState]:
    """Copy a record to the source's register in the background, if the source answers."""

    def copy() -> RegisterState:
        run.clients.require_declared(run.source)
        return run.clients.register(run.source).copy(state)

    return BackgroundCall(run.source, copy)
