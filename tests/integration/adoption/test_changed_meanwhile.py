"""The old replication is changed in the middle, or copies not all topics: nothing sticks, nothing comes twice."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.register import Phase
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.existing_flow import ExistingFlow
from support.protection import Protection
from support.taking_over import TakingOver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]


def copied(existing: ExistingFlow, count: int) -> None:
    """Let the old replication copy some records."""
    existing.protection.produce("east", count)
    existing.wait_copied(existing.protection.topic_ends("east"))


def values(protection: Protection, cluster: str) -> Counter[bytes | None]:
    """Return the values of the payments on a cluster, and how often each is there."""
    with protection.cluster(cluster, "admin") as admin:
        ranges = {p: OffsetRange(0, end) for p, end in protection.topic_ends(cluster).items() if end}
        return Counter(record.value for record in admin.log.read(ranges))


def through(request: RunRequest, clients: Clients, *steps: StepName) -> list[StepRecord]:
    return [run_step(step, request, clients) for step in steps]


def test_one_that_its_owner_resumed_continues_without_a_copy_twice_when_the_take_over_is_given_back(
    existing: ExistingFlow, spark: SparkSession
) -> None:
    protection = existing.protection
    existing.start()
    copied(existing, 60)
    before = outside_view.look(protection)
    with protection.clients() as clients:
        request, _ = TakingOver(protection, spark).prepared(clients)
        through(request, clients, StepName.CLAIM, StepName.STOP_EXISTING)
        existing.connect.resume(existing.name)
        protection.produce("east", 20)
        assert existing.connect.wait_for(existing.name, "failed", deadline_seconds=60).settled == "failed"
        through(request, clients, StepName.VERIFY_TAIL, StepName.START_FLOW)
        protection.produce("east", 30)
        protection.wait_copied()

        record = roll_back(request, clients)

    assert record.outcome == "done"
    assert record.facts["copied_here"] >= 50
    assert "copied_twice_at_most" not in record.facts
    now = outside_view.look(protection)
    assert (now.acls, now.connectors) == (before.acls, before.connectors)
    assert existing.connect.status(existing.name).settled == "running"
    copied(existing, 20)
    assert values(protection, "west") == values(protection, "east")


def test_one_that_its_owner_deleted_keeps_no_deny_and_no_group_when_the_take_over_is_given_back(
    existing: ExistingFlow, spark: SparkSession
) -> None:
    protection = existing.protection
    existing.start()
    copied(existing, 60)
    before = outside_view.look(protection)
    with protection.clients() as clients:
        request, _ = TakingOver(protection, spark).prepared(clients)
        through(request, clients, StepName.CLAIM, StepName.STOP_EXISTING, StepName.VERIFY_TAIL, StepName.START_FLOW)
        protection.produce("east", 30)
        protection.wait_copied()
        existing.connect.delete(existing.name)

        record = roll_back(request, clients)

    assert record.outcome == "done"
    assert f"{existing.name} is absent" in record.facts["because"]
    (asked,) = [proof for proof in record.proofs if proof.name == "existing_runs_again"]
    assert (asked.outcome, f"deleted {existing.name}" in asked.detail) == ("excused", True)
    now = outside_view.look(protection)
    assert (now.acls, now.connectors) == (before.acls, before.connectors)


def test_a_release_ends_although_the_old_replication_does_not_copy_a_topic_that_came_later(
    existing: ExistingFlow, spark: SparkSession
) -> None:
    protection = existing.protection
    existing.only = protection.topic
    existing.start()
    copied(existing, 60)
    before = outside_view.look(protection)
    taking, later = TakingOver(protection, spark), f"{protection.name}.later"
    with protection.clients() as clients:
        taking.take_over(clients)
        for cluster in ("east", "west"):
            with protection.cluster(cluster, "admin") as admin:
                admin.topics.create(later, partitions=1, replication_factor=1, config={})
        protection.produce("east", 40)
        protection.produce("east", 5, topic=later, partitions=1)
        protection.wait_copied(seconds=60)
        request = taking.request("un_adopt")
        run_step(StepName.PREFLIGHT, request, clients)
        asked = taking.approve(request, clients)
        assert f"**Nothing copies** `{later}`" in asked
        handed = through(request, clients, StepName.CLAIM, StepName.STOP_FLOW, StepName.HAND_BACK)[-1]
        through(request, clients, StepName.SETTLE, StepName.REPORT)

    assert handed.facts["positions"] == f"2 positions handed over; it does not copy {later}-0"
    state = protection.state("east")
    assert state is not None
    assert state.phase is Phase.RELEASED
    now = outside_view.look(protection)
    assert (now.acls, now.connectors) == (before.acls, before.connectors)
    copied(existing, 20)
    assert values(protection, "west") == values(protection, "east")
    assert len(outside_view.contents(protection, "west")[TopicPartition(later, 0)]) == 5
