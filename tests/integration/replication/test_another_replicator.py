"""The verbs with threads in place of MirrorMaker 2: a planned failover there and back, an unplanned one, a failback.

Nothing of Connect is used, so whoever relied on it outside its room would be seen here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.register import Phase
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.runs.request import StepName
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab.api import Lab
from support.copying_threads import CopyingThreads, watched_by
from support.failback_run import FailbackRun
from support.old_cluster import OldClusterGroup
from support.protection import Protection
from support.switched_group import SwitchedGroup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


@pytest.fixture
def threads(lab: Lab, tmp_path: Path) -> Iterator[CopyingThreads]:
    """A group that threads copy; Connect is not asked by anybody."""

    def asked(*_: object, **__: object) -> None:
        raise AssertionError("Connect was asked")

    protection = Protection(lab, tmp_path)
    with CopyingThreads.copying(protection) as made, mock.patch.object(ConnectClient, "_ask", asked):
        yield made


def test_a_group_that_threads_copy_is_moved_there_and_back(threads: CopyingThreads) -> None:
    group = SwitchedGroup.adopt(threads.protection)
    for target in ("west", "east"):
        group.produce(20)
        group.go(StepName.REPORT)
        assert group.active == target
        assert threads.protection.takes_writes(target)
        group.produce(20)
        group.wait_equal()
    with threads.protection.clients() as clients:
        flows = reconcile_flows(group.name, clients)
        assert flows.outcome == "ok", flows


@pytest.mark.long
def test_a_source_that_is_given_up_while_threads_copy_is_fenced_and_drained_and_what_it_lost_is_known(
    threads: CopyingThreads,
) -> None:
    left = OldClusterGroup(threads.protection)
    threads.protection.create()
    threads.protection.adopt()
    left.write("east", 40)
    left.write_committed("east", 4)
    threads.protection.commit("east", f"{threads.protection.name}-slow", _payments(left, 5, 7))
    left.stop_flow()
    left.write("east", 9)
    left.leave_by_the_verb()
    assert threads.protection.takes_writes("west")
    assert threads.protection.refuses_writes("east")
    state = threads.protection.state("west")
    assert state is not None
    assert (state.phase, state.active) == (Phase.DIVERGED, "west")


@pytest.mark.long
@pytest.mark.spark
def test_threads_make_the_old_cluster_a_copy_again(
    threads: CopyingThreads, spark: SparkSession, tmp_path: Path
) -> None:
    from support.checksum import Auditor
    from support.stranding import list_stranded

    protection = threads.protection
    left = OldClusterGroup(protection)
    protection.create()
    protection.adopt()
    left.write("east", 40)
    left.write_committed("east", 4)
    protection.commit("east", f"{protection.name}-slow", _payments(left, 5, 7))
    left.stop_flow()
    left.write("east", 9)
    left.leave_by_the_verb()
    left.write("west", 20)
    watch, audit = watched_by(protection, threads), Auditor(protection, spark, tmp_path)

    def green() -> None:
        found = audit("--full", flow=f"{protection.name}.west-to-east")
        assert found.code == 0, found.report["findings"]

    with mock.patch("jobs.flows.watch_flow", watch), mock.patch("jobs.stranded.job.watch_flow", watch):
        assert list_stranded(protection, spark, run=left.run).code == 1, "there are some"
        home = FailbackRun(protection, green, mode="rebuild")
        home.begin()
        home.finish()
    state = protection.state("east")
    assert state is not None
    assert (state.phase, state.active) == (Phase.STABLE, "west")
    left.write("west", 5)
    SwitchedGroup(protection).go(StepName.REPORT)
    assert protection.takes_writes("east")


def _payments(left: OldClusterGroup, *offsets: int) -> dict[TopicPartition, int]:
    return {TopicPartition(left.protection.topic, number): offset for number, offset in enumerate(offsets)}
