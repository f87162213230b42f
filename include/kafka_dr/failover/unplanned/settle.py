"""Settle the register: stable, diverged if the source may hold stranded records, or unfenced.

The source is tried once more. Only if it was fenced and drained, the flow to it starts at once. Else a failback starts
it later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr.checks.returned_cluster import count_on_returned
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned import start_reverse_flow as planned
from kafka_dr.failover.planned.stop_flow import replicator_refused
from kafka_dr.failover.unplanned import reachable_source
from kafka_dr.failover.unplanned.old_flow import stop_old_flow
from kafka_dr.failover.unplanned.open_target import copy_to_source
from kafka_dr.failover.unplanned.reachable_source import SourceState
from kafka_dr.group_offsets.transfers import PositionTransfer
from kafka_dr.named_rows import positions_from_json, positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.abandonment import LEFT_WITH_COPIES
from kafka_dr.register.flow_seed import FLOW_SEED
from kafka_dr.register.transitions import settled, without_source
from kafka_dr.runs import background
from kafka_dr.runs.acls_kept_elsewhere import KeptElsewhere
from kafka_dr.runs.run import Run
from kafka_dr.runs.settle import register_settled, settle, settled_facts
from kafka_dr.runs.start_flow import seed_of

#: How long the source's register may take, in seconds, before the report says that it did not answer.
_SECONDS = 3.0


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (
        f"try once more to fence {run.source}, for at most "
        f"{duration(reachable_source.FENCE_SECONDS + run.rules_need_seconds(run.source))}",
        f"settle the register: stable if {run.source} was fenced and drained, else diverged or unfenced, active on "
        f"{run.target}",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Find out whether the source is fenced and drained, journal the seed of the flow to it, and settle."""
    state = run.record()
    source_state = _source_state(run, state)
    run.write_fact("source_side", source_state.to_json())
    begun = _reverse(run, state, source_state) if run.opens_copy else _left(run, state)

    def ended(held: RegisterState) -> RegisterState:
        run_id, at = run.request.run, run.clock.now()
        if source_state.drained:
            return settled(held, run=run_id, at=at)
        return without_source(held, run=run_id, fenced=source_state.fenced, at=at)

    state = settle(run, ended)
    old_flow = stop_old_flow(run)
    run.write_fact("old_flow", old_flow.to_json())
    return {
        **settled_facts(state),
        "source_side": source_state.to_json(),
        **begun,
        "returned": run.journal.get("returned"),
        "old_flow": old_flow.to_json(),
        "source_register": _copied_to_source(run, state),
    }


def _left(run: Run, state: RegisterState) -> dict[str, Any]:
    """Journal where the copies of each lost cluster ended: what it holds beyond that arrives late, once approved."""
    found = positions_from_json(run.fact("target_ends")["ends"])
    for lost in (run.source, *(name for name in state.roles.given_up if name != run.source)):
        copies = PositionTransfer(lost, on_target=run.group.naming(lost, run.target))
        ends = positions_to_json(copies.of_target(found, run.group.owns_topic))
        left = {"epoch": state.epoch, "old": lost, "new": run.target, "new_ends": ends}
        run.write_fact(LEFT_WITH_COPIES if lost == run.source else f"{LEFT_WITH_COPIES}.{lost}", left)
    return {"flow_pending": "held until a failback"}


def _reverse(run: Run, state: RegisterState, source_state: SourceState) -> dict[str, Any]:
    """Journal where the flow to the source begins, and start it if the source is drained."""
    seed = _seed(run, state, held=not source_state.drained)
    run.write_fact(FLOW_SEED, seed)
    pending = planned.try_reverse_flow(run, state) if source_state.drained else "held until a failback"
    return {"seed": seed, "flow_pending": pending}


def prove(run: Run) -> Sequence[Check]:
    """The register is settled, and the old flow cannot write."""
    return (register_settled(run, Phase.STABLE, Phase.DIVERGED, Phase.UNFENCED), replicator_refused(run))


def _source_state(run: Run, state: RegisterState) -> SourceState:
    """Return whether the source is fenced and drained; an earlier proof counts unless it was written to since."""
    before = SourceState.of(run.journal)
    if state.phase is not Phase.HANDED_OVER:
        left = state.run_phase
        return SourceState(left is not Phase.UNFENCED, left is Phase.STABLE, before.detail)
    late = reachable_source.fence_once_more(run, state.phase)
    if before.drained and late.outcome != "failed":
        # The fence was proven, and was not seen open since, whatever was written before.
        return replace(reachable_source.seen_again(run, before), fenced=True)
    if late.outcome == "ok":
        return SourceState(True, False, before.detail) if before.fenced else _fenced_late(run, before, late)
    # An earlier proof counts while the source is silent. If it is seen to accept writes, it counts as unfenced.
    return SourceState(before.fenced and late.outcome == "unknown", False, f"{before.detail}; {late.detail}")


def _fenced_late(run: Run, before: SourceState, late: Check) -> SourceState:
    """Count and journal what a source accepted that answered only after the hand-over.

    Until that is counted the source counts as unfenced, and ``dr_health`` counts later.
    """
    fenced_at = run.clock.now()
    try:
        found = background.ask(
            f"what {run.source} accepted",
            lambda: count_on_returned(run, run.source, run.journal),
            seconds=reachable_source.FENCE_SECONDS,
        )
    except KafkaDrError as error:
        uncounted = (
            "it refuses writes now, but the records it accepted are not counted yet; dr_health will count them: "
            f"{error}"
        )
        return SourceState(False, False, f"{before.detail}; {uncounted}")
    run.write_fact("returned", found.fact(run.source, fenced_at=fenced_at))
    return SourceState(True, False, f"{before.detail}; it was fenced late: {late.detail}; {found.sentence}")


def _seed(run: Run, state: RegisterState, *, held: bool) -> dict[str, Any]:
    """Return the seed of the flow to the source; if the source's log ends are unknown, a failback finds them."""
    new_ends = positions_from_json(run.fact("target_ends")["ends"])
    old_ends = {} if held else positions_from_json(run.journal.get("drained", {}).get("source_ends", ()))
    seed = seed_of(run, run.flow_back, epoch=state.epoch, on_source=new_ends, on_target=old_ends)
    return replace(seed, held=held).to_json()


def _copied_to_source(run: Run, state: RegisterState) -> str:
    try:
        copy_to_source(run, state).within(_SECONDS)
        own, decides = run.clients.register(run.source), run.clients.register(run.target)
        kept = KeptElsewhere(run.group.name, run.source, own, decides)
        background.ask(f"the list of what was added to {run.source}", kept.catch_up, seconds=_SECONDS)
    except KafkaDrError as error:
        return f"the register of {run.source} does not hold the new record yet: {error}"
    return f"the register of {run.source} holds the new record"
