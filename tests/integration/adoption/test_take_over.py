"""Taking over replication that somebody else has set up, on real brokers, Connect and Spark, under load.

Its faults are real: its worker is killed before it commits, so that it copies again, and its position is moved past
records, which are never copied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import AclOperation, AclPermission, OffsetRange, TopicPartition
from kafka_dr.failover.runner import run_step
from kafka_dr.failover.unplanned import translate_without_source
from kafka_dr.failover.unplanned.last_known import KnownOffsets
from kafka_dr.health.health_check import check_health
from kafka_dr.offsets import to_commit
from kafka_dr.register import Phase
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed
from kafka_dr.register.taken_over import BEGINS, COPY, CopyMade
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run
from lab import rights
from support import outside_view
from support.acknowledged_writes import Ledger, WritingApplication
from support.existing_flow import ExistingFlow
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.taking_over import TakingOver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def at(protection: Protection, *offsets: int) -> dict[TopicPartition, int]:
    return {TopicPartition(protection.topic, number): offset for number, offset in enumerate(offsets)}


@contextmanager
def writing(protection: Protection) -> Iterator[Ledger]:
    """Let an application write to the cluster that the route names, east without a route."""
    ledger = Ledger()
    settings = {c: protection.lab.client_settings(c, rights.ORDERS_APP) for c in ("east", "west")}

    def now() -> str:
        with protection.clients() as clients:
            route = clients.router(protection.group).read()
        return route.active if route else "east"

    application = WritingApplication("writer", ledger, protection.topic, cluster_now=now, settings=settings)
    application.start()
    try:
        yield ledger
    finally:
        application.stop()


def make_faults(existing: ExistingFlow) -> None:
    """Copy 200 records twice, and never copy 20."""
    protection = existing.protection
    protection.produce("east", 200)
    existing.start()
    existing.wait_copied(at(protection, 100, 100))
    existing.die_and_come_back()
    existing.wait_copied(at(protection, 200, 200))
    existing.connect.stop(existing.name)
    existing.connect.wait_for(existing.name, "stopped", deadline_seconds=30)
    protection.produce("east", 20)
    existing.skip(at(protection, 110, 110))
    protection.produce("east", 20)
    existing.wait_copied(at(protection, 210, 210))


def test_a_flow_with_faults_is_taken_over_under_load_and_then_failed_over(
    existing: ExistingFlow, spark: SparkSession
) -> None:
    protection = existing.protection
    make_faults(existing)
    taking = TakingOver(protection, spark)
    protection.commit("east", f"{protection.name}-slow", at(protection, 17, 33))
    with writing(protection) as ledger, protection.clients() as clients:
        records, asked = taking.take_over(clients)

        assert "200 REPLAY" in asked
        assert "20 LOST" in asked
        state = protection.state("east")
        assert state is not None
        assert (state.phase, state.active, state.verb, state.epoch) == (Phase.STABLE, "east", "take_over", 1)
        assert state == protection.state("west")
        journal = clients.register("east").facts(protection.name, state.run)
        seed = FlowSeed.from_json(journal[FLOW_SEED])
        assert journal[BEGINS]["second_copies"] == []
        ranges = CopyMade.from_json(journal[COPY]).second_copies or {}
        found = {p: [each.records for each in each_range] for p, each_range in ranges.items()}
        assert found == {p: [100] for p in at(protection, 0, 0)}
        assert outside_view.connectors(protection)[f"dr.{protection.name}.east-to-west"].startswith("RUNNING")
        assert existing.connect.status(existing.name).settled == "stopped"
        assert protection.refuses_writes("west")
        # Its principal stays denied, also if somebody lifts that.
        denied = existing.right(AclOperation.WRITE, AclPermission.DENY)
        with protection.cluster("west", "admin") as admin:
            assert denied in admin.acls.list()
            admin.acls.remove([denied])
            check_health(protection.name, clients)
            assert denied in admin.acls.list()
        # The audit that comes next begins at the seed, so what was approved is no finding.
        assert taking.audit() == 0

        request = protection.request("failover")
        seen = run_step(StepName.PREFLIGHT, request, clients).facts
        question = taking.approve(request, clients)
        without_source = placed_without_source(protection, clients)
        for step in STEPS_AFTER_APPROVAL:
            run_step(step, request, clients)

    assert_nothing_missing_or_twice(protection, ledger, seed)
    slow = outside_view.committed(protection, "west")[f"{protection.name}-slow"]
    assert_never_late(protection, slow, at(protection, 17, 33), seed)
    [promised] = [row for row in seen["measurements"]["groups"] if row["group"] == f"{protection.name}-slow"]
    assert_promise_kept(protection, slow, promised["redelivered_at_most"], seed)
    assert (promised["class"], promised["second_copies"]) == ("bounded", 200)
    assert {"group": f"{protection.name}-slow", "class": "bounded"} in seen["decision"]["offset_classes"]
    assert r"at most 200 records read again \(200 are second copies" in question
    assert_promise_kept(protection, *without_source, seed)
    assert records[-1].facts["seconds_until_adopted"] < 60
    with protection.clients() as clients:
        assert_a_lost_route_is_written_again(protection, clients)


def placed_without_source(protection: Protection, clients: Clients) -> tuple[dict[TopicPartition, int], int]:
    """Return where the group that is far behind would resume if east were gone, and what it is said to read again."""
    run = Run(protection.request("unplanned_failover"), clients)
    known = KnownOffsets({f"{protection.name}-slow": at(protection, 17, 33)}, final=True)
    placed = translate_without_source.translate(run, {}, known)
    again = [each.redelivered_at_most for each in placed]
    return to_commit(placed)[f"{protection.name}-slow"], sum(count for count in again if count is not None)


def assert_promise_kept(
    protection: Protection, resumed: dict[TopicPartition, int], promised: int, seed: FlowSeed
) -> None:
    """The group reads as many records twice on west, from where it resumes, as was said, or a few less."""
    twice = 0
    for partition, position in at(protection, 17, 33).items():
        with protection.cluster("east", "admin") as east, protection.cluster("west", "admin") as west:
            unread = {r.value for r in east.log.read({partition: OffsetRange(position, seed.on_source[partition])})}
            old = OffsetRange(resumed[partition], seed.on_target[partition])
            delivered = Counter(record.value for record in west.log.read({partition: old}))
        twice += sum(count - (value in unread) for value, count in delivered.items())
    assert twice <= promised <= twice + 20
    assert twice >= 200


def assert_a_lost_route_is_written_again(protection: Protection, clients: Clients) -> None:
    """A group that a run has moved is adopted again by nothing but its route, if somebody has removed that."""
    router = clients.router(protection.group)
    assert adopt(protection.name, clients, "nothing-to-do").outcome == "passed"
    Path(protection.group.route.path).unlink()
    assert adopt(protection.name, clients, "try", dry_run=True).outcome == "would_do"
    assert router.read() is None
    assert adopt(protection.name, clients, "again").outcome == "done"
    route, state = router.read(), protection.state("west")
    assert route is not None
    assert state is not None
    assert (route.active, route.epoch) == (state.active, state.epoch)


def assert_nothing_missing_or_twice(protection: Protection, ledger: Ledger, seed: FlowSeed) -> None:
    """Every record that was acknowledged is on west, once if it was copied after the take over."""
    on_west = outside_view.contents(protection, "west")
    values = Counter(value for log in on_west.values() for _, _, value, _ in log)
    assert {value for value in ledger.acknowledged if not values[value]} == set()
    new: Counter[bytes | None] = Counter()
    with protection.cluster("west", "admin") as admin:
        ends = admin.topics.last_stable_offsets(seed.on_target)
        ranges = {p: OffsetRange(start, ends[p]) for p, start in seed.on_target.items() if start < ends[p]}
        new.update(
            record.value for record in admin.log.read(ranges) if record.topic_partition.topic == protection.topic
        )
    assert {value: count for value, count in new.items() if count > 1} == {}
    assert len(new) > 10


def assert_never_late(
    protection: Protection, resumed: dict[TopicPartition, int], before: dict[TopicPartition, int], seed: FlowSeed
) -> None:
    """A group that was far behind reads on west every record that it has not read on east, as far as it was copied."""
    for partition, position in before.items():
        with protection.cluster("east", "admin") as east, protection.cluster("west", "admin") as west:
            unread = OffsetRange(position, east.topics.last_stable_offsets([partition])[partition])
            wanted = [record.value for record in east.log.read({partition: unread})]
            held = OffsetRange(0, west.topics.last_stable_offsets([partition])[partition])
            copied = {record.value for record in west.log.read({partition: held})}
            left = OffsetRange(resumed[partition], held.end)
            delivered = {record.value for record in west.log.read({partition: left})}
        assert [value for value in wanted if value in copied and value not in delivered] == []
