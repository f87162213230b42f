"""Canaries sent across a real flow, by the principals that do it in production."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kafka_dr.canary.probe import CanaryReport, round_trip, run_canary
from kafka_dr.canary.record import CanaryFlow
from kafka_dr.canary.verdict import CanaryOutcome
from kafka_dr.clock import SystemClock
from support.plain_flow import PlainFlow

pytestmark = pytest.mark.kafka


def send(flowing: PlainFlow, *, late_after: float = 60, wait_seconds: float = 30) -> CanaryReport:
    return run_canary(
        CanaryFlow(flowing.protection.name, flowing.active, flowing.standby, flowing.epoch),
        topic=flowing.protection.group.canary_topic,
        publisher=flowing.clients.cluster(flowing.active, "probe"),
        source=flowing.audit(flowing.active),
        target=flowing.audit(flowing.standby),
        clock=SystemClock(),
        late_after=timedelta(seconds=late_after),
        wait_seconds=wait_seconds,
    )


def test_canaries_arrive_on_time_and_are_numbered_on(flowing: PlainFlow) -> None:
    flowing.start()
    first, second = send(flowing), send(flowing)
    assert [report.verdict.verdict for report in (first, second)] == [CanaryOutcome.ON_TIME, CanaryOutcome.ON_TIME]
    assert (first.sent, first.arrived, second.arrived) == (1, 1, 1)
    assert second.verdict.partitions[0].on_time == 2
    assert second.verdict.rpo_seconds == 0


def test_a_flow_that_copies_nothing_is_unknown_first_and_then_late(flowing: PlainFlow) -> None:
    flowing.start()
    send(flowing)
    flowing.stop()
    pending = send(flowing, wait_seconds=0.1)
    late = send(flowing, late_after=0.05, wait_seconds=0.2)
    assert (pending.arrived, pending.seconds) == (0, None)
    assert pending.verdict.partitions[0].pending == 1
    assert late.verdict.verdict is CanaryOutcome.LATE


def test_a_switch_neither_forgets_nor_invents_a_loss(flowing: PlainFlow) -> None:
    flowing.start()
    send(flowing)
    flowing.switch()
    assert send(flowing).verdict.verdict is CanaryOutcome.ON_TIME


def test_a_round_trip_is_no_canary(flowing: PlainFlow) -> None:
    flowing.start()
    send(flowing)
    topic = flowing.protection.group.canary_topic
    trip = round_trip(flowing.clients.cluster("east", "probe"), topic, origin="east", clock=SystemClock())
    assert (trip.records, trip.origin) == (1, "east")
    assert send(flowing).verdict.partitions[0].on_time == 2
