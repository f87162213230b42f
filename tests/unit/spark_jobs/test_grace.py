"""What seems to wait too long: a running flow is given the time that a record may take, a stopped one is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest

from copy_audit.partitions import PartitionOutcome
from jobs.checksum.grace import FlowWait
from kafka_dr.audit.coverage import Coverage
from kafka_dr.audit.difference import Difference
from kafka_dr.audit.finding import FindingKind
from kafka_dr.clusters import TopicPartition
from kafka_dr.replication.replicator import FlowState, FlowStatus, WatchedFlow
from support.manual_clock import ManualClock

P, Q = TopicPartition("orders", 0), TopicPartition("orders", 1)


@dataclass
class SteadyFlow:
    """A flow that reads a record a second."""

    clock: ManualClock
    begins: int = 40
    state: FlowState = "running"
    asked: int = field(default=0)

    def positions(self) -> dict[TopicPartition, int]:
        self.asked += 1
        moved = int(self.clock.monotonic()) if self.state == "running" else 0
        return {P: self.begins + moved}

    def status(self) -> FlowStatus:
        return FlowStatus(self.state, 1, "")


def outcome(partition: TopicPartition, first: int, after: int) -> PartitionOutcome:
    count = after - first
    waiting = (Difference(FindingKind.LATE, partition.partition, first, None, count, 0),)
    covered = Coverage(produced=count, differing=count)
    places = ((first, first), (first, first))
    return PartitionOutcome(partition.partition, 0, (), waiting, Coverage(), covered, *places, (), late=(first, after))


def late(
    flow: SteadyFlow, *outcomes: tuple[TopicPartition, int, int], seen: int = 0
) -> dict[TopicPartition, set[FindingKind]]:
    flow_wait = FlowWait(cast("WatchedFlow", flow), flow.clock, 30)
    found = flow_wait.judged({each[0]: outcome(*each) for each in outcomes}, {P: seen, Q: seen})
    return {partition: {d.kind for d in each.waiting} for partition, each in found.items()}


def test_old_records_that_a_running_flow_reads_within_what_a_record_may_take_had_only_just_come() -> None:
    flow = SteadyFlow(ManualClock())
    assert late(flow, (P, 40, 50)) == {P: {FindingKind.IN_FLIGHT}}
    assert 10 <= flow.clock.monotonic() < 11


def test_what_a_running_flow_has_not_read_by_then_is_late_and_a_partition_never_picked_up_is() -> None:
    flow = SteadyFlow(ManualClock())
    assert late(flow, (P, 40, 50), (Q, 0, 1)) == {P: {FindingKind.IN_FLIGHT}, Q: {FindingKind.LATE}}
    assert flow.clock.monotonic() == 30
    assert late(SteadyFlow(ManualClock()), (P, 40, 90)) == {P: {FindingKind.LATE}}


@pytest.mark.parametrize("state", ["absent", "stopped", "paused", "failed"])
def test_nobody_waits_for_a_stopped_flow(state: FlowState) -> None:
    flow = SteadyFlow(ManualClock(), state=state)
    assert late(flow, (P, 40, 50)) == {P: {FindingKind.LATE}}
    assert (flow.asked, flow.clock.monotonic()) == (1, 0)


def test_nobody_waits_for_what_an_earlier_audit_has_seen_waiting() -> None:
    flow = SteadyFlow(ManualClock())
    assert late(flow, (P, 40, 50), seen=41) == {P: {FindingKind.LATE}}
    assert (flow.asked, flow.clock.monotonic()) == (1, 0)
    assert late(SteadyFlow(ManualClock(), begins=50), (P, 40, 50), seen=41) == {P: {FindingKind.IN_FLIGHT}}


def test_nothing_is_asked_where_nothing_is_late() -> None:
    flow = SteadyFlow(ManualClock())
    FlowWait(cast("WatchedFlow", flow), flow.clock, 30).judged({P: outcome(P, 40, 50).in_time()}, {})
    assert flow.asked == 0
