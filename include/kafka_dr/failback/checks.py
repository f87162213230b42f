"""Everything that has to hold before a failback. Each check is named, and the name is part of the decision facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from kafka_dr.checks import authorizers, record_limits, register_checks
from kafka_dr.checks.cluster_checks import right_clusters, writers_declared
from kafka_dr.clusters import TopicPartition
from kafka_dr.counted import counted
from kafka_dr.errors import Refused
from kafka_dr.failback.context import FailbackContext, ends_of_old_cluster
from kafka_dr.failback.quarantine import ranges_of, reasons_against
from kafka_dr.fencing import plan
from kafka_dr.group_offsets import committed_positions, undeclared_readers
from kafka_dr.group_offsets.translation_basis import keeping_basis_of
from kafka_dr.offsets.translate.answers import TranslatedOffset
from kafka_dr.offsets.translate.pipeline import translate_committed
from kafka_dr.outcomes import Check, asked, worst
from kafka_dr.register.flow_seed import newest_seed_of
from kafka_dr.register.roles import Role
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.request import VERBS
from kafka_dr.runs.sealing import evidence_can_be_signed
from kafka_dr.waiting import wait_until
from kafka_dr.watch.after_fetch import seed_after_fetch
from kafka_dr.watch_results import NEEDS_REBUILD

Question = Callable[[FailbackContext], Check]


def failback_checks(context: FailbackContext) -> tuple[Check, ...]:
    """Ask every question; one that cannot be answered is unknown.

    If the group or the clusters are not the right ones, the other answers would mislead, so they are not asked for.
    """
    first = tuple(asked(name, partial(ask, context)) for name, ask in _FIRST)
    if worst(first) != "ok":
        return first
    return first + tuple(asked(name, partial(ask, context)) for name, ask in _QUESTIONS)


def _group_is_diverged(context: FailbackContext) -> Check:
    run, state = context.run, context.run.register_state
    phase = "not adopted" if state is None else f"{state.phase} with {state.active} active (epoch {state.epoch})"
    diverged = () if state is None else VERBS["failback"].standbys_for(state)
    if state is None or not diverged or state.roles.of(run.target) is Role.UNFENCED:
        hint = ". If it is unfenced: dr_health fences the old cluster as soon as that answers" if state else ""
        return Check.that("group_is_diverged", False, f"{run.group.name} is {phase}, expected diverged{hint}")
    right = run.source == state.active and run.target in diverged
    left = context.failover
    said = f"run {left.run} moved {run.group.name} from {run.target} to {run.source}"
    if not left.was_active:
        said = f"{run.target} holds records that {run.source} may lack, and is not copied since run {left.run}"
    wrong = (
        f"this run is about {run.source} as the active cluster and {run.target} as the old one, but in the register "
        f"{state.active} is active and {' and '.join(diverged)} is the old cluster. Trigger a new failback and leave "
        "the parameters source and target empty"
    )
    return Check.that("group_is_diverged", right, said if right else wrong)


def _old_cluster_refuses(context: FailbackContext) -> Check:
    run, wanted = context.run, plan.work_denies(context.run.group.on(context.run.target))
    present = run.denies_present(run.target, wanted)
    found = run.shut(run.target, wanted) if present.passes else present
    return found.named("old_cluster_refuses")


def list_is_approved(context: FailbackContext) -> Check:
    """Return whether the list is the approved one: a record that is not in it may be deleted, or is never published."""
    same = context.list_sha256 == context.run.fact("claim")["list_sha256"]
    said = f"the list of stranded records of {context.run.target} is the approved one"
    wrong = (
        f"the list of stranded records of {context.run.target} is not the one that was approved: abandon this run with "
        "dr_resume and trigger a new one"
    )
    return Check.that("list_is_approved", same, said if same else wrong)


def stranded_are_kept(context: FailbackContext) -> Check:
    """Every record that only the old cluster holds is kept in files, and nothing was written there since."""
    found, name = context.stranded, "stranded_are_kept"
    wrong = context.missing()
    kept = f"{found.sentence}; kept in {context.store.folder}{context.erased}"
    if not wrong and context.was_begun_before:
        return Check.that(name, True, kept, records=found.records)
    ids = {topic: each.topic_id for topic, each in context.run.topics(context.run.target).items()}
    if not wrong and ids != dict(found.topic_ids):
        wrong = f"topics on {found.old} have other ids than in the list of stranded records"
    if not wrong and (moved := ends_of_old_cluster(context).moved):
        wrong = f"the log ends of {', '.join(map(str, moved[:3]))} on {found.old} moved after the list was made"
    wrong = wrong or context.no_longer_elsewhere
    if wrong:
        return Check.that(name, False, f"{wrong}. Run the task stranded_records again")
    return Check.that(name, True, kept, records=found.records)


def _nothing_flows(context: FailbackContext) -> Check:
    """No flow runs: the old one would write to the active cluster, the new one is started by this run.

    What runs the flow to the old cluster starts that again if it comes back together with it; ``dr_health`` stops it.
    """
    run, flows = context.run, (*context.own_flow, *context.other_flows)

    def running() -> list[str]:
        states = {flow: run.clients.replicator(flow).status() for flow in flows}
        return [f"{flow.name} is {status}" for flow, status in states.items() if not status.at_rest]

    wrong = wait_until(running, lambda found: not found, clock=run.clock, seconds=context.patience_seconds)
    denied = run.denies_present(run.source, plan.fence_of_flow(run.group, run.target, run.source))
    if not denied.passes:
        wrong.append(f"{run.group.replicator_principal} is not denied on {run.source}: {denied.detail}")
    said = f"no flow runs, and {run.group.replicator_principal} is denied on {run.source}"
    corrected = f"{'; '.join(wrong)}. dr_health corrects that: see what it says, then trigger a new run"
    return Check.that("nothing_flows", not wrong, corrected if wrong else said)


def _quarantine_permits(context: FailbackContext) -> Check:
    """Return whether stranded records may stay where they are; a rebuild does not ask for that."""
    name, run = "quarantine_permits", context.run
    if context.mode != "quarantine":
        return Check(name, "ok", f"not needed for {context.mode}: no record stays where nobody copies it")
    found = context.stranded
    if not context.failover.was_active:
        lacks = f"{run.target} was not active when run {context.failover.run} opened {run.source}"
        return Check(name, "failed", f"{NEEDS_REBUILD}{lacks}, so where their logs part is not known")
    if context.was_begun_before:
        return Check(
            name,
            "failed",
            f"{NEEDS_REBUILD}an abandoned failback has already changed {run.target}",
        )
    ranges = ranges_of(found)
    compacted = set(found.compacted)
    starts = run.operator(run.target).topics.log_starts({each.topic_partition for each in ranges})
    reasons = reasons_against(
        found, ranges, compacted=compacted, positions=offsets_on_old_cluster(context), log_starts=starts
    )
    if reasons:
        return Check(name, "failed", f"{NEEDS_REBUILD}{'; '.join(reasons)}", {"reasons": reasons})
    shown = ", ".join(map(str, ranges[:5])) or "no offsets"
    return Check(name, "ok", f"quarantined on {run.target}: {shown}", {"ranges": [str(each) for each in ranges]})


def _flow_continues(context: FailbackContext) -> Check:
    """Return whether the flow from the old cluster would continue exactly where it ended, in the same topics."""
    run, name = context.run, "flow_continues"
    if context.mode != "deliver":
        return Check(name, "ok", f"not needed for {context.mode}: that flow ends")
    if context.passed_over and run.record().has_several:
        said = (
            f"late records of {context.passed_over[0].topic_partition} would be left out on {run.source} alone, "
            "because the flows to other standbys deliver them there: trigger a new run that delivers late records"
        )
        return Check(name, "failed", said)
    flow = run.flow_back
    try:
        positions = {p: at for p, at in _continues_at(context, flow).items() if run.group.owns_topic(p.topic)}
    except Refused as error:
        return Check(name, "failed", str(error))
    ends = run.operator(run.target).topics.high_watermarks(set(run.partitions(run.target)))
    listed = {TopicPartition(each.topic, each.partition): each.ranges for each in context.stranded.partitions}
    # What an abandoned failback has delivered or passed over the flow has left, and it is on the list all the same.
    begun = context.was_begun_before
    below = {p for p, ranges in listed.items() if ranges and not begun and ranges[0][0] < positions.get(p, 0)}
    beyond = sorted(below | {p for p, at in positions.items() if at > ends.get(p, -1)})
    copies = run.copies_by(flow).topics
    held = copies.high_watermarks(run.copied_by(flow))
    if lost := sorted(p for p, end in held.items() if end and p not in positions):
        said = (
            f"{flow.name} has no position in {', '.join(map(str, lost[:3]))}, and {run.source} holds copies of it, so "
            "the flow would copy it a second time: find out who removed its positions"
        )
        return Check(name, "failed", said)
    others = sorted(
        n for n, each in run.topic_ids(run.target).items() if context.stranded.topic_ids.get(n, each) != each
    )
    if beyond or others:
        shown = ", ".join([*map(str, beyond[:3]), *others[:3]])
        said = (
            f"{shown} on {run.target} is not the log that {flow.name} has read: it was cut or made again, and the flow "
            "would leave records out. Release the group with dr_un_adopt (own_flow), delete that flow and its copies "
            "of these topics, and adopt the group again"
        )
        return Check(name, "failed", said)
    return Check(name, "ok", f"{flow.name} continues where it ended in {counted(len(positions), 'partition')}")


def _continues_at(context: FailbackContext, flow: Flow) -> Mapping[TopicPartition, int]:
    """Return the positions from which a flow is going to continue: after what was fetched from another standby."""
    run = context.run
    seed = newest_seed_of(run.history, flow.source, flow.target) if run.record().has_several else None
    after = seed and seed_after_fetch(run, flow, seed, epoch=run.record().epoch, final=False)
    return after.on_source if after else run.clients.replicator(flow).positions()


def offsets_on_old_cluster(context: FailbackContext) -> list[TranslatedOffset]:
    """Return where groups would resume on the old cluster if they have not read past the failover.

    Groups that only the old cluster knows are included. An offset after the failover is past every quarantined range.
    """
    run, switched = context.run, context.failover.new_ends
    committed = run.operator(run.source).groups.offsets(run.moved_groups(run.source), require_stable=False)
    on_target = set(run.partitions(run.target))
    before = {
        group: {p: offset for p, offset in offsets.items() if p in on_target and offset < switched.get(p, 0)}
        for group, offsets in committed.items()
    }
    return [*translate_committed(keeping_basis_of(run), before), *committed_positions.stale_offsets(run, committed)]


_FIRST: tuple[tuple[str, Question], ...] = (
    ("group_is_diverged", _group_is_diverged),
    ("right_clusters", lambda context: right_clusters(context.run, (context.run.source, context.run.target))),
)
_QUESTIONS: tuple[tuple[str, Question], ...] = (
    ("old_cluster_refuses", _old_cluster_refuses),
    (authorizers.NAME, lambda context: authorizers.authorizers_as_declared(context.run, context.clusters)),
    ("writers_declared", lambda context: writers_declared(context.run, (context.run.target,))),
    (
        register_checks.WRITERS,
        lambda context: register_checks.register_writers(context.run, context.clusters),
    ),
    (
        register_checks.USABLE,
        lambda context: register_checks.registers_usable(context.run, context.clusters),
    ),
    (undeclared_readers.NAME, lambda context: undeclared_readers.readers_declared(context.run, (context.run.target,))),
    ("stranded_are_kept", stranded_are_kept),
    ("nothing_flows", _nothing_flows),
    (record_limits.NAME, lambda context: record_limits.records_fit(context.run, context.run.source)),
    ("quarantine_permits", _quarantine_permits),
    ("flow_continues", _flow_continues),
    ("evidence_can_be_signed", lambda context: evidence_can_be_signed(context.run.clients)),
)
