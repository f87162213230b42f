"""A connector that copies exactly once as this project's replicator is taken over with its copy, and deleted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kafka_dr.adoption.take_over.give_back import give_back
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import TopicPartition
from kafka_dr.register import Phase
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.mirrormaker_flows import MirrorMakerFlows
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import StepName
from kafka_dr.topology.existing import ExistingReplicationSpec
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.protection import Protection
from support.taking_over import TakingOver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.long,
    pytest.mark.parametrize("separator", ["", "."], ids=["same names", "other names"], indirect=True),
]


class OwnConnector:
    """A connector of another name with the settings of this project, on the standby's own Connect."""

    def __init__(self, protection: Protection) -> None:
        self.protection = protection
        self.name = f"team-{protection.name}"
        topology = protection.topology
        self.id = topology.cluster("west").connect
        with protection.clients() as clients:
            self.connect = ConnectClient(clients.connections.http(self.id), clock=SystemClock())
            group = GroupContext(protection.name, clients).group
            self._settings = MirrorMakerFlows(clients).replicator(protection.flow, group).config()
        spec = ExistingReplicationSpec(
            replicator="mirrormaker_connect",
            principal=topology.group(protection.name).replicator_principal,
            connect=self.id,
            connectors=(self.name,),
        )
        protection.changes.update({"existing_replication": spec, "drill": None})

    def start(self) -> None:
        settings = {key: value for key, value in self._settings.items() if key != "name"}
        self.connect.create(self.name, settings, stopped=False)
        assert self.connect.wait_for(self.name, "running", deadline_seconds=60).settled == "running"

    def wait_copied(self, seconds: float = 60) -> None:
        """Wait until west holds every value of east; no flow of this project could say that."""
        deadline = time.monotonic() + seconds
        while (on_west := values(self.protection, "west")) != (on_east := values(self.protection, "east")):
            assert time.monotonic() < deadline, (_counts(on_west), _counts(on_east))
            time.sleep(0.2)

    def end(self) -> None:
        self.connect.delete(self.name)
        self.connect.close()


@pytest.fixture
def connector(protection: Protection) -> Iterator[OwnConnector]:
    found = OwnConnector(protection)
    protection.produce("east", 200)
    try:
        found.start()
        found.wait_copied()
        yield found
    finally:
        found.end()


def values(protection: Protection, cluster: str) -> dict[TopicPartition, list[bytes | None]]:
    """Return what a cluster holds of east's topics, by what west calls their copies."""
    named = protection.copy if cluster == "east" else lambda partition: partition
    found = outside_view.contents(protection, cluster)
    return {named(p): [value for _, _, value, _ in log] for p, log in found.items() if log}


def _counts(found: dict[TopicPartition, list[bytes | None]]) -> dict[str, int]:
    return {str(p): len(log) for p, log in found.items()}


def test_it_is_taken_over_without_a_second_copy_and_is_gone_then(connector: OwnConnector, spark: SparkSession) -> None:
    protection = connector.protection
    with protection.clients() as clients:
        _, asked = TakingOver(protection, spark).take_over(clients)
    assert "deleted when the group is adopted" in asked
    state = protection.state("east")
    assert state is not None
    assert (state.phase, state.verb) == (Phase.STABLE, "take_over")
    assert connector.connect.status(connector.name).settled == "absent"
    protection.produce("east", 50)
    protection.wait_copied()
    assert values(protection, "west") == values(protection, "east")
    assert protection.refuses_writes("west")


def test_one_that_is_started_again_meanwhile_ends_the_take_over_and_runs_on(
    connector: OwnConnector, spark: SparkSession
) -> None:
    protection = connector.protection
    taking = TakingOver(protection, spark)
    with protection.clients() as clients:
        request, _ = taking.prepared(clients)
        for step in (StepName.CLAIM, StepName.STOP_EXISTING, StepName.VERIFY_TAIL):
            run_step(step, request, clients)
        connector.connect.resume(connector.name)
        connector.connect.wait_for(connector.name, "running", deadline_seconds=60)
        with pytest.raises(StepFailed, match="somebody started it again"):
            run_step(StepName.START_FLOW, request, clients)
        assert outside_view.connectors(protection) == {}
        assert give_back(request, clients).outcome == "done"
    assert connector.connect.status(connector.name).settled == "running"
    protection.produce("east", 50)
    connector.wait_copied()


@pytest.mark.parametrize("deleted", [False, True])
def test_it_is_given_back_after_this_projects_flow_has_copied_also_if_somebody_has_deleted_it(
    connector: OwnConnector, spark: SparkSession, deleted: bool
) -> None:
    protection = connector.protection
    before = outside_view.look(protection)
    with protection.clients() as clients:
        request, _ = TakingOver(protection, spark).prepared(clients)
        for step in (StepName.CLAIM, StepName.STOP_EXISTING, StepName.VERIFY_TAIL, StepName.START_FLOW):
            run_step(step, request, clients)
        protection.produce("east", 50)
        protection.wait_copied()
        if deleted:
            connector.connect.delete(connector.name)
        record = give_back(request, clients)
    assert record.outcome == "done"
    assert ("is absent" in record.facts.get("because", "")) is deleted
    now = outside_view.look(protection)
    assert (now.acls, now.connectors) == (before.acls, before.connectors)
    if not deleted:
        protection.produce("east", 50)
        connector.wait_copied()
    assert values(protection, "west") == values(protection, "east")
