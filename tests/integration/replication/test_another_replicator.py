"""The verbs with threads in place of MirrorMaker 2: a planned failover there and back, an unplanned one.

Nothing of Connect is used, so whoever relied on it outside its room would be seen here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.register import Phase
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.runs.request import StepName
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab.api import Lab
from support.copying_threads import CopyingThreads
from support.old_cluster import OldClusterGroup
from support.protection import Protection
from support.switched_group import SwitchedGroup

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


def _payments(left: OldClusterGroup, *offsets: int) -> dict[TopicPartition, int]:
    return {TopicPartition(left.protection.topic, number): offset for number, offset in enumerate(offsets)}
