from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.adoption.adopt import wait_until_led
from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.errors import StaleMetadata
from kafka_dr.errors import TryAgain
from support.manual_clock import ManualClock

P = TopicPartition("orders.payments", 0)


@dataclass
class Fresh:
    """A cluster whose leaders know only at a time that they lead; and as much of a context as the wait needs."""

    leads_at: float
    clock: ManualClock = field(default_factory=ManualClock)
    group: Any = field(default_factory=lambda: SimpleNamespace(name="orders"))

    @property
    def topics(self) -> Fresh:
        return self

    def operator(self, _cluster: str) -> Fresh:
        return self

    def partitions(self, _cluster: str) -> tuple[TopicPartition, ...]:
        return (P,)

    def log_starts(self, partitions: tuple[TopicPartition, ...]) -> dict[TopicPartition, int]:
        if self.clock.monotonic() < self.leads_at:
            raise StaleMetadata("east: could not read the ends of orders.payments: NOT_LEADER_FOR_PARTITION")
        return dict.fromkeys(partitions, 0)


def test_topics_that_were_just_created_are_waited_for() -> None:
    clock = ManualClock()
    fresh = Fresh(clock.monotonic() + 20, clock)
    wait_until_led(fresh, "east")  # type: ignore[arg-type]
    assert clock.monotonic() >= fresh.leads_at


def test_a_partition_without_a_leader_is_named_with_what_to_do() -> None:
    fresh = Fresh(float("inf"))
    with pytest.raises(TryAgain, match=r"NOT_LEADER_FOR_PARTITION.* on east: bring its brokers up, then run dr_adopt"):
        wait_until_led(fresh, "east")  # type: ignore[arg-type]
