"""Everything that has to hold before a planned failover. The name of each check is part of the decision facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from kafka_dr import parallel
from kafka_dr.audit.finding import Verified
from kafka_dr.audit.result import AuditKind
from kafka_dr.checks import (
    authorizers,
    change_rights,
    copied_once,
    input_checks,
    lasting_denies,
    open_conflicts,
    pattern_topics,
    positions_topic,
    record_limits,
    register_checks,
    route_ahead,
    topic_identity,
)
from kafka_dr.checks.audit_checks import audit_check
from kafka_dr.checks.authorizers import authorizer_of, not_by_acls
from kafka_dr.checks.cluster_checks import (
    active_cluster,
    foreign_denies_remain,
    leaderless,
    right_clusters,
    target_refuses,
    writers_declared,
)
from kafka_dr.checks.config_compare import standby_configured
from kafka_dr.clusters import AclOperation, ResourceType, TopicPartition
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned import left_clusters
from kafka_dr.failover.planned.cut_over_groups import no_live_members
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import found_in
from kafka_dr.group_offsets import (
    both_names,
    copies_for_groups,
    copy_age,
    live_verification,
    local_groups,
    other_topics,
    undeclared_readers,
    verification,
)
from kafka_dr.group_offsets.group_costs import CLASSES
from kafka_dr.group_offsets.live_verification import NearHead
from kafka_dr.group_offsets.offset_preview import offsets_check
from kafka_dr.group_offsets.unmovable_groups import only_offsets_to_move
from kafka_dr.named_rows import rows_of
from kafka_dr.outcomes import Check, worst
from kafka_dr.replication.moving import data_ends, flow_moves
from kafka_dr.runs import members
from kafka_dr.runs.run import Run
from kafka_dr.runs.sealing import evidence_can_be_signed
from kafka_dr.runs.uncopyable_records import why_it_stops
from kafka_dr.waiting import wait_until

#: Returns one check, or several that use the same look; their names are listed with it.
Question = Callable[[Run], Check | tuple[Check, ...]]

#: How long a flow may leave a waiting record uncopied before it counts as stuck.
_STUCK_SECONDS = 5.0
#: After a longer comparison it is asked again what groups have committed.
_LONG_SECONDS = 5.0
#: How long tasks may be assigned to no worker, as when all of them are assigned again because anybody adds a flow.
_REBALANCE_SECONDS = 5.0


def preflight_checks(run: Run, *, closely: bool) -> tuple[Check, ...]:
    """Ask every question; one that cannot be answered is unknown and does not keep the others from being asked.

    If the clusters or the direction are wrong, the other answers would mislead, so they are not asked for.

    :param closely: also say what the failover would cost each group, which takes reads of its own; the claim leaves
        that out, as a person waits for it
    """
    first = tuple(check for names, ask in _FIRST for check in _asked(run, names, ask))
    if worst(first) == "ok":
        # Without frontier and maps everything would be compared again, which may take hours.
        first += _asked(run, input_checks.NAME, input_checks.inputs_recorded)
    if worst(first) != "ok":
        return first
    preview: tuple[str, Question] = ("offsets_preview", lambda run: offsets_check(run, closely=closely))
    # Reading many logs keeps this process so busy that answers to the other questions would come too late.
    left = ((left_clusters.NAME, left_clusters.left_clusters_refuse),) if run.record().roles.given_up else ()
    if run.declared.renames_copies:
        left = (*left, (both_names.NAME, both_names.groups_read_both_names), (copied_once.NAME, _copied_once))
    if run.declared.member_of is not None:
        left = (*left, *_OF_MEMBERS)
    rounds = ((*_QUESTIONS, *left), (preview,)) if closely else ((*_QUESTIONS, *left, preview),)
    for questions in rounds:
        answers = parallel.ask_all(lambda question: _asked(run, *question), questions)
        first += tuple(check for checks in answers.values() for check in checks)
    return first


def _copied_once(run: Run) -> Check:
    return copied_once.copied_once(run, (run.source, run.target))


def _asked(run: Run, names: str, ask: Question) -> tuple[Check, ...]:
    try:
        answer = ask(run)
    except KafkaDrError as error:
        return tuple(Check(name, "unknown", str(error)) for name in names.split())
    return answer if isinstance(answer, tuple) else (answer,)


def _topics_have_leaders(run: Run) -> Check:
    """Return whether every partition has a leader now. Another check compares how the topics are configured."""
    wrong = []
    for name, topics in parallel.ask_all(run.read_cache.topics, (run.source, run.target)).items():
        if missing := leaderless({**topics, **run.described_copies(name)}):
            wrong.append(f"partitions of {', '.join(missing[:5])} have no leader on {name}: bring their brokers up")
        if name == run.source and run.group.canary_topic not in topics:
            wrong.append(f"the canary topic {run.group.canary_topic} is missing on {name}")
    return Check.that(
        "topics_have_leaders",
        not wrong,
        "; ".join(wrong) or f"every partition has a leader on {run.source} and on {run.target}",
    )


def _writers_declared(run: Run) -> Check:
    return writers_declared(run, (run.source, run.target), seen=run.read_cache)


def _source_can_be_fenced(run: Run) -> Check:
    """Return whether the probe may write on the source now; later the same question proves the fence.

    Asking appends no record. A source with too few in-sync replicas accepts no writes, but may be fenced all the same.
    """
    if not run.declared.closes(run.source):
        return Check("source_can_be_fenced", "ok", run.stays_open(run.source))
    return run.writes_authorized(run.source).named("source_can_be_fenced")


def _flow_can_be_fenced(run: Run) -> Check:
    """Return whether every leader on the target accepts writes, asked as the replicator, which may write there now.

    The leaders have to accept writes when the target is opened. And a later refusal of the replicator only proves its
    fence if it was accepted before.
    """
    copies = run.written_by_flows(run.target)
    return run.writes_allowed(run.target, by="replicator", led=copies).named("flow_can_be_fenced")


def _target_can_be_opened(run: Run) -> Check:
    """Return whether applications can write to the target once the fence is lifted.

    DENYs that others added are not lifted. And applications need the same ALLOWs as on the source.
    """
    if undecided := not_by_acls(
        run, (run.source, run.target), "whether applications may write there when they are let in"
    ):
        return Check("target_can_be_opened", "excused", undecided)
    source_acls, target_acls = parallel.at_once(
        partial(run.read_cache.acls, run.source), partial(run.read_cache.acls, run.target)
    )
    fence = found_in(target_acls, plan.standby(run.group.on(run.target)))
    added = run.clients.register(run.target).added_acls(run.group.name, run.target)
    foreign = found_in(target_acls, plan.work_denies(run.group.on(run.target))) - added.current
    if foreign:
        return foreign_denies_remain(run, foreign)
    topics = run.read_cache.topics(run.target)
    opened = authorizer_of(run, run.target, target_acls - fence)
    source = authorizer_of(run, run.source, source_acls)
    lost = [
        f"{principal} ({topic})"
        for topic in sorted(topics)
        for principal in run.group.principals
        if source.allows(principal, AclOperation.WRITE, ResourceType.TOPIC, topic)
        and not opened.allows(principal, AclOperation.WRITE, ResourceType.TOPIC, topic)
    ]
    unread = [
        f"{principal} ({copy})"
        for copy, topic in _copies_on_target(run)
        for principal in run.group.principals
        if source.allows(principal, AclOperation.READ, ResourceType.TOPIC, topic)
        and not opened.allows(principal, AclOperation.READ, ResourceType.TOPIC, copy)
    ]
    said = [
        f"{', '.join(found[:5])} may {may} on {run.source} and could not on {run.target}"
        for found, may in ((lost, "write"), (unread, "read the originals"))
        if found
    ]
    return Check.that(
        "target_can_be_opened",
        not said,
        f"{'; '.join(said)}: add the missing ACLs on {run.target}"
        if said
        else f"every writer of {run.source} could write on {run.target}",
    )


def _copies_on_target(run: Run) -> Iterator[tuple[str, str]]:
    """Yield each copy on the target that has another name than its original, with that of the original."""
    for copy in sorted(run.copies_on(run.target)):
        if (topic := run.group.original_of(copy, run.target)) is not None:
            yield copy, topic


def _copy(run: Run) -> tuple[Check, ...]:
    """Verify the copy near the head; the result shows whether the flow moves and whether offsets can be translated."""
    began = run.clock.monotonic()
    near, offsets = parallel.at_once(lambda: live_verification.advance(run), lambda: verification.offsets_now(run))
    if run.clock.monotonic() - began > _LONG_SECONDS:
        # Groups have read on since, and what is approved has to hold when it is claimed.
        offsets = verification.offsets_now(run)
    return parallel.at_once(
        lambda: _asked(run, "flow_moves", lambda run: _flow_moves(run, near))[0],
        lambda: _asked(run, copy_age.NAME, lambda run: copy_age.copied_in_time(run, near))[0],
        lambda: live_verification.judge_tail(run, near),
        lambda: _positions_translate(run, near.verified, offsets),
    )


def _flow_moves(run: Run, near: NearHead) -> Check:
    """Return whether the flow makes progress: all is copied, or its offsets advance wherever a record waits."""
    replicator = run.clients.replicator(run.flow)
    status = wait_until(
        replicator.status, lambda found: found.state != "unassigned", clock=run.clock, seconds=_REBALANCE_SECONDS
    )
    if status.state != "running":
        detail = f"{run.flow.name} is {status}"
        by_hand = f"without Airflow: python -m kafka_dr flows --group {run.group.name}"
        start = f"run dr_flows, or look at {replicator.described} ({by_hand})"
        stops = why_it_stops(run, run.flow, status) or start
        return Check.that("flow_moves", False, f"{detail}, expected running: {stops}")
    if all(found.finding is None and found.source_offset >= near.ends[p] for p, found in near.verified.items()):
        many = counted(len(near.ends), "partition")
        said = f"all that could be copied from {many} of {run.source} is on {run.target}"
        return Check("flow_moves", "ok", f"{said}; {near.held.sentence}" if near.held.sentence else said)
    before = replicator.positions()
    waiting = data_ends(run.clients.cluster(run.source, "audit"), before, near.ends)
    verdict = wait_until(
        lambda: flow_moves(before, replicator.positions(), waiting),
        lambda found: found.verdict != "stuck",
        clock=run.clock,
        seconds=_STUCK_SECONDS,
    )
    outcome = {"moves": "ok", "idle": "ok", "stuck": "failed"}.get(verdict.verdict, "unknown")
    return Check("flow_moves", outcome, verdict.detail)  # type: ignore[arg-type]


def _positions_translate(
    run: Run, verified: Mapping[TopicPartition, Verified], offsets: verification.OffsetsNow
) -> Check:
    classes = verification.predicted_classes(run, verified, offsets)
    unknown = sorted(group for group, kind in classes.items() if kind == "unknown")
    if unknown and run.group.groups_policy.unknown_offsets == "refuse":
        past = offsets.past_the_end()
        named = "; ".join([past[group] for group in unknown if group in past][:3])
        why = f" ({named})" if named else ""
        detail = (
            f"the offsets of {', '.join(unknown)} cannot be translated{why}: see groups_policy.unknown_offsets in the "
            "topology"
        )
        return Check("positions_translate", "failed", detail, {"classes": rows_of(classes, **CLASSES)})
    # How sure each offset is, is shown once, together with what it costs: see kafka_dr.group_offsets.group_costs.
    many = counted(len(classes), "group")
    said = f"the offsets of {many} can be translated" if classes else "no group has committed an offset"
    return Check("positions_translate", "ok", said, {"classes": rows_of(classes, **CLASSES)})


def _route_follows(run: Run) -> Check:
    route = run.clients.router(run.group).read()
    follows = route is not None and route.active == run.source
    said = f"the route of {run.group.name} names {route.active}" if route else f"{run.group.name} has no route"
    detail = said if follows else f"{said}, expected {run.source} as in the register: run dr_adopt, or fix the route"
    if later := route_ahead.ahead(route, run.record()):
        return Check("route_follows", "failed", later)
    return Check.that("route_follows", follows, detail)


_FIRST: tuple[tuple[str, Question], ...] = (
    ("active_cluster", active_cluster),
    ("right_clusters", lambda run: right_clusters(run, (run.source, run.target))),
)
_QUESTIONS: tuple[tuple[str, Question], ...] = (
    ("standby_configured", standby_configured),
    (
        pattern_topics.NAME,
        lambda run: pattern_topics.topics_of_patterns(run, (run.source, run.target), seen=run.read_cache, dated=True),
    ),
    ("topics_have_leaders", _topics_have_leaders),
    (topic_identity.NAME, lambda run: topic_identity.same_topics(run, run.record(), run.target)),
    ("writers_declared", _writers_declared),
    (undeclared_readers.NAME, lambda run: undeclared_readers.readers_declared(run, (run.source, run.target))),
    (
        change_rights.NAME,
        lambda run: change_rights.changers_declared(run, (run.source, run.target), seen=run.read_cache),
    ),
    (
        register_checks.WRITERS,
        lambda run: register_checks.register_writers(run, (run.source, run.target), seen=run.read_cache),
    ),
    (register_checks.USABLE, lambda run: register_checks.registers_usable(run, (run.source, run.target))),
    (lasting_denies.NAME, lambda run: lasting_denies.denies_last(run, (run.source, run.target))),
    (authorizers.NAME, lambda run: authorizers.authorizers_as_declared(run, (run.source, run.target))),
    ("source_can_be_fenced", _source_can_be_fenced),
    ("target_refuses", target_refuses),
    ("flow_can_be_fenced", _flow_can_be_fenced),
    ("target_can_be_opened", _target_can_be_opened),
    (f"flow_moves {copy_age.NAME} content_verified positions_translate", _copy),
    ("checksum_audit", partial(audit_check, AuditKind.CHECKSUM)),
    ("lag_audit", partial(audit_check, AuditKind.LAG)),
    ("no_live_members_on_target", no_live_members),
    ("only_offsets_to_move", only_offsets_to_move),
    (other_topics.NAME, other_topics.groups_read_only_owned_topics),
    (positions_topic.NAME, positions_topic.positions_topic_compacts),
    (
        record_limits.NAME,
        lambda run: record_limits.records_fit(run, run.source, run.read_cache.topics(run.source)),
    ),
    ("route_follows", _route_follows),
    ("evidence_can_be_signed", lambda run: evidence_can_be_signed(run.clients)),
)
#: Where members serve together.
_OF_MEMBERS: tuple[tuple[str, Question], ...] = (
    (members.TARGET_SERVES, members.target_serves),
    (members.NO_GUESTS, members.no_guests),
    (both_names.UNION, both_names.union_groups_see_all),
    (members.FROZEN_ELSEWHERE, members.groups_frozen_elsewhere),
    (copies_for_groups.NAME, copies_for_groups.copies_for_groups),
    (local_groups.NAME, local_groups.local_groups_left),
    (open_conflicts.NAME, open_conflicts.open_conflicts),
)
