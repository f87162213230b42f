"""Start replication to the old cluster, from the offsets at which both logs are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.failback.context import FailbackContext
from kafka_dr.failback.late import positions_after
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import lacking
from kafka_dr.named_rows import positions_from_json
from kafka_dr.outcomes import Check
from kafka_dr.positions import TopicPartition
from kafka_dr.register.abandonment import OLD_CLUSTER_PREPARED
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed, fact_of_from_standby, newest_seed_of
from kafka_dr.register.state import RegisterState
from kafka_dr.replication.replicator import Replicator
from kafka_dr.runs.run import Run
from kafka_dr.runs.start_flow import begin, seed_of
from kafka_dr.watch.after_fetch import seed_after_fetch


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    context = FailbackContext(run)
    if context.mode == "deliver":
        return (
            f"let {run.flow_back.name} write to its copies on {run.source}, and start both flows where they ended"
            + (f"; it passes over {', '.join(map(str, context.passed_over))}" if context.passed_over else ""),
        )
    others = context.other_flows
    where = (
        "from the start"
        if context.mode == "rebuild"
        else f"at the log ends of {run.source} that run {context.failover.run} journaled"
    )
    stopped = f"{' and '.join(flow.name for flow in others)} {'is' if len(others) == 1 else 'are'} stopped"
    return (
        f"see that {stopped}, lift the DENY of {run.group.replicator_principal} on "
        f"{run.target}, and start {run.flow.name} {where}",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Journal the seed, stop the old flow, lift the replicator's DENY, seed and start the new flow."""
    context, state = FailbackContext(run), run.register_state
    if state is None:
        raise Refused(f"no register has a record of {run.group.name} any more: compare the registers of both clusters")
    missing = lacking(plan.work_denies(run.group.on(run.target)), run.rules_in_force(run.target))
    if missing:
        raise Refused(
            f"{len(missing)} DENYs of a standby are missing on {run.target}, so no flow may write there. Run "
            "dr_health, which adds them, then run the step again"
        )
    return _continue_both(context) if context.mode == "deliver" else _begin(context, state)


def _continue_both(context: FailbackContext) -> Mapping[str, Any]:
    """Start both flows where they ended; what only the old cluster holds arrives late, or is passed over."""
    run, seconds = context.run, context.run.group.timing.step_deadline_seconds
    flows = (run.flow_back, *context.own_flow)
    for flow in flows:
        replicator = run.clients.replicator(flow)
        replicator.ensure(stopped=True)
        if replicator.where().seed_epoch is None:
            raise Refused(
                f"{flow.name} has lost its positions, so it would copy everything a second time: find out who removed "
                "them, and abandon this run with dr_resume"
            )
        _continue_after_fetched(context, replicator)
        if flow == run.flow_back:
            _pass_over(context, replicator)
        run.acl_changes(flow.target, context.guard()).lift(plan.copy_flow_fence(run.group, flow.source, flow.target))
        context.guard().require()
        replicator.resume()
        if replicator.status().state == "failed":
            replicator.restart_failed()
        replicator.wait_running(seconds)
    return {"flows": [flow.name for flow in flows]}


def _continue_after_fetched(context: FailbackContext, replicator: Replicator) -> None:
    """Let a flow continue after what was fetched of its copies from another standby."""
    run, flow, state = context.run, replicator.flow, context.run.record()
    seed = newest_seed_of(run.history, flow.source, flow.target)
    if seed is None or not state.has_several:
        return
    context.guard().require()
    seed = seed_after_fetch(run, flow, seed, epoch=state.epoch) or seed
    if seed.alone:
        _journal_everywhere(run, fact_of_from_standby(flow.source, flow.target), seed)
    if seed.epoch > (replicator.where().seed_epoch or seed.epoch):
        context.guard().require()
        replicator.stop()
        replicator.wait_stopped(run.group.timing.step_deadline_seconds)
        context.guard().require()
        replicator.seed(seed.on_source, epoch=seed.epoch)


def _journal_everywhere(run: Run, fact: str, seed: FlowSeed) -> None:
    """Journal a seed in each register, as any of these clusters may be active later; of those given up none is needed.

    It is done again by every attempt: another one may have died after the first register.
    """
    given_up = run.record().roles.given_up
    for cluster in run.group.clusters:
        if cluster not in (run.source, run.target, *given_up):
            run.clients.register(cluster).write_fact(run.group.name, run.request.run, fact, seed.to_json())
    run.write_fact(fact, seed.to_json())


def _pass_over(context: FailbackContext, replicator: Replicator) -> None:
    """Let the flow from the old cluster continue after what is not delivered; all other positions stay."""
    where = replicator.where()
    after = positions_after(context.passed_over, where.next_to_read)
    if not after or where.seed_epoch is None:
        return
    context.guard().require()
    replicator.stop()
    replicator.wait_stopped(context.run.group.timing.step_deadline_seconds)
    context.guard().require()
    replicator.seed({**where.next_to_read, **after}, epoch=where.seed_epoch)


def _begin(context: FailbackContext, state: RegisterState) -> Mapping[str, Any]:
    """Start the flow to the old cluster, and no other one."""
    run = context.run
    new_ends, old_ends = _ends(context)
    seed = seed_of(run, run.flow, epoch=state.epoch, on_source=new_ends, on_target=old_ends).to_json()
    run.write_fact(FLOW_SEED, seed)
    _stop_other_flows(run, context)
    begin(
        run,
        run.flow,
        lambda: new_ends,
        epoch=state.epoch,
        guard=context.guard(),
    )
    return {"seed": seed}


def prove(run: Run) -> Sequence[Check]:
    """The new flow runs. The old one is stopped and could not write. The standby refuses applications."""
    seconds = run.group.timing.protect_wait_seconds
    if not FailbackContext(run).own_flow:
        # Another group sees to that flow, and the next step waits until it has copied everything.
        status = run.clients.replicator(run.flow).status()
        started = Check("reverse_flow", "ok", f"{run.flow.name} belongs to {run.flow.group}, and is {status}")
    else:
        status = run.clients.replicator(run.flow).wait_running(seconds)
        started = Check.that("reverse_flow", status.state == "running", f"{run.flow.name} is {status}")
    if FailbackContext(run).mode == "deliver":
        late = run.clients.replicator(run.flow_back).wait_running(seconds)
        return (
            started,
            Check.that("late_records_flow", late.state == "running", f"{run.flow_back.name} is {late}"),
            run.writes_refused(run.source, by="replicator").named("replicator_refused"),
            run.writes_refused(run.target).named("old_cluster_refuses"),
        )
    others = {flow: run.clients.replicator(flow).status() for flow in FailbackContext(run).other_flows}
    denied = run.denies_present(run.source, plan.flow_fence(run.group.on(run.source)))
    refused = run.writes_refused(run.source, by="replicator") if denied.passes else denied
    return (
        started,
        Check.that(
            "no_loop",
            all(status.at_rest for status in others.values()),
            ", ".join(f"{flow.name} is {status}" for flow, status in others.items()),
        ),
        refused.named("replicator_refused"),
        run.writes_refused(run.target).named("old_cluster_refuses"),
    )


def _ends(context: FailbackContext) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Return where the flow begins on both clusters: after the quarantined ranges; for a rebuild empty: the start."""
    run = context.run
    if context.mode == "rebuild":
        return {}, {}
    ends = positions_from_json(run.fact(OLD_CLUSTER_PREPARED)["old_ends"])
    shared = context.failover.new_ends.keys() & ends.keys()
    return {p: context.failover.new_ends[p] for p in shared}, {p: ends[p] for p in shared}


def _stop_other_flows(run: Run, context: FailbackContext) -> None:
    for flow in context.other_flows:
        other = run.clients.replicator(flow)
        if other.status().at_rest:
            continue
        context.guard().require()
        other.stop()
        if other.wait_stopped(run.group.timing.step_deadline_seconds).state != "stopped":
            raise TryAgain(f"{flow} does not stop: look at {other.described}, then run the step again")
