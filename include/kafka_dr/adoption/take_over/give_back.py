"""Give back what a take over has changed: the existing replication copies again as it did, and nothing is fenced.

The register decides whether that is possible. The compare-and-set comes first, with a higher epoch: only its winner
changes anything, so a group is never adopted and given back. Then this project's flow is stopped and removed,
and only after that the existing replication may write again: the two never copy at the same time.

If this project's flow has copied records, the existing replication has to continue after them. If it takes positions,
it gets them, whatever its owner has made of it meanwhile; if not, it copies these records a second time, and how many
is said. If somebody has deleted it, the rest is undone all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kafka_dr.adoption.handing_back import denies_lifted, hand_over, let_run, lift_all, runs_again
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.clusters import TopicPartition
from kafka_dr.named_rows import positions_from_json, positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed
from kafka_dr.register.taken_over import EXISTING
from kafka_dr.register.transitions import given_back
from kafka_dr.replication.existing.port import stored_status
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepOutcome, StepRecord, shortfall
from kafka_dr.runs.register_guard import RegisterGuard, Unchanged
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.runs.signs_of_life import showing_life
from kafka_dr.runs.undoing import carry_out_undoing, take_back

#: The name of the fact: what this project's flow had copied when it was stopped.
FLOW_ENDED = "flow_ended"


def give_back(request: RunRequest, clients: Clients) -> StepRecord:
    """Undo a take over, if the group is not adopted yet.

    :raises StepFailed: the group is adopted, or a cluster, or what runs the flow, did not answer; then run it again
    """
    return carry_out_undoing(request, clients, _go)


def intent(run: Run, state: RegisterState) -> Iterator[str]:
    """Say what giving back means."""
    if state.verb != "roll_back":
        yield f"write to the register that {state.group} is not adopted (epoch {state.epoch + 1})"
    yield f"stop and remove {run.flow.name}; hand its positions over where the existing replication takes them"
    yield f"lift the DENYs that this project added on {run.source} and {run.target}"
    yield "let the existing replication run as it did before"


def _go(run: Run, attempt: Attempt) -> tuple[StepOutcome, str]:
    state = _take_back(run)
    if state is None or state.run != run.request.run:
        return "done", f"run {run.request.run} does not hold {run.group.name} in the register: there is nothing to undo"
    if state.verb != "roll_back":
        return (
            "refused",
            f"{run.group.name} is {state.phase} with {state.active} active: it is adopted, so this run can only be "
            "finished. un-adopt releases it",
        )
    with showing_life(run.clients, state, "roll_back"):
        attempt.facts = _undo(run, state)
        attempt.proofs = _proofs(run)
    said = f"{run.group.name} is not adopted (epoch {state.epoch}), and what copied it before copies it again"
    return shortfall(attempt.proofs, failed="failed") or ("done", said)


def _take_back(run: Run) -> RegisterState | None:
    name = run.clients.executor.name
    return take_back(
        run,
        Phase.ADOPTING,
        undone=lambda state: given_back(state, run=run.request.run, at=run.clock.now(), executor=name),
        taken=lambda _: run.take(),
        again="this",
    )


def _undo(run: Run, state: RegisterState) -> Mapping[str, Any]:
    guard = run.guard_by(state.active, Unchanged(state))
    run.clients.register(state.standby).copy(state)
    copied = _end_flow(run, guard)
    handed = _hand_over(run, guard, copied)
    lifted = {cluster: lift_all(run, cluster, guard) for cluster in (state.standby, state.active)}
    resumed = _resume(run, guard)
    return {"epoch": state.epoch, **handed, "denies_lifted": sum(lifted.values()), "existing": resumed}


def _end_flow(run: Run, guard: RegisterGuard) -> dict[TopicPartition, int]:
    """Stop this project's flow, journal what it had copied, and remove it; return its positions.

    A flow that is only stopped could be started by anybody, next to the existing replication.
    """
    facts = run.clients.register(run.source).facts(run.group.name, run.request.run)
    if FLOW_SEED not in facts:
        return {}
    replicator = run.clients.replicator(run.flow)
    if FLOW_ENDED not in facts:
        positions: dict[TopicPartition, int] = {}
        if replicator.status().state != "absent":
            guard.require()
            replicator.stop()
            replicator.wait_stopped(run.group.timing.step_deadline_seconds)
            guard.require()
            run.operator(run.target).transactions.take_over(replicator.transactional_ids())
            found = replicator.where()
            positions = (
                dict(found.next_to_read) if found.seed_epoch == FlowSeed.from_json(facts[FLOW_SEED]).epoch else {}
            )
        run.write_fact(FLOW_ENDED, {"positions": positions_to_json(positions)})
    guard.require()
    replicator.remove()
    return positions_from_json(run.own_fact(FLOW_ENDED)["positions"])


def _hand_over(run: Run, guard: RegisterGuard, copied: Mapping[TopicPartition, int]) -> dict[str, Any]:
    """Let the existing replication continue after what this project's flow has copied.

    :param copied: next to read of that flow, by partition
    """
    facts = run.clients.register(run.source).facts(run.group.name, run.request.run)
    if FLOW_SEED not in facts or EXISTING not in facts:
        return {"copied_here": 0}
    begun = FlowSeed.from_json(facts[FLOW_SEED]).on_source
    ahead = {p: offset for p, offset in copied.items() if offset > begun.get(p, 0)}
    count = sum(offset - begun.get(p, 0) for p, offset in ahead.items())
    if not ahead:
        return {"copied_here": 0}
    found = hand_over(
        run, guard, TakeOverContext(run).existing, {p: max(offset, begun.get(p, 0)) for p, offset in copied.items()}
    )
    if found.because:
        return {"copied_here": count, "copied_twice_at_most": count, "because": found.because}
    return {"copied_here": count, "handed_over": found.positions, "uncopied": list(found.uncopied)}


def _resume(run: Run, guard: RegisterGuard) -> str:
    """Let the existing replication do what it did before; say what it does."""
    facts = run.clients.register(run.source).facts(run.group.name, run.request.run)
    if EXISTING not in facts:
        return "it was not stopped"
    return let_run(run, guard, TakeOverContext(run).existing, stored_status(facts[EXISTING]["status"]))


def _proofs(run: Run) -> tuple[Check, ...]:
    """None of this project's DENYs is left, and its flow is gone."""
    gone = run.clients.replicator(run.flow).setup() is None
    return (
        denies_lifted(run),
        Check.that("flow_is_gone", gone, f"{run.flow.name} {'does not exist' if gone else 'still exists'}"),
        _existing_runs(run),
    )


def _existing_runs(run: Run) -> Check:
    """Return what the existing replication does."""
    name = "existing_runs_again"
    facts = run.clients.register(run.source).facts(run.group.name, run.request.run)
    if EXISTING not in facts:
        return Check(name, "ok", "it was not stopped")
    return runs_again(name, TakeOverContext(run).existing, stored_status(facts[EXISTING]["status"]))
