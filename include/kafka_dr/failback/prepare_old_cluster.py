"""Prepare the old cluster for the copy: quarantine its stranded records, or delete its topics and create them again.

Only topics with approved and journaled ids are deleted, so a second attempt never deletes what the first one created.
The right to delete is given for exactly these topics, only on the old cluster, and is removed afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kafka_dr.checks.config_compare import plan_between
from kafka_dr.clusters import Acl, AclOperation, AclPermission, NotFound, PatternType, ResourceType, Topic
from kafka_dr.config_sync.items import CreateTopic
from kafka_dr.counted import counted
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.failback import decision
from kafka_dr.failback.checks import list_is_approved
from kafka_dr.failback.context import FailbackContext, ends_of_old_cluster
from kafka_dr.failback.quarantine import ranges_of
from kafka_dr.fencing.change import AclChanges
from kafka_dr.named_rows import ID_OF_A_TOPIC, by_name, positions_to_json, rows_of
from kafka_dr.outcomes import Check
from kafka_dr.register.abandonment import OLD_CLUSTER_PREPARED
from kafka_dr.register.quarantine import QUARANTINE, QuarantinedRange, quarantine_fact
from kafka_dr.rescue.compared import Compared, compare_with
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until


def check(run: Run) -> Sequence[Check]:
    """Every record that only the old cluster holds is kept; without that no application data is deleted."""
    if run.request.dry_run:
        return ()
    context = FailbackContext(run)
    begun = OLD_CLUSTER_PREPARED in run.journal or context.was_begun_before
    wrong = context.missing() or ("" if begun else context.no_longer_elsewhere)
    kept = Check.that(
        "stranded_are_kept",
        not wrong,
        wrong or f"{context.stranded.records} stranded records are kept in {context.store.folder}{context.erased}",
    )
    approved = list_is_approved(context)
    if begun:
        return (approved, kept)
    moved = ends_of_old_cluster(context).moved
    shown = ", ".join(map(str, moved[:3]))
    still = f"the log ends of {run.target} are those in the list of stranded records"
    said = (
        f"the log ends of {shown} on {run.target} moved after the list of stranded records was made, expected none: a "
        "principal that the fence does not cover writes there. Find out which, and stop it"
        if moved
        else still
    )
    return (approved, kept, Check.that("old_cluster_is_still", not moved, said))


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    context = FailbackContext(run)
    if context.mode == "rebuild":
        named = ", ".join(sorted(run.topics(run.target)))
        return (f"delete {named} on {run.target} and create them again as they are on {run.source}, empty",)
    if context.mode == "deliver" and not context.passed_over:
        return (f"nothing on {run.target}: what only it holds is copied to {run.source}",)
    shown = ", ".join(map(str, _quarantined(context))) or "nothing"
    return (f"journal that these offsets of {run.target} are quarantined: {shown}; nothing is deleted",)


def act(run: Run) -> Mapping[str, Any]:
    """Journal first what cannot be looked up later, then act."""
    context = FailbackContext(run)
    # Compare before anything is journaled: the journal says that the old topics are given up.
    compared = _compare(context, approved_deletes(run.fact("claim"))) if context.mode == "rebuild" else Compared()
    if OLD_CLUSTER_PREPARED not in run.journal:
        _journal(context)
    if context.mode == "rebuild":
        read_back = {"equal": compared.equal, "expired_there": compared.expired, "erased": compared.erased}
        return {**_rebuild(context, approved_deletes(_journaled(run))), "read_back": read_back}
    return {"mode": context.mode, "quarantine": [str(each) for each in _quarantined(context)]}


def _quarantined(context: FailbackContext) -> tuple[QuarantinedRange, ...]:
    """Return the offsets of the old cluster that are journaled as quarantined: nothing copies them."""
    return ranges_of(context.stranded) if context.mode == "quarantine" else context.passed_over


def prove(run: Run) -> Sequence[Check]:
    """After a rebuild no old topic and no right to delete is left. After a quarantine its ranges are journaled."""
    context, deletes = FailbackContext(run), approved_deletes(_journaled(run))
    if context.mode == "deliver" and not context.passed_over:
        return ()
    if context.mode != "rebuild":
        kept = run.clients.register(run.source).facts(run.group.name, run.request.run).get(QUARANTINE)
        named = "names the quarantined ranges" if kept else "has no quarantined ranges of this run: run the step again"
        return (Check.that("ranges_are_journaled", kept is not None, f"the register of {run.source} {named}"),)
    source = run.topics(run.source)
    wrong = wait_until_new(run, source, deletes)
    said = f"{counted(len(source), 'new topic')} on {run.target} with as many partitions as on {run.source}"
    return (
        Check.that("topics_are_new", not wrong, "; ".join(wrong[:3]) or said),
        _right_is_gone(run, deletes),
    )


def wait_until_new(run: Run, source: Mapping[str, Topic], deletes: Mapping[str, str]) -> Sequence[str]:
    """Wait until the old cluster shows its new topics, which it may a moment after they were made.

    :param source: the topics of the active cluster, by name
    :param deletes: the ids of the old topics, by name
    :returns: what is not as it has to be in the end, a sentence each
    """

    def wrong() -> Sequence[str]:
        target = run.topics(run.target)
        old = sorted(name for name, topic in target.items() if topic.topic_id == deletes.get(name))
        return [f"{name} on {run.target} is still the old topic" for name in old] + [
            f"{name} on {run.target} has {len(target[name].leaders) if name in target else 'no'} partitions, expected "
            f"{len(topic.leaders)}"
            for name, topic in source.items()
            if name not in target or len(target[name].leaders) != len(topic.leaders)
        ]

    seconds = run.group.timing.step_deadline_seconds
    return wait_until(wrong, lambda found: not found, clock=run.clock, seconds=seconds, retry=NotFound)


def _right_is_gone(run: Run, deletes: Collection[str]) -> Check:
    """Return whether the right to delete is gone; one that others have given stays, and is named."""
    left = right_to_delete(run, deletes) & run.rules_in_force(run.target)
    known = run.clients.register(run.target).added_acls(run.group.name, run.target)
    added = known.current | known.remembered(run.epoch)
    said = f"on {run.target} {counted(len(left), 'right to delete is', 'rights to delete are')} left"
    if left and not left & added:
        who = f"this step has not given them: take them back from {run.group.operator_principal} unless it needs them"
        return Check("right_to_delete_is_gone", "excused", f"{said}; {who}")
    return Check.that("right_to_delete_is_gone", not left, f"{said}: run the step again" if left else said)


def _journal(context: FailbackContext) -> None:
    run = context.run
    topics = run.topics(run.target)
    fact = {
        "mode": context.mode,
        "old_ends": positions_to_json(ends_of_old_cluster(context).now),
        "deletes": rows_of(approved_deletes(run.fact("claim")), **ID_OF_A_TOPIC),
        "measured": decision.measured(context),
    }
    context.guard().require()
    if context.mode == "quarantine" or context.passed_over:
        ids = {name: topic.topic_id for name, topic in topics.items()}
        run.write_fact(QUARANTINE, quarantine_fact(run.target, _quarantined(context), ids))
    elif context.mode == "rebuild":
        run.write_fact("rebuild", {"cluster": run.target, "epoch": run.epoch})
    run.write_fact(OLD_CLUSTER_PREPARED, fact)


def _journaled(run: Run) -> Mapping[str, Any]:
    """Return the journaled fact; this attempt may have written it, so the register is read again."""
    register = run.clients.register(run.source)
    found = run.journal.get(OLD_CLUSTER_PREPARED)
    found = found or register.facts(run.group.name, run.request.run).get(OLD_CLUSTER_PREPARED)
    if found is None:
        raise TryAgain(f"the register of {run.source} does not say yet what this step may delete: run the step again")
    return dict(found)


def _rebuild(context: FailbackContext, deletes: Mapping[str, str]) -> Mapping[str, Any]:
    run, guard = context.run, context.guard()
    target = run.operator(run.target)
    old = sorted(name for name, topic in run.topics(run.target).items() if topic.topic_id == deletes.get(name))
    rights = right_to_delete(run, deletes)
    changes = run.acl_changes(run.target, guard)
    if old:
        if run.decides_by_acls(run.target):
            changes.add(rights)
        try:
            guard.require()
            target.topics.delete(old)
            _wait_until_gone(context, deletes)
        finally:
            take_right_back(run, changes, deletes)
    take_right_back(run, changes, deletes)
    created = _create(context)
    return {"mode": context.mode, "deleted": old, "created": created}


def _compare(context: FailbackContext, deletes: Mapping[str, str]) -> Compared:
    """Read all kept records back, and compare them with the records that are about to be deleted.

    :param deletes: ids of the topics that may be deleted, by name; a topic that was created again after the list was
        made holds no record of the list
    :raises Refused: a record is not kept, or differs from the one on the old cluster
    """
    found, run = context.stranded, context.run
    target = run.topics(run.target)
    old = [name for name, topic in target.items() if topic.topic_id == deletes.get(name)]
    if not old:
        return Compared()
    if wrong := context.missing():
        raise Refused(f"nothing is deleted on {run.target}, as stranded records are not kept: {wrong}")
    same = [name for name in old if found.topic_ids.get(name) == target[name].topic_id]
    compared = compare_with(
        run.clients.cluster(run.target, "audit"),
        found,
        context.store.folder,
        topics=same,
        erasures=context.erasures,
        keys=context.keys,
    )
    if compared.wrong:
        raise Refused(
            f"nothing is deleted on {run.target}: {compared.wrong}. Restore the files below {context.store.folder} "
            "from a copy and run the step again, or abandon this run with dr_resume and trigger a new one"
        )
    return compared


def _create(context: FailbackContext) -> list[str]:
    """Create missing topics as the config sync would: with partitions and configuration of the active cluster."""
    run = context.run
    items = plan_between(run, run.source, run.target, epoch=run.epoch).items
    wanted = [item.change.topic for item in items if isinstance(item.change, CreateTopic)]
    if wanted:
        context.guard().require()
        errors = run.operator(run.target).configs.create(wanted)
        if errors:
            name, error = sorted(errors.items())[0]
            raise TryAgain(f"topic {name} could not be created on {run.target} ({error}): run the step again")
    return sorted(topic.name for topic in wanted)


def _wait_until_gone(context: FailbackContext, deletes: Mapping[str, str]) -> None:
    run = context.run
    left = wait_until(
        lambda: _left(context, deletes),
        lambda found: not found,
        clock=run.clock,
        seconds=run.group.timing.step_deadline_seconds,
    )
    if left:
        raise TryAgain(
            f"{', '.join(left[:3])} still exist on {run.target}: look at its controller, then run the step again"
        )


def _left(context: FailbackContext, deletes: Mapping[str, str]) -> list[str]:
    """Return the old topics that still exist; if one vanishes during the look, all count as existing until the next."""
    try:
        target = context.run.topics(context.run.target)
    except NotFound:
        return sorted(deletes)
    return [name for name, topic in target.items() if topic.topic_id == deletes.get(name)]


def approved_deletes(fact: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids of the topics that may be deleted, by name, as the claim or this step journaled them."""
    return by_name(fact.get("deletes", ()), **ID_OF_A_TOPIC)


def right_to_delete(run: Run, topics: Collection[str]) -> frozenset[Acl]:
    """Return the right to delete exactly these topics."""
    who, name = run.group.operator_principal, PatternType.LITERAL
    return frozenset(
        Acl(ResourceType.TOPIC, topic, name, who, AclOperation.DELETE, AclPermission.ALLOW) for topic in topics
    )


def take_right_back(run: Run, changes: AclChanges, topics: Collection[str]) -> None:
    """Remove the right to delete these topics, if this project gave it."""
    changes.lift(right_to_delete(run, topics))
