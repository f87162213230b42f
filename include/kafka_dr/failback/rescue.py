"""See that the stranded records are kept; publish them again where that was approved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.failback.checks import list_is_approved, stranded_are_kept
from kafka_dr.failback.context import Way
from kafka_dr.rescue import Rescue, missing_from, read_ledger
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """What would be published is there. Once the old side was made anew the list alone counts."""
    way = Way(run)
    if run.request.dry_run:
        return (_kept(way),)
    return (list_is_approved(way), _kept(way) if "set_aside" in run.journal else stranded_are_kept(way))


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    way = Way(run)
    if way.rescue == "keep":
        return (f"nothing: the {way.stranded.records} stranded records stay in {way.store.folder}",)
    return (
        f"publish {way.stranded.records} stranded records to {run.source} with headers that say where they are from, "
        "together with the ledger of what was published; where they would undo something newer, beside the topic",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Publish what was not published yet."""
    way = Way(run)
    if way.rescue == "keep" or not way.stranded.records:
        run.write_fact("rescued", {"wish": way.rescue, "stranded": way.stranded.records}, needed_on=[run.source])
        return {"stranded": way.stranded.records, "kept_in": str(way.store.folder)}
    done = Rescue(
        found=way.stranded,
        folder=way.store.folder,
        writer=run.probe(run.source),
        reader=run.clients.cluster(run.source, "audit"),
        operator=run.operator(run.source),
        canary_topic=run.group.canary_topic,
        replication_factor=run.group.flow.replication_factor,
        permission=way.permission(),
    ).publish()
    fact = {"wish": way.rescue, "stranded": way.stranded.records, **asdict(done)}
    run.write_fact("rescued", fact, needed_on=[run.source])
    return fact


def prove(run: Run) -> Sequence[Check]:
    """Every record is kept, and the ledger has each of them where they were to be published."""
    way = Way(run)
    if way.rescue == "keep":
        return (_kept(way),)
    ledger = read_ledger(run.clients.cluster(run.source, "audit"), run.group.name, way.stranded.run)
    wrong, published = [], 0
    for each in way.stranded.partitions:
        entry = ledger.get(TopicPartition(each.topic, each.partition))
        accounted = entry.published + entry.aside + entry.kept if entry else 0
        published += entry.published + entry.aside if entry else 0
        if accounted != each.records:
            wrong.append(f"{each.topic}-{each.partition}: {accounted} of {each.records}")
    said = f"{published} records are published on {run.source}, each once; the others stay in the list"
    ledger_says = f"the ledger does not account for all: {', '.join(wrong[:3])}"
    return (_kept(way), Check.that("ledger_accounts_for_all", not wrong, ledger_says if wrong else said))


def _kept(way: Way) -> Check:
    wrong = missing_from(way.stranded, way.store.folder)
    return Check.that("stranded_are_kept", not wrong, wrong or f"{way.stranded.records} records are kept")
