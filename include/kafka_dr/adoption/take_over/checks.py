"""Everything that has to hold before a take over. The name of each check is part of the decision facts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from kafka_dr.adoption.adoptable import flow_back_is_still, no_members, reads_only_owned_topics, route_agrees
from kafka_dr.adoption.fenceable import (
    CAN_BE_ADDED,
    CAN_BE_PROVEN,
    denies_can_be_added,
    fences_can_be_proven,
    known_to_last,
    lasting_on,
)
from kafka_dr.adoption.take_over.audited_copy import MOST_DISPLACED
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.adoption.take_over.copies_back import no_copies_back, nobody_copies_back
from kafka_dr.audit.finding import FindingKind
from kafka_dr.checks import authorizers, register_checks
from kafka_dr.checks.authorizers import authorizer_of
from kafka_dr.checks.cluster_checks import leaderless, right_clusters
from kafka_dr.checks.pattern_topics import NAME as TOPICS_OF_PATTERNS
from kafka_dr.checks.pattern_topics import topics_of_patterns
from kafka_dr.clusters import AclOperation, ResourceType, Topic
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing.authorizer import EVERYONE
from kafka_dr.outcomes import Check, asked, worst
from kafka_dr.register import RegisterState
from kafka_dr.register.transitions import taking_over
from kafka_dr.runs.run import Run
from kafka_dr.runs.sealing import evidence_can_be_signed

Question = Callable[[TakeOverContext], Check]


def take_over_checks(context: TakeOverContext, *, audited: bool = True) -> tuple[Check, ...]:
    """Ask every question; one that cannot be answered is unknown and does not keep the others from being asked.

    If the clusters or the existing replication are not the declared ones, the other answers would mislead, so they are
    not asked for.

    :param audited: whether the audit of the copy has to be there already
    """
    first = tuple(asked(name, partial(ask, context)) for name, ask in _FIRST)
    if worst(first) != "ok":
        return first
    questions = (*_QUESTIONS, *(_OF_THE_AUDIT if audited else ()))
    found = tuple(asked(name, partial(ask, context)) for name, ask in questions)
    return (*first, *found, *_of_both_flows(context), *_lasting(context), *_of_patterns(context))


def _lasting(context: TakeOverContext) -> tuple[Check, ...]:
    """Return for each cluster whether DENYs last there, as far as its register knows it."""

    def known(cluster: str) -> Check:
        return asked(lasting_on(cluster), lambda: known_to_last(context.run, cluster))

    return known(context.run.source), known(context.run.target)


def _of_patterns(context: TakeOverContext) -> tuple[Check, ...]:
    run = context.run
    try:
        return topics_of_patterns(run, (run.source, run.target), seen=run.read_cache)
    except KafkaDrError as error:
        return (Check(TOPICS_OF_PATTERNS, "unknown", str(error)),)


def as_adopted(run: Run) -> RegisterState:
    """Return the record that this take over is going to write, for checks that judge by a record."""
    return taking_over(
        run.group.name,
        active=run.source,
        standby=run.target,
        run=run.request.run,
        evidence_sha256="",
        approved_by="",
        at=run.clock.now(),
        before=run.register_state,
        copies_named=run.group.copies_named,
    )


def _not_half_given_back(context: TakeOverContext) -> Check:
    """Return whether what an earlier take over changed is restored: its DENYs would be taken for somebody else's."""
    state = context.run.register_state
    half = state is not None and context.run.is_unsealed(state)
    said = f"no earlier run has left anything of {context.run.group.name} unfinished"
    if half and state is not None:
        said = (
            f"run {state.run} ended {state.phase} (epoch {state.epoch}) and is not finished: abandon it with "
            f"dr_resume, or with python -m kafka_dr abandon --group {state.group} --run {state.run} --reason …"
        )
    return Check.that("nothing_unfinished", not half, said)


def _existing_fits(context: TakeOverContext) -> Check:
    run = context.run
    wrong = context.existing.unfit(sorted(run.operator(run.source).topics.names()))
    status = context.existing.status()
    said = f"{context.existing.described}: {status}" if status.parts else context.existing.described
    return Check.that("existing_replication_fits", not wrong, "; ".join(wrong) or said)


def _principal_writes_the_copy(context: TakeOverContext) -> Check:
    """Return whether the declared principal can be what writes the copy, and nobody else can write it.

    Its DENY is what keeps the existing replication from writing. If it writes as somebody else, nothing would.
    """
    run, principal, name = context.run, context.declared.principal, "writers_of_the_copy"
    if not run.decides_by_acls(run.target):
        said = (
            f"ACLs do not decide on {run.target}, so nothing would prove that {principal} is denied, and its owner "
            "could resume it at any time: observe this replication as an observed flow, or stop it and adopt without it"
        )
        return Check(name, "failed", said)
    group, topics = run.group, [*run.read_cache.topics(run.target), *run.copies_on(run.target)]
    authorizer = authorizer_of(run, run.target, run.read_cache.acls(run.target))
    known = {*group.principals, group.probe_principal, group.replicator_principal, principal, *group.super_users}
    others = sorted(authorizer.writers(topics) - known)
    wrong = []
    if EVERYONE in others:
        wrong.append(f"an ACL on {run.target} lets everybody (User:*) write: name the principals instead")
    elif others:
        wrong.append(
            f"{', '.join(others)} may write on {run.target}, and the topology names none of them: whoever writes the "
            "copy has to be existing_replication.principal, and nobody else may write there. Remove these rights"
        )
    copies = [t for t in topics if run.opens_copy or not group.owns_topic(t)]
    able = [t for t in copies if authorizer.allows(principal, AclOperation.WRITE, ResourceType.TOPIC, t)]
    if copies and not able:
        wrong.append(
            f"{principal} may write none of the copies on {run.target}, so it does not write the copy: correct "
            "existing_replication.principal"
        )
    return Check.that(name, not wrong, "; ".join(wrong) or f"{principal} writes the copy on {run.target}")


def _can_be_kept_still(context: TakeOverContext) -> Check:
    """Return whether the existing replication can be kept from writing once it is stopped."""
    name, principal = "existing_can_be_kept_still", context.declared.principal
    if not context.run.group.existing_is_own:
        return Check(name, "ok", f"{principal} will be denied the group's topics on {context.run.target}")
    said = f"it writes as this project's replicator ({principal}), which cannot be denied"
    if not (able := context.existing.abilities().exactly_once).can or not context.existing.transactional_ids():
        why = able.reason if not able.can else "it runs elsewhere than this project's flows, so its ids are not known"
        said = f"{said}, and {why}: let it write as a principal of its own"
        return Check(name, "failed", said)
    return Check(
        name, "ok", f"{said}: its transactional ids are taken over, and it is deleted when the group is adopted"
    )


def _own_flow_is_still(context: TakeOverContext) -> Check:
    run = context.run
    found = run.clients.replicator(run.flow).status()
    said = f"{run.flow.name} is {found}"
    if not found.at_rest:
        said += (
            ", expected stopped: this project's flow would copy what the existing replication copies. Stop it; if it "
            "is the existing replication, remove existing_replication from the topology and run dr_adopt"
        )
    return Check.that("own_flow_is_still", found.at_rest, said)


def _topics_correspond(context: TakeOverContext) -> Check:
    """Return whether copies have the names that the topology gives them, and as many partitions as their originals."""
    run = context.run
    on_source, on_target = _originals_and_copies(run)
    wrong = [f"{name} has no leader for all of its partitions" for name in leaderless({**on_source, **on_target})]
    for name in sorted(on_source.keys() & on_target.keys()):
        partitions = [len(topics[name].leaders) for topics in (on_source, on_target)]
        if partitions[0] != partitions[1]:
            wrong.append(f"{name} has {partitions[0]} partitions on {run.source} and {partitions[1]} on {run.target}")
    if on_source and not on_source.keys() & on_target.keys():
        wrong.append(
            f"{run.target} has no copy of the group's {counted(len(on_source), 'topic')} under {_copies_called(run)}: "
            "correct flow.naming and flow.separator. Copies with yet other names can only be observed, as "
            "observed_flows"
        )
    if extra := sorted(on_target.keys() - on_source.keys()):
        wrong.append(
            f"{', '.join(extra[:3])} is only on {run.target}, so it is not a copy: delete it, or correct the topics"
        )
    said = f"{len(on_target)} of {len(on_source)} topics of {run.source} have a copy on {run.target}"
    return Check.that("topics_correspond", not wrong, "; ".join(wrong[:5]) or said)


def _audit_covers_the_copy(context: TakeOverContext) -> Check:
    """Return whether an audit has compared all of this copy, not long ago."""
    run, name = context.run, "audit_covers_the_copy"
    found = context.audited
    wrong = []
    if found.verdict == "unknown":
        wrong.append(f"its result is unknown: {found.sentence}")
    if not found.whole:
        wrong.append("it did not begin at the start of the logs")
    age, allowed = run.clock.now() - found.ended_at, timedelta(seconds=run.group.audits.checksum_max_age_seconds)
    if age > allowed:
        wrong.append(f"it ended {duration(age)} ago, {duration(allowed)} are allowed (audits.checksum_max_age_seconds)")
    now = _topic_ids(run)
    audited = {topic: ids for topic, ids in found.topic_ids.items() if all(ids)}
    if changed := sorted(topic for topic, ids in now.items() if audited.get(topic) != ids):
        wrong.append(f"{', '.join(changed[:3])} was not audited, or was created again since")
    said = f"an audit of {found.at:%Y-%m-%d %H:%M:%S} UTC compared all of it: {found.sentence}"
    if wrong:
        again = "Audit again with --full; a new run of dr_adopt does that"
        said = f"the newest audit of the copy cannot be relied on: {'; '.join(wrong)}. {again}"
    return Check.that(name, not wrong, said)


def _faults_can_be_kept(context: TakeOverContext) -> Check:
    """Return whether the faults of the copy are such that they can be approved as they are."""
    found, name = context.audited, "faults_can_be_approved"
    counts = found.counts
    wrong = []
    if moved := counts.get(FindingKind.MOVED, 0):
        wrong.append(
            f"{counted(moved, 'record is', 'records are')} in another partition than on the source, so no "
            f"offset of a consumer group could be "
            "translated: let the replication keep partitions, and let it copy again"
        )
    if len(found.displaced) > MOST_DISPLACED:
        wrong.append(
            f"records are in another order in {len(found.displaced):,} ranges, {MOST_DISPLACED:,} can be kept apart: "
            "let the replication copy again, with one request at a time (max.in.flight.requests.per.connection)"
        )
    if wrong:
        return Check(name, "failed", "; ".join(wrong))
    said = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    if not said:
        return Check(name, "ok", "the audit found no fault in the copy")
    return Check(name, "warning", f"the copy has faults, which stay as they are: {said}")


def _topic_ids(run: Run) -> dict[str, tuple[str, str]]:
    """Return the ids of the topics that both clusters have."""
    on_source, on_target = _originals_and_copies(run)
    return {name: (on_source[name].topic_id, on_target[name].topic_id) for name in on_source.keys() & on_target.keys()}


def _originals_and_copies(run: Run) -> tuple[dict[str, Topic], dict[str, Topic]]:
    """Return the group's topics on the source, and their copies on the target, by the names of the originals."""
    on_source = run.read_cache.topics(run.source)
    if run.opens_copy:
        return on_source, run.read_cache.topics(run.target)
    copies = run.copies_by(run.flow).topics
    return on_source, copies.describe(filter(run.group.owns_topic, copies.names()))


def _copies_called(run: Run) -> str:
    """Say what copies are called, by the example of one."""
    naming = run.group.naming(run.source, run.target)
    first = min(run.read_cache.topics(run.source), default="")
    return f"the name that it has on {run.source}" if naming is None else f"a name like {naming.copy_of(first)}"


def _of_both_flows(context: TakeOverContext) -> tuple[Check, ...]:
    """Ask about the flow back as well, where copies have names of their own, so that both run."""
    run = context.run
    if run.opens_copy:
        return ()
    asks = (("copies_back_are_empty", no_copies_back), ("writers_of_copies_back", nobody_copies_back))
    return tuple(asked(name, partial(ask, run)) for name, ask in asks)


_FIRST: tuple[tuple[str, Question], ...] = (
    ("right_clusters", lambda c: right_clusters(c.run, (c.run.source, c.run.target))),
    ("nothing_unfinished", _not_half_given_back),
    ("existing_replication_fits", _existing_fits),
)
_QUESTIONS: tuple[tuple[str, Question], ...] = (
    (authorizers.NAME, lambda c: authorizers.authorizers_as_declared(c.run, (c.run.source, c.run.target))),
    (CAN_BE_ADDED, lambda c: denies_can_be_added(c.run, (c.run.source, c.run.target))),
    (CAN_BE_PROVEN, lambda c: fences_can_be_proven(c.run, (c.run.source, c.run.target))),
    (register_checks.WRITERS, lambda c: register_checks.register_writers(c.run, (c.run.source, c.run.target))),
    (
        register_checks.TOPIC,
        lambda c: register_checks.register_topic(c.run, (c.run.source, c.run.target), is_needed=False),
    ),
    ("writers_of_the_copy", _principal_writes_the_copy),
    ("existing_can_be_kept_still", _can_be_kept_still),
    ("topics_correspond", _topics_correspond),
    ("own_flow_is_still", _own_flow_is_still),
    ("flow_back_is_still", lambda c: flow_back_is_still(c.run, as_adopted(c.run), c.run.target)),
    ("nobody_reads_on_standby", lambda c: no_members(c.run, c.run.target)),
    ("route_agrees", lambda c: route_agrees(c.run, as_adopted(c.run))),
    ("groups_read_only_owned_topics", lambda c: reads_only_owned_topics(c.run, as_adopted(c.run))),
    ("evidence_can_be_signed", lambda c: evidence_can_be_signed(c.run.clients)),
)
_OF_THE_AUDIT: tuple[tuple[str, Question], ...] = (
    ("audit_covers_the_copy", _audit_covers_the_copy),
    ("faults_can_be_approved", _faults_can_be_kept),
)
#: The checks that only an audit of the copy can answer.
OF_THE_AUDIT = frozenset(name for name, _ in _OF_THE_AUDIT)
