"""Processes that no API reaches are taken over: a program of somebody's own, MirrorMaker 2 alone, MirrorMaker 1.

How far they have copied is found by content. They are stopped by a command of their owner, or by the DENY alone. Their
faults are real: a process leaves records out that are before its position, and copies again what it has not committed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from kafka_dr.topology.existing import ExistingReplicationSpec
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from kafka_dr.verbs.switch import SwitchStopped, switch
from lab.api import Lab
from support import outside_view
from support.observed_command import observed
from support.owned_flow import OwnedFlow, dedicated, former_mirrormaker, own_copier, owned
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.slow_group import SlowGroup
from support.taking_over import SilentWatch, TakingOver
from support.under_load import assert_nothing_missing_or_twice, values, writing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]

#: How many records a process leaves out, and how many it copies twice.
LEFT_OUT, TWICE = 20, 180
MAKERS = {"own copier": own_copier, "mirrormaker 2": dedicated, "mirrormaker 1": former_mirrormaker}


def copied(flow: OwnedFlow, count: int) -> None:
    """Write records on east, and wait until they are on west."""
    flow.protection.produce("east", count)
    flow.wait_copied(flow.protection.topic_ends("east"))


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
        protection.commit("east", f"{protection.name}-slow", dict.fromkeys(protection.topic_ends("east"), 17))
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
        assert slow == dict.fromkeys(protection.topic_ends("east"), 17)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_a_process_with_faults_is_observed_and_taken_over_and_failed_over_under_load(
    protection: Protection, spark: SparkSession, maker: Callable[..., OwnedFlow]
) -> None:
    flow, taking = maker(protection), TakingOver(protection, spark)
    slow = SlowGroup(protection, dict.fromkeys(protection.topic_ends("east"), 40))
    with owned(flow):
        faults = make_faults(flow)
        slow.commit()
        with writing(protection) as ledger, protection.clients() as clients:
            flow.wait_copied({p: end + 5 for p, end in protection.topic_ends("west").items()})
            assert_found(observed(protection))
            assert flow.is_running()

            _, asked = taking.take_over(clients)
            assert f"{LEFT_OUT} LOST, {TWICE} REPLAY" in asked
            assert not flow.is_running()
            seed = taking.seed(clients)
            # What runs again cannot write, also not after the failover: the DENY holds.
            flow.start()
            assert taking.audit() == 0
            announced = taking.fail_over(slow, clients)

    assert_nothing_missing_or_twice(protection, ledger, seed)
    slow.assert_kept(announced, seed, second_copies=TWICE)
    # Every record is on west as often as on east, but for the faults that were approved.
    on_east, on_west = values(protection, "east"), values(protection, "west")
    sure = on_east.keys() - ledger.attempts.keys()
    other = {value: (on_east[value], on_west[value]) for value in sure if on_west[value] != on_east[value]}
    assert other == {value: (1, 1 + more) for value, more in faults.items()}


def make_faults(flow: OwnedFlow) -> dict[bytes | None, int]:
    """Let it leave out some records, and copy all others twice, as it is killed before it commits.

    :returns: by value, how many copies too many a plain client sees
    """
    protection = flow.protection
    left_out, twice = (count // protection.partitions for count in (LEFT_OUT, TWICE))
    protection.produce("east", LEFT_OUT + TWICE)
    partitions = protection.topic_ends("east")
    flow.begin_at(dict.fromkeys(partitions, left_out))
    flow.start_without_commits()
    flow.wait_copied(dict.fromkeys(partitions, twice))
    flow.kill()
    flow.start()
    flow.wait_copied(dict.fromkeys(partitions, 2 * twice))
    on_east, on_west = values(protection, "east"), values(protection, "west")
    faults = {value: on_west[value] - count for value, count in on_east.items()}
    assert Counter(faults.values()) == {-1: LEFT_OUT, 1: TWICE}
    return faults


def assert_found(report: dict[str, Any]) -> None:
    """The report names the faults, each as often as it is there, and nothing else; the copy goes forward meanwhile."""
    found = {kind: count for kind, count in report["totals"].items() if count}
    # How much is on its way differs from moment to moment.
    read = found.pop("records_read_on_source") - found.pop("in_flight", 0)
    assert found == {"lost": LEFT_OUT, "duplicated": TWICE}
    assert sum(row["equal"] for row in report["partitions"]) == read - LEFT_OUT > TWICE
    assert (report["verdict"], report["not_looked_at"], report["partitions_left_out"]) == ("failed", [], [])
    assert f"there are also: {TWICE} second copies" in report["sentence"]


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
            flow.wait_copied(protection.topic_ends("east"))
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
