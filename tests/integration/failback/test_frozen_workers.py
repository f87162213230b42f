"""Workers of a failback are stopped in the middle of its steps, others finish the run, and then the workers wake up.

It is a rebuild: what could be sent late would delete topics that were created again, or publish records twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from support import outside_view
from support.checksum import Auditor
from support.failback_run import FailbackRun
from support.frozen_worker import FrozenWorker
from support.old_cluster import OldClusterGroup
from support.stranding import list_stranded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.protection import Protection

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(900)]

#: Where a worker sleeps, right before it changes something; each one gets that far while those before it sleep.
_SLEEPS: Mapping[StepName, tuple[str, ...]] = {
    StepName.RESCUE: ("kafka_dr.clusters.writing:TransactionalWriter.write",),
    StepName.PREPARE_OLD_CLUSTER: (
        "kafka_dr.clusters.acls:Acls.add",
        "kafka_dr.clusters.topics:Topics.delete",
        "kafka_dr.clusters.configs:Configs.create",
    ),
    StepName.REVERSE_FLOW: (
        "kafka_dr.replication.mirrormaker:Mm2Replicator.seed",
        "kafka_dr.replication.mirrormaker:Mm2Replicator.resume",
    ),
    StepName.CATCH_UP: ("kafka_dr.register:KafkaRegister.write_fact",),
    StepName.SETTLE: ("kafka_dr.runs.run:Run.advance",),
}


@pytest.fixture
def asleep() -> Iterator[list[tuple[str, FrozenWorker]]]:
    """Return a list for the workers of a test, each with its own position; all of them end with it."""
    made: list[tuple[str, FrozenWorker]] = []
    yield made
    for _, worker in made:
        worker.end()


@pytest.mark.long
def test_workers_that_sleep_in_the_steps_of_a_rebuild_change_nothing_when_they_wake_up(
    left: OldClusterGroup, spark: SparkSession, tmp_path: Path, asleep: list[tuple[str, FrozenWorker]]
) -> None:
    protection, audit = left.protection, Auditor(left.protection, spark, tmp_path)

    def green() -> None:
        assert audit("--full", flow=f"{protection.name}.west-to-east").code == 0

    left.write("east", 40)
    left.stop_flow()
    left.write("east", 9)
    left.leave_by_the_verb()
    left.write("west", 20)
    assert list_stranded(protection, spark, run=left.run).records
    home = FailbackRun(protection, green, mode="rebuild", rescue="republish")
    home.begin()
    for step, places in _SLEEPS.items():
        if step is StepName.SETTLE:
            green()
        for place in places:
            asleep.append((f"{step} at {place}", FrozenWorker(protection, home.request, step, place)))
        home.step(step)
    home.step(StepName.REPORT)
    state = protection.state("west")
    assert state is not None
    assert (state.phase, state.active) == (Phase.STABLE, "west")
    protection.wait_copied(source="west", target="east", seconds=60)
    before = _everything(protection, home.run)

    for place, worker in asleep:
        said = worker.wake()
        # The flow that it was going to resume runs already: nothing has to be refused.
        expected = ("done: ",) if place.endswith("Mm2Replicator.resume") else ("failed: ", "unknown: ")
        assert said.startswith(expected), (place, said)
        assert _everything(protection, home.run) == before, (place, said)


def _everything(protection: Protection, run: str) -> tuple[Any, ...]:
    """Return everything that a failback may change: also the journal, the ids of the topics and what is in them."""
    with protection.clients() as clients:
        journals = [clients.register(cluster).facts(protection.name, run) for cluster in ("east", "west")]
    topics, contents = [], []
    for cluster in ("east", "west"):
        with protection.cluster(cluster, "admin") as admin:
            owned = [name for name in admin.topics.names() if protection.group.owns_topic(name)]
            topics.append({name: topic.topic_id for name, topic in admin.topics.describe(owned).items()})
        contents.append(outside_view.contents(protection, cluster))
    return outside_view.look(protection), journals, topics, contents
