"""Prepare the old cluster for the copy: keep its topics, or delete them and create them again, empty.

Only topics whose ids were approved and journaled are deleted, so that a second attempt never deletes what the first
one created. The right to delete them is given for these very topics, on this very cluster, and taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kafka_dr.checks.config_compare import plan_between
from kafka_dr.clusters import Acl, AclOperation, AclPermission, NotFound, PatternType, ResourceType
from kafka_dr.config_sync.items import CreateTopic
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.failback import decision
from kafka_dr.failback.checks import list_is_approved
from kafka_dr.failback.context import FailbackContext, ends_of_old_cluster
from kafka_dr.failback.quarantine import ranges_of
from kafka_dr.named_rows import ID_OF_A_TOPIC, by_name, rows_of
from kafka_dr.register.abandonment import OLD_CLUSTER_PREPARED
from kafka_dr.register.quarantine import QUARANTINE, quarantine_fact
from kafka_dr.rescue import Compared, compare_with, missing_from
from kafka_dr.runs.offset_rows import positions_to_json
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run

_PAUSE_SECONDS = 0.1


def check(run: Run) -> Sequence[Check]:
    """No application data is deleted unless everything that only the old side holds is kept."""
    if run.request.dry_run:
        return ()
    context = FailbackContext(run)
    wrong = missing_from(context.stranded, context.store.folder)
    kept = Check.that("stranded_are_kept", not wrong, wrong or f"{context.stranded.records} records are kept")
    approved = list_is_approved(context)
    if OLD_CLUSTER_PREPARED in run.journal or context.was_begun_before:
        return (approved, kept)
    moved = ends_of_old_cluster(context).moved
    shown = ", ".join(map(str, moved[:3]))
    still = f"{run.target} stands where the list of stranded records left it"
    said = f"{shown} moved since the list was made: somebody passes the fence; find out who" if moved else still
    return (approved, kept, Check.that("old_side_is_still", not moved, said))


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    context = FailbackContext(run)
    if context.mode == "rebuild":
        named = ", ".join(sorted(run.topics(run.target)))
        return (f"delete {named} on {run.target} and create them again as they are on {run.source}, empty",)
    shown = ", ".join(map(str, ranges_of(context.stranded))) or "nothing"
    return (f"journal that these offsets of {run.target} stay aside: {shown}; nothing is deleted",)


def act(run: Run) -> Mapping[str, Any]:
    """Journal first what cannot be looked up later, then act."""
    context = FailbackContext(run)
    # What is journaled says that the old topics are given up.
    compared = _compare(context, approved_deletes(run.fact("claim"))) if context.mode == "rebuild" else Compared()
    if OLD_CLUSTER_PREPARED not in run.journal:
        _journal(context)
    if context.mode == "rebuild":
        read_back = {"equal": compared.equal, "expired_there": compared.expired}
        return {**_rebuild(context, approved_deletes(_journaled(run))), "read_back": read_back}
    return {"mode": context.mode, "quarantine": [str(each) for each in ranges_of(context.stranded)]}


def prove(run: Run) -> Sequence[Check]:
    """Nothing of the old topics is left after a rebuild, nor the right to delete; after quarantine all is journaled."""
    context, deletes = FailbackContext(run), approved_deletes(_journaled(run))
    if context.mode == "quarantine":
        kept = run.clients.register(run.source).facts(run.group.name, run.request.run).get(QUARANTINE)
        return (Check.that("ranges_are_journaled", kept is not None, f"the register of {run.source} names the ranges"),)
    here, there = run.topics(run.source), run.topics(run.target)
    old = sorted(name for name, topic in there.items() if topic.topic_id == deletes.get(name))
    wrong = [f"{name} is the old one" for name in old] + [
        f"{name} has {len(there[name].leaders) if name in there else 'no'} partitions, expected {len(topic.leaders)}"
        for name, topic in here.items()
        if name not in there or len(there[name].leaders) != len(topic.leaders)
    ]
    standing = right_to_delete(run, deletes) & run.operator(run.target).acls.list()
    said = f"{len(here)} topics are new, with the partitions that they have on {run.source}"
    return (
        Check.that("topics_are_new", not wrong, "; ".join(wrong[:3]) or said),
        Check.that("right_to_delete_is_gone", not standing, f"{len(standing)} rights to delete stand on {run.target}"),
    )


def _journal(context: FailbackContext) -> None:
    run = context.run
    topics = run.topics(run.target)
    fact = {
        "mode": context.mode,
        "old_ends": positions_to_json(ends_of_old_cluster(context).now),
        "deletes": rows_of(approved_deletes(run.fact("claim")), **ID_OF_A_TOPIC),
        "measured": decision.measured(context),
    }
    context.permission()()
    if context.mode == "quarantine":
        ids = {name: topic.topic_id for name, topic in topics.items()}
        run.write_fact(QUARANTINE, quarantine_fact(run.target, ranges_of(context.stranded), ids))
    else:
        run.write_fact("rebuild", {"cluster": run.target, "epoch": run.epoch})
    run.write_fact(OLD_CLUSTER_PREPARED, fact)


def _journaled(run: Run) -> Mapping[str, Any]:
    """Return what was journaled, by this very attempt, too."""
    register = run.clients.register(run.source)
    found = run.journal.get(OLD_CLUSTER_PREPARED)
    found = found or register.facts(run.group.name, run.request.run).get(OLD_CLUSTER_PREPARED)
    if found is None:
        raise TryAgain("the journal does not say yet what this step may delete: run the step again")
    return dict(found)


def _rebuild(context: FailbackContext, deletes: Mapping[str, str]) -> Mapping[str, Any]:
    run, permission = context.run, context.permission()
    target = run.operator(run.target)
    old = sorted(name for name, topic in run.topics(run.target).items() if topic.topic_id == deletes.get(name))
    rights = right_to_delete(run, deletes)
    if old:
        permission()
        target.acls.add(rights)
        try:
            permission()
            target.topics.delete(old)
            _wait_until_gone(context, deletes)
        finally:
            target.acls.remove(rights)
    target.acls.remove(rights)
    created = _create(context)
    return {"mode": context.mode, "deleted": old, "created": created}


def _compare(context: FailbackContext, deletes: Mapping[str, str]) -> Compared:
    """Read back all that is kept, and compare it with what is about to be deleted.

    A list of a former version has no digests of its files: then this alone says that nothing which is deleted is lost.

    :param deletes: what may be deleted; a topic that was made again since the list was made holds nothing of it
    :raises Refused: something is not kept, or not as the old side holds it
    """
    found, run = context.stranded, context.run
    there = run.topics(run.target)
    old = [name for name, topic in there.items() if topic.topic_id == deletes.get(name)]
    if not old:
        return Compared()
    if wrong := missing_from(found, context.store.folder):
        raise Refused(f"nothing is deleted while stranded records are not kept: {wrong}")
    same = [name for name in old if found.topic_ids.get(name) == there[name].topic_id]
    compared = compare_with(run.clients.cluster(run.target, "audit"), found, context.store.folder, topics=same)
    if compared.wrong:
        raise Refused(
            f"nothing is deleted: {compared.wrong}. Restore the files below {context.store.folder} from a copy and run "
            "the step again, or abandon this run with dr_resume and begin a new one"
        )
    return compared


def _create(context: FailbackContext) -> list[str]:
    """Create what is missing as the config sync would: with the active side's partitions and configuration."""
    run = context.run
    items = plan_between(run, run.source, run.target, epoch=run.epoch).items
    wanted = [item.change.topic for item in items if isinstance(item.change, CreateTopic)]
    if wanted:
        context.permission()()
        errors = run.operator(run.target).configs.create(wanted)
        if errors:
            name, error = sorted(errors.items())[0]
            raise TryAgain(f"{name} could not be created on {run.target} again ({error}): run the step again")
    return sorted(topic.name for topic in wanted)


def _wait_until_gone(context: FailbackContext, deletes: Mapping[str, str]) -> None:
    run = context.run
    deadline = run.clock.monotonic() + run.group.timing.step_deadline_seconds
    while True:
        left = _left(context, deletes)
        if not left:
            return
        if run.clock.monotonic() > deadline:
            raise TryAgain(f"{', '.join(left[:3])} are on {run.target} still: look at its controller, run this again")
        run.clock.sleep(_PAUSE_SECONDS)


def _left(context: FailbackContext, deletes: Mapping[str, str]) -> list[str]:
    """Return the old topics that are still there; one that goes while it is looked at is looked at again."""
    try:
        there = context.run.topics(context.run.target)
    except NotFound:
        return sorted(deletes)
    return [name for name, topic in there.items() if topic.topic_id == deletes.get(name)]


def approved_deletes(fact: Mapping[str, Any]) -> dict[str, str]:
    """Return the topics that may be deleted, and their ids, as the claim or this step journaled them."""
    return by_name(fact.get("deletes", ()), **ID_OF_A_TOPIC)


def right_to_delete(run: Run, topics: Collection[str]) -> frozenset[Acl]:
    """Return the right to delete exactly these topics."""
    who, name = run.group.operator_principal, PatternType.LITERAL
    return frozenset(
        Acl(ResourceType.TOPIC, topic, name, who, AclOperation.DELETE, AclPermission.ALLOW) for topic in topics
    )
