"""Grace for records that seem late by their own timestamp: some were written just now with an old timestamp.

A producer may set any timestamp, and nothing else shows when a record was written. So a running flow is given as long
as a record may take, from the moment when the record was seen: what it has read by then is not late.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from copy_audit.partitions import PartitionOutcome
from kafka_dr.clock import Clock
from kafka_dr.clusters import TopicPartition
from kafka_dr.replication.replicator import WatchedFlow
from kafka_dr.waiting import wait_until

#: A flow in one of these states reads nothing, so there is no reason to wait.
_STILL = frozenset({"absent", "stopped", "paused", "failed"})
_SECONDS_BETWEEN = 0.5


@dataclass(frozen=True, slots=True)
class FlowWait:
    """Waits for the flow.

    :param seconds: how long a record may take from the source to the target
    """

    watched: WatchedFlow
    clock: Clock
    seconds: float

    def judged(
        self, outcomes: Mapping[TopicPartition, PartitionOutcome], seen_below: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, PartitionOutcome]:
        """Return the outcomes, without the late records that turned out to be new.

        :param seen_below: by partition, what an audit saw longer ago than a record may wait: such a record is late for
            certain
        """
        late = {partition: each.late for partition, each in outcomes.items() if each.late is not None}
        if not late:
            return dict(outcomes)
        doubtful = any(first >= seen_below.get(partition, 0) for partition, (first, _) in late.items())
        passed = self._passed({partition: after for partition, (_, after) in late.items()}, wait=doubtful)
        return {p: each.in_time() if p in passed else each for p, each in outcomes.items()}

    def _passed(self, wanted: Mapping[TopicPartition, int], *, wait: bool) -> set[TopicPartition]:
        """Return the partitions that the flow has read up to there, as soon as it has read all of them."""

        def passed() -> set[TopicPartition]:
            positions = self.watched.positions()
            return {partition for partition, offset in wanted.items() if positions.get(partition, 0) >= offset}

        return wait_until(
            passed,
            lambda found: not wait or len(found) == len(wanted) or self.watched.status().state in _STILL,
            clock=self.clock,
            seconds=self.seconds,
            pause_seconds=_SECONDS_BETWEEN,
        )
