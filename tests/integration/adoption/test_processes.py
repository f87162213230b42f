"""Processes that no API reaches are taken over: a program of somebody's own, MirrorMaker 2 alone, MirrorMaker 1.

How far they have copied is found by content. They are stopped by a command of their owner, or by the DENY alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.failover.roll_back import roll_back
from kafka_dr.failover.runner import run_step
from kafka_dr.failover.switch import SwitchStopped, switch
from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from kafka_dr.topology import ExistingReplicationSpec
from lab.api import Lab
from support import outside_view
from support.owned_flow import OwnedFlow, dedicated, former_mirrormaker, own_copier, owned
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.taking_over import SilentWatch, TakingOver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]

MAKERS = {"own copier": own_copier, "mirrormaker 2": dedicated, "mirrormaker 1": former_mirrormaker}


def ends(protection: Protection, cluster: str) -> dict[TopicPartition, int]:
    partitions = [TopicPartition(protection.topic, number) for number in range(protection.partitions)]
    with protection.cluster(cluster, "admin") as admin:
        return admin.topics.last_stable_offsets(partitions)


def values(protection: Protection, cluster: str) -> Counter[bytes | None]:
    """Return the values of the payments on a cluster, and how often each is there."""
    with protection.cluster(cluster, "admin") as admin:
        ranges = {p: OffsetRange(0, end) for p, end in ends(protection, cluster).items() if end}
        return Counter(record.value for record in admin.log.read(ranges))


def copied(flow: OwnedFlow, count: int) -> None:
    """Write records on east, and wait until they are on west."""
    flow.protection.produce("east", count)
    flow.wait_copied(ends(flow.protection, "east"))


@pytest.fixture
def protection(request: pytest.FixtureRequest, tmp_path: Path, lab: Lab) -> Iterator[Protection]:
    """A group of the test's own, with as many partitions as its replicator keeps apart."""
    maker = getattr(request.node, "callspec", None) and request.node.callspec.params.get("maker")
    made = Protection(lab, tmp_path, partitions=1 if maker is former_mirrormaker else 2)
    made.create()
    try:
        yield made
    finally:
        made.delete_flows()


@pytest.mark.parametrize("commands", [True, False], ids=["by its owner's command", "by DENY alone"])
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_a_process_is_taken_over_and_nothing_is_missing_or_copied_twice(
    protection: Protection, spark: SparkSession, maker: Callable[..., OwnedFlow], commands: bool
) -> None:
    protection.produce("east", 100)
    flow, taking = maker(protection, commands=commands), TakingOver(protection, spark)
    with owned(flow):
        flow.start()
        copied(flow, 100)
        protection.commit("east", f"{protection.name}-slow", dict.fromkeys(ends(protection, "east"), 17))
        with protection.clients() as clients:
            request, asked = taking.prepared(clients)
            assert ("be asked to stop" in asked) is not commands
            copied(flow, 50)
            done = switch(request, clients, SilentWatch())
            run_step(StepName.REPORT, request, clients)
            state = protection.state("east")
            assert state is not None
            assert (state.phase, state.verb, state.epoch) == (Phase.STABLE, "take_over", 1)
            assert flow.is_running() is not commands, flow.log.read_text()[-2000:]
            assert done[-1].good

            # What runs again, or never ended, cannot write: the DENY holds.
            if not flow.is_running():
                flow.start()
            protection.produce("east", 100)
            protection.wait_copied()
            assert taking.audit() == 0
            failover = protection.request("failover")
            run_step(StepName.PREFLIGHT, failover, clients)
            protection.approve(failover, clients)
            for step in STEPS_AFTER_APPROVAL:
                run_step(step, failover, clients)
        assert values(protection, "west") == values(protection, "east")
        slow = outside_view.committed(protection, "west")[f"{protection.name}-slow"]
        assert slow == dict.fromkeys(ends(protection, "east"), 17)


@pytest.mark.parametrize("commands", [True, False], ids=["by its owner's command", "by DENY alone"])
def test_a_process_that_is_given_back_copies_again_without_a_gap(
    protection: Protection, spark: SparkSession, commands: bool
) -> None:
    flow, taking = own_copier(protection, commands=commands), TakingOver(protection, spark)
    with owned(flow):
        flow.start()
        copied(flow, 100)
        before = outside_view.look(protection)
        with protection.clients() as clients:
            request, _ = taking.prepared(clients)
            for step in (StepName.CLAIM, StepName.STOP_EXISTING):
                run_step(step, request, clients)
            assert flow.is_running() is not commands
            protection.produce("east", 20)
            record = roll_back(request, clients)
        assert record.good, record.detail
        copied(flow, 20)
        assert flow.is_running()
        assert values(protection, "west") == values(protection, "east")
        assert outside_view.look(protection).acls == before.acls


def test_what_a_process_cannot_take_back_is_counted_and_copied_twice(
    protection: Protection, spark: SparkSession
) -> None:
    """It takes no positions: what this project's flow has copied by then comes a second time."""
    flow, taking = own_copier(protection), TakingOver(protection, spark)
    with owned(flow):
        flow.start()
        copied(flow, 100)
        with protection.clients() as clients:
            request, asked = taking.prepared(clients)
            assert "be given positions" in asked
            for step in (StepName.CLAIM, StepName.STOP_EXISTING, StepName.VERIFY_TAIL, StepName.START_FLOW):
                run_step(step, request, clients)
            protection.produce("east", 20)
            flow.wait_copied(ends(protection, "east"))
            record = roll_back(request, clients)
        assert record.facts["copied_twice_at_most"] == 20
        copied(flow, 10)
        twice = {value: count for value, count in values(protection, "west").items() if count > 1}
        assert len(twice) == 20
        assert set(values(protection, "west")) == set(values(protection, "east"))


def test_a_command_that_fails_gives_everything_back(protection: Protection, spark: SparkSession) -> None:
    flow, taking = own_copier(protection), TakingOver(protection, spark)
    with owned(flow):
        flow.start()
        copied(flow, 20)
        spec = flow.declared()["existing_replication"]
        assert isinstance(spec, ExistingReplicationSpec)
        failing = spec.model_copy(update={"stop_command": ("/bin/sh", "-c", "echo not tonight; exit 7")})
        soon = protection.group.timing.model_copy(update={"step_deadline_seconds": 5})
        with (
            protection.changed(existing_replication=failing, timing=soon),
            protection.clients() as clients,
        ):
            request, _ = taking.prepared(clients)
            with pytest.raises(SwitchStopped, match="answered 7, expected 0: not tonight"):
                switch(request, clients, SilentWatch())
            assert roll_back(request, clients).good
        copied(flow, 20)
        assert values(protection, "west") == values(protection, "east")
