"""Makes a group's flows match the register, and checks that each makes progress."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import datetime

from kafka_dr.checks.record_limits import records_fit
from kafka_dr.checks.route_ahead import require_not_ahead
from kafka_dr.clusters import Acl
from kafka_dr.clusters.held_back import END_IT, HeldBackLook
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import Refused
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import lacking
from kafka_dr.register import RegisterState
from kafka_dr.register.flow_seed import FlowSeed, fact_of_from_standby, newest_seed, newest_seed_of
from kafka_dr.register.port import History
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.moving import Moving, data_ends, flow_moves_in_turns
from kafka_dr.runs.at_rest import WatchResult, at_rest, of_each_standby
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.fenced_topics import TopicsToCopy, topics_to_copy
from kafka_dr.runs.flows_of_standby import flows_of, may_run
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few
from kafka_dr.runs.register_guard import RegisterGuard, Unchanged
from kafka_dr.runs.uncopyable_records import why_it_stops
from kafka_dr.waiting import wait_until
from kafka_dr.watch.after_fetch import seed_after_fetch
from kafka_dr.watch.copied_topics import with_same_topics
from kafka_dr.watch.flow_plan import FlowAction, FlowChange, ObservedFlow, plan_flows
from kafka_dr.watch.pending_standbys import (
    NeedsFailback,
    is_pending,
    now_a_copy,
    now_diverged,
    require_nothing_fetched,
    seed_pending,
)
from kafka_dr.watch_results import CALM, FLOW, STANDBYS, WatchOutcome

#: The fact that no flow may continue on a standby before a failback.
_GIVEN_UP = "given_up"
_LOOK_SECONDS = 1.0
#: How long a flow that was just started may show no progress.
_START_SECONDS = 20.0
#: How long a partition may wait to be copied while others advance.
_TURN_SECONDS = 20.0
#: How many topics one sentence names.
_MOST_NAMED = 5
_OUTCOMES: dict[str, WatchOutcome] = {
    "moves": "ok",
    "idle": "ok",
    "waits": "ok",
    "stuck": "failed",
    "unknown": "unknown",
}


def reconcile_flows(group: str, clients: Clients) -> WatchResult:
    """Make the flows of a group that no run holds match the register, and check that each makes progress.

    :raises NeedsPerson: the registers contradict each other, or the one that decides cannot be read
    :raises TryAgain: a cluster, or what runs a flow, does not answer
    """
    context = GroupContext(group, clients)
    state = at_rest(group, context.read_register_state())
    if isinstance(state, WatchResult):
        return state

    require_not_ahead(context, state)
    seen = state
    found = of_each_standby(seen, lambda standby: _reconciled(context, seen, standby))
    for standby, changed in _changed(seen, found):
        state = changed(context, state, standby)
    return found


def _changed(
    state: RegisterState, found: WatchResult
) -> Iterator[tuple[str, Callable[[GroupContext, RegisterState, str], RegisterState]]]:
    """Yield the standbys that waited for a flow which runs now, or which may get none, and what to write of each."""
    for row in found.facts.get(STANDBYS, ()):
        if row.get(_GIVEN_UP):
            yield row["standby"], now_diverged
        elif is_pending(state, row["standby"]) and row["outcome"] in CALM:
            yield row["standby"], now_a_copy


def _reconciled(context: GroupContext, state: RegisterState, standby: str) -> WatchResult:
    """Do so; a standby that only a failback can make a copy again is left alone."""
    try:
        return _made_right(context, state, standby)
    except NeedsFailback as error:
        return WatchResult(state.group, "failed", (str(error),), {_GIVEN_UP: True})


def _made_right(context: GroupContext, state: RegisterState, standby: str) -> WatchResult:
    """Make the flow to a standby what it should be, and judge it."""
    group, wanted_flow = state.group, context.flow_between(state.active, standby)
    # A smaller list of topics would end the copying of those that are left out.
    context.look_for_topics(state.active, standby)
    guard = context.guard_by_all(Unchanged(state))
    flows = [flow for flow in flows_of(state, standby) if context.owns_flow(flow)]
    if not context.owns_flow(wanted_flow):
        if not flows:
            return WatchResult(group, "ok", (f"{wanted_flow.name} belongs to {wanted_flow.group}",))
        wanted_flow = flows[0]
    pending = is_pending(state, standby)
    history = (
        {} if pending and not context.declared.renames_copies else context.clients.register(state.active).history(group)
    )
    seed = seed_pending(context, state, standby) if pending else _seed_of(history, state, standby, wanted_flow)
    require_nothing_fetched(context, state, standby, seed)
    observed = [_observe(context, flow, state) for flow in flows]
    seeds = {wanted_flow: seed}
    if context.declared.renames_copies:
        seeds |= _seeds_of_others(history, state, wanted_flow, flows)
        seeds = {flow: _after_fetch(context, state, flow, each, guard) for flow, each in seeds.items()}
    seed, also = seeds[wanted_flow], {flow: each for flow, each in seeds.items() if flow != wanted_flow}
    planned = plan_flows(state, wanted_flow, observed, seed, also)
    said = [f"{standby} is copied from {state.active} from now on, from where its copy ends"] if pending else []
    said += [] if planned.problem else _lift_flow_fences(context, state, standby, tuple(seeds), guard)
    for change in planned.changes:
        if change.action is not FlowAction.LEAVE:
            guard.require()
            _carry_out(context, change, seeds.get(change.flow), state)
        said.append(str(change))
    left_out = _copied(context, wanted_flow, state)
    said += _sentences(left_out, wanted_flow)
    wanted = next(found for found in observed if found.flow == wanted_flow)
    # First what a person has to do.
    said = [*filter(None, (why_it_stops(context, wanted.flow, wanted.status), _too_large(context, state))), *said]
    named = {FLOW: f"{wanted_flow.source}-to-{wanted_flow.target}"}
    if planned.problem:
        return WatchResult(group, "failed", tuple(said), named)
    moving = _progress(context, wanted_flow, patience=_START_SECONDS if planned.acts else 0.0)
    outcome = "failed" if left_out.filled else _OUTCOMES[moving.verdict]
    found = WatchResult(group, outcome, (*said, f"{wanted_flow} {moving.verdict}: {moving.detail}"), named)
    return with_same_topics(context, state, standby, found) if wanted_flow.source == state.active else found


def _seed_of(history: History, state: RegisterState, standby: str, wanted: Flow) -> FlowSeed | None:
    """Return the newest seed from or to a standby; of a flow from another cluster than the active one, its own."""
    if wanted.source == state.active:
        return newest_seed(history, state, standby)
    return newest_seed_of(history, wanted.source, wanted.target)


def _seeds_of_others(
    history: History, state: RegisterState, wanted: Flow, flows: Collection[Flow]
) -> dict[Flow, FlowSeed | None]:
    """Return the newest seeds of the other flows that run because copies have names of their own.

    A run that moves the group changes none of these seeds.

    :param flows: those of the group that concern the standby
    """
    others = (flow for flow in flows if flow != wanted and may_run(state, flow, both_ways=True))
    return {flow: newest_seed_of(history, flow.source, flow.target) for flow in others}


def _after_fetch(
    context: GroupContext, state: RegisterState, flow: Flow, seed: FlowSeed | None, guard: RegisterGuard
) -> FlowSeed | None:
    """Return the seed of a flow; a new one, which is journaled, if something was fetched to its copies."""
    if seed is None or not state.has_several or (seed.source, seed.target) != (flow.source, flow.target):
        return seed
    guard.require()
    after = seed_after_fetch(context, flow, seed, epoch=state.epoch)
    if after is None:
        return seed
    guard.require()
    fact = fact_of_from_standby(flow.source, flow.target)
    # The active cluster's register comes last: what it holds of this, the others hold.
    for cluster in (*state.standbys, state.active):
        if cluster not in context.known_silent:
            context.clients.register(cluster).write_fact(state.group, state.run, fact, after.to_json())
    return after


def _observe(context: GroupContext, flow: Flow, state: RegisterState) -> ObservedFlow:
    replicator = context.clients.replicator(flow)
    status = replicator.status()
    if status.state == "absent":
        return ObservedFlow(flow, status)
    differing = context.clients.replicator(flow, group=_copied(context, flow, state).group).differing()
    return ObservedFlow(flow, status, replicator.where().seed_epoch, differing)


def _copied(context: GroupContext, flow: Flow, state: RegisterState) -> TopicsToCopy:
    """Return which topics a flow copies and which not, as it is set up now."""
    setup = context.clients.replicator(flow).setup() if context.group.topic_patterns else None
    return topics_to_copy(context, flow, state, setup.matched if setup else ())


def _too_large(context: GroupContext, state: RegisterState) -> str:
    """Name topics whose records may be too large for a flow; empty if there are none."""
    found = records_fit(context, state.active)
    return found.detail if found.outcome == "warning" else ""


def _sentences(found: TopicsToCopy, flow: Flow) -> list[str]:
    """Name the topics that are not copied, and why."""
    said = []
    if found.unfenced:
        named = ", ".join(first_few(found.unfenced, _MOST_NAMED))
        many = counted(len(found.unfenced), "topic that patterns match is", "topics that patterns match are")
        said.append(f"{many} not copied before dr_health has fenced them: {named}")
    if found.filled:
        named = ", ".join(first_few(found.filled, _MOST_NAMED))
        one = "topic that patterns match is not copied, because it holds"
        several = "topics that patterns match are not copied, because they hold"
        said.append(
            f"{counted(len(found.filled), one, several)} records on "
            f"{flow.target} that {flow.name} has not copied, perhaps copies by the replication that was taken "
            f"over: {named}. Copied from their start they would be there twice. If nobody needs what {flow.target} "
            "holds of them, delete them there; dr_flows then copies them"
        )
    return said


def _lift_flow_fences(
    context: GroupContext, state: RegisterState, standby: str, flows: Collection[Flow], guard: RegisterGuard
) -> list[str]:
    """Lift the replicator's DENY on a standby that did not answer when it became the standby.

    :param flows: those that may run to the standby, and from it
    """
    fences = {flow: plan.fence_of_flow(context.group, flow.source, flow.target) for flow in flows}
    unwanted = frozenset[Acl]().union(*(fence for flow, fence in fences.items() if flow.target == standby))
    late = frozenset[Acl]().union(*(fence for flow, fence in fences.items() if flow.target != standby))
    fenced = late and late & context.rules_in_force(state.active)
    lifted = context.acl_changes(state.active, guard).lift(late) if fenced else ()
    said = [f"let {context.flow_between(standby, state.active).name} write its copies"] if lifted else []
    found = context.rules_in_force(standby)
    if not unwanted & found:
        return said
    if missing := lacking(plan.work_denies(context.group.on(standby)) | context.kept_out(state, standby), found):
        raise Refused(
            f"{standby} lacks {len(missing)} DENYs of a standby, so no flow may write there: dr_health adds them"
        )
    if context.acl_changes(standby, guard).lift(unwanted):
        said.append(f"lifted the DENYs of {context.group.replicator_principal} on {standby}, the standby")
    return said


def _carry_out(context: GroupContext, change: FlowChange, seed: FlowSeed | None, state: RegisterState) -> None:
    replicator = context.clients.replicator(change.flow, group=_copied(context, change.flow, state).group)
    seconds = context.group.timing.step_deadline_seconds
    match change.action:
        case FlowAction.STOP:
            replicator.stop()
            replicator.wait_stopped(seconds)
        case FlowAction.CREATE | FlowAction.UPDATE:
            replicator.ensure(stopped=True)
        case FlowAction.SEED if seed is not None:
            replicator.wait_stopped(seconds)
            # The positions of a flow that somebody removed are kept: if it were seeded again, it would copy twice.
            if replicator.where().seed_epoch != seed.epoch:
                replicator.seed(seed.on_source, epoch=seed.epoch)
        case FlowAction.RESUME:
            replicator.resume()
        case FlowAction.RESTART:
            replicator.restart_failed()


def with_held_back(moving: Moving, held: HeldBackLook, now: datetime, *, limit: float) -> Moving:
    """Add what open transactions hold back, which no flow may copy; an acknowledged record may not wait for too long.

    :param limit: for how many seconds
    """
    if not held.sentence:
        return moving
    if moving.verdict in ("stuck", "unknown"):
        return Moving(moving.verdict, f"{moving.detail}; {held.sentence}")
    more = "" if moving.verdict == "idle" else f". What is not held back {moving.verdict}: {moving.detail}"
    if (held.acknowledged or held.not_read) and ((age := held.age_seconds(now)) is None or age > limit):
        waited = "for an unknown time" if age is None else f"for up to {duration(age)}"
        todo = f"{duration(limit)} are allowed (thresholds.max_lag_seconds): {END_IT}"
        return Moving("stuck" if age is not None else "unknown", f"{held.sentence}, {waited}; {todo}{more}")
    return Moving("waits", f"{held.sentence}; they are copied when it ends{more}")


def _progress(context: GroupContext, flow: Flow, *, patience: float) -> Moving:
    """Judge the flow by its progress between two reads; right after a start, by the first reads that show some."""
    clock, source, replicator = context.clock, context.operator(flow.source), context.clients.replicator(flow)

    def moving() -> Moving:
        before = replicator.positions()
        held = source.held_back.look(context.partitions(flow.source))
        ends = data_ends(source, before, held.stable)
        clock.sleep(_LOOK_SECONDS)
        verdict = flow_moves_in_turns(
            before, replicator.positions, ends, clock=clock, seconds=_TURN_SECONDS, pause_seconds=_LOOK_SECONDS
        )
        status = replicator.status()
        if status.state != "running":
            verdict = Moving("stuck", f"{replicator.flow.name} is {status}")
        return with_held_back(verdict, held, clock.now(), limit=context.group.thresholds.max_lag_seconds)

    return wait_until(
        moving, lambda found: found.verdict not in ("stuck", "unknown"), clock=clock, seconds=patience, pause_seconds=0
    )
