"""Taking over replication that somebody else has set up, on real brokers, Connect and Spark, under load.

Its faults are real: its worker is killed before it commits, so that it copies again, and its position is moved past
records, which are never copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import AclOperation, AclPermission, TopicPartition
from kafka_dr.health.health_check import check_health
from kafka_dr.register import Phase
from kafka_dr.register.taken_over import BEGINS, COPY, CopyMade
from kafka_dr.runs.clients import Clients
from support import outside_view
from support.closed_standby import fewer
from support.existing_flow import ExistingFlow
from support.named_group import NamedGroup, NamedProtection
from support.protection import Protection
from support.route_file import route_file
from support.slow_group import SlowGroup
from support.taking_over import TakingOver
from support.under_load import assert_nothing_missing_or_twice, writing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def at(protection: Protection, *offsets: int) -> dict[TopicPartition, int]:
    return {TopicPartition(protection.topic, number): offset for number, offset in enumerate(offsets)}


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


@pytest.mark.parametrize(
    ("denied", "separator"),
    [
        ("listed", ""),
        pytest.param("all", "", marks=pytest.mark.long),
        pytest.param("listed", ".", marks=pytest.mark.long),
    ],
    indirect=["separator"],
    ids=["same names", "denied all", "other names"],
)
def test_a_flow_with_faults_is_taken_over_under_load_and_then_failed_over(
    existing: ExistingFlow, spark: SparkSession, denied: str
) -> None:
    protection = existing.protection
    taking, slow = TakingOver(protection, spark), SlowGroup(protection, at(protection, 17, 33))
    policy = protection.group.groups_policy.model_copy(update={"reads_both_names": (slow.name,)})
    protection.changes |= {"fence_operations": denied, "groups_policy": policy}
    make_faults(existing)
    slow.commit()
    with writing(protection) as ledger, protection.clients() as clients:
        records, asked = taking.take_over(clients)

        assert "200 REPLAY" in asked
        assert "20 LOST" in asked
        state = protection.state("east")
        assert state is not None
        assert (state.phase, state.active, state.verb, state.epoch) == (Phase.STABLE, "east", "take_over", 1)
        assert state == protection.state("west")
        journal = clients.register("east").facts(protection.name, state.run)
        seed = taking.seed(clients)
        assert journal[BEGINS]["second_copies"] == []
        ranges = CopyMade.from_json(journal[COPY]).second_copies or {}
        found = {p: [each.records for each in each_range] for p, each_range in ranges.items()}
        assert found == {p: [100] for p in at(protection, 0, 0)}
        assert outside_view.connectors(protection)[f"dr.{protection.name}.east-to-west"].startswith("RUNNING")
        assert existing.connect.status(existing.name).settled == "stopped"
        assert protection.refuses_writes("west")
        # Its principal stays denied, also if somebody lifts that.
        denied_before = existing.right(AclOperation.WRITE, AclPermission.DENY)
        with protection.cluster("west", "admin") as admin:
            assert denied_before in admin.acls.list()
            admin.acls.remove([denied_before])
            check_health(protection.name, clients)
            assert denied_before in admin.acls.list()
        if denied == "all":
            looked = [check_health(protection.name, clients).outcome for _ in range(3)]
            assert looked[-1] == "ok", looked
            assert fewer(protection) <= outside_view.denies(protection, "west")
        # The audit that comes next begins at the seed, so what was approved is no finding.
        assert taking.audit() == 0
        if isinstance(protection, NamedProtection):
            NamedGroup(protection).flows()

        announced = taking.fail_over(slow, clients)

    assert_nothing_missing_or_twice(protection, ledger, seed)
    slow.assert_kept(announced, seed, second_copies=200)
    assert records[-1].facts["seconds_until_adopted"] < 60
    with protection.clients() as clients:
        assert_a_lost_route_is_written_again(protection, clients)


def assert_a_lost_route_is_written_again(protection: Protection, clients: Clients) -> None:
    """A group that a run has moved is adopted again by nothing but its route, if somebody has removed that."""
    router = clients.router(protection.group)
    assert adopt(protection.name, clients, "nothing-to-do").outcome == "passed"
    route_file(protection.group).unlink()
    assert adopt(protection.name, clients, "try", dry_run=True).outcome == "would_do"
    assert router.read() is None
    assert adopt(protection.name, clients, "again").outcome == "done"
    route, state = router.read(), protection.state("west")
    assert route is not None
    assert state is not None
    assert (route.active, route.epoch) == (state.active, state.epoch)
