"""See that the stranded records are kept; publish them again where that was approved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.counted import counted
from kafka_dr.failback.checks import list_is_approved, stranded_are_kept
from kafka_dr.failback.context import FailbackContext
from kafka_dr.outcomes import Check
from kafka_dr.register.abandonment import OLD_CLUSTER_PREPARED
from kafka_dr.rescue.ledger import read_ledger
from kafka_dr.rescue.publishing import Rescue
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """Every record that would be published is kept. After a rebuild of the old cluster only the list counts."""
    context = FailbackContext(run)
    if run.request.dry_run:
        return (_kept(context),)
    return (
        list_is_approved(context),
        _kept(context) if OLD_CLUSTER_PREPARED in run.journal else stranded_are_kept(context),
    )


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    context = FailbackContext(run)
    if not context.published.records:
        return (f"nothing: the {context.stranded.records} stranded records stay in {context.store.folder}",)
    where = (
        "all of them go to topics of their own"
        if context.mode == "deliver"
        else "what would undo a newer record goes to a topic of its own"
    )
    return (
        f"publish {context.published.records} stranded records to {run.source} with headers that name their origin, "
        f"and write to the ledger what was published; {where}",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Publish the records that are not published yet."""
    context = FailbackContext(run)
    if not context.published.records:
        run.write_fact(
            "rescued", {"wish": context.rescue, "stranded": context.stranded.records}, needed_on=[run.source]
        )
        return {"stranded": context.stranded.records, "kept_in": str(context.store.folder)}
    done = Rescue(
        found=context.published,
        folder=context.store.folder,
        writer=run.probe(run.source),
        reader=run.clients.cluster(run.source, "audit"),
        operator=run.operator(run.source),
        canary_topic=run.group.canary_topic,
        replication_factor=run.group.flow.replication_factor,
        permission=context.guard().require,
        keys=context.keys,
        apart=context.mode == "deliver",
    ).publish()
    fact = {"wish": context.rescue, "stranded": context.stranded.records, **done.to_json()}
    run.write_fact("rescued", fact, needed_on=[run.source])
    return fact


def prove(run: Run) -> Sequence[Check]:
    """Every record is kept; if they are published, the ledger has each of them."""
    context = FailbackContext(run)
    if not context.published.records:
        return (_kept(context),)
    ledger = read_ledger(run.clients.cluster(run.source, "audit"), run.group.name, context.stranded.run)
    wrong, published, erased = [], 0, 0
    for each in context.published.partitions:
        entry = ledger.get(TopicPartition(each.topic, each.partition))
        accounted = entry.records if entry else 0
        published += entry.published + entry.to_stranded_topic if entry else 0
        erased += entry.erased if entry else 0
        if accounted != each.records:
            wrong.append(f"{each.topic}-{each.partition}: {accounted} of {each.records}")
    said = (
        f"{counted(published, 'record is', 'records are')} published on {run.source}, each once; {erased} were "
        f"erased before that; the others "
    )
    said += f"stay in {context.store.folder}"
    ledger_says = f"the ledger on {run.source} has {', '.join(wrong[:3])} records, expected all: run the step again"
    return (_kept(context), Check.that("ledger_accounts_for_all", not wrong, ledger_says if wrong else said))


def _kept(context: FailbackContext) -> Check:
    wrong = context.missing()
    return Check.that(
        "stranded_are_kept",
        not wrong,
        wrong or f"{context.stranded.records} stranded records are kept in {context.store.folder}{context.erased}",
    )
