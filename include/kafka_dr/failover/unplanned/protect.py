"""Settle the register, as honestly as it stands: stable, diverged where something was left behind, or unfenced.

The source is tried once more. Only one that was fenced and drained is replicated to at once; else the flow back waits
for a failback, and nobody starts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.errors import KafkaDrError, NeedsPerson
from kafka_dr.failover.record import Check, standing_facts
from kafka_dr.failover.run import Run
from kafka_dr.failover.steps import protect as planned
from kafka_dr.failover.steps.stop_flow import replicator_refused
from kafka_dr.failover.unplanned import source
from kafka_dr.failover.unplanned.fence import ask_to_stop
from kafka_dr.failover.unplanned.open_target import tell_source
from kafka_dr.failover.unplanned.source import SourceSide
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.transitions import left_behind, settled

#: How long Connect, and the source's register, are given before the report says that they did not answer.
_SECONDS = 3.0


def check(run: Run) -> Sequence[Check]:
    """Nothing besides the register, which the runner has asked."""
    return ()


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (
        f"try once more to fence {run.source}, for at most {source.FENCE_SECONDS:g} s",
        f"settle the register: stable if {run.source} was fenced and drained, else diverged or unfenced, active on "
        f"{run.target}",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Find out how the source is left, journal the seed of the way back, and settle."""
    state = run.standing
    if state is None:
        raise NeedsPerson(f"no register has a record of {run.group.name} any more")
    side = _side(run, state)
    run.write_fact("source_side", side.to_json())
    seed = _seed(run, state, held=not side.drained)
    run.write_fact("flow_seed", seed)
    pending = planned.turn_round(run, state) if side.drained else "held until a failback"
    if state.phase is Phase.HANDED_OVER:
        before, at = state, run.clock.now()
        run_id = run.request.run
        state = (
            settled(state, run=run_id, at=at)
            if side.drained
            else left_behind(state, run=run_id, fenced=side.fenced, at=at)
        )
        run.world.register(run.target).compare_and_set(before, state)
    return {
        **standing_facts(state),
        "source_side": side.to_json(),
        "seed": seed,
        "settled_at": state.at,
        "flow_pending": pending,
        "old_flow": _old_flow(run),
        "source_register": _told(run, state),
    }


def prove(run: Run) -> Sequence[Check]:
    """The register says how it stands, and the flow that was left can write nothing."""
    state = run.world.register(run.target).read(run.group.name)
    ended = state is not None and state.active == run.target and state.phase is not Phase.HANDED_OVER
    said = f"{run.target}'s register says {state.phase if state else None}, active on {state.active if state else None}"
    return (Check.that("register_settled", ended, said), replicator_refused(run))


def _side(run: Run, state: RegisterState) -> SourceSide:
    """Return how the source is left; what was proven before holds, unless something was written since."""
    before = SourceSide.of(run.journal)
    if state.phase is not Phase.HANDED_OVER:
        return SourceSide(state.phase is not Phase.UNFENCED, state.phase is Phase.STABLE, before.detail)
    fenced, said = source.fence_late(run, state.phase)
    if before.drained:
        still = source.stands_still(run)
        return SourceSide(True, still, before.detail if still else f"{run.source} was written to after it was drained")
    if fenced:
        return SourceSide(True, False, f"{before.detail}; it was fenced late: {said}" if not before.fenced else said)
    return SourceSide(before.fenced, False, f"{before.detail}; {said}")


def _seed(run: Run, state: RegisterState, *, held: bool) -> dict[str, Any]:
    """Return where the way back begins; where the source's own ends are not known, a failback finds them out."""
    ends = run.journal.get("drained", {}).get("source_ends", [])
    seed: dict[str, Any] = {
        "epoch": state.epoch,
        "source": run.target,
        "target": run.source,
        "source_positions": run.fact("target_ends")["ends"],
        "target_positions": [] if held else ends,
    }
    return seed | {"held": True} if held else seed


def _old_flow(run: Run) -> str:
    """Say what became of the connector that was left: it can write nothing, but it is not gone before it is stopped."""
    stop = ask_to_stop(run)
    try:
        stop.within(_SECONDS)
        status = run.world.replicator(run.flow).status()
    except KafkaDrError as error:
        return f"asked to stop, and Connect has not answered: {error}"
    return f"{run.flow.connector} is {status.state} with {status.tasks} tasks"


def _told(run: Run, state: RegisterState) -> str:
    try:
        tell_source(run, state).within(_SECONDS)
    except KafkaDrError as error:
        return f"{run.source} does not know yet: {error}"
    return f"{run.source} knows"
