"""Records that wait too long, by their own time: some have only just been written and bear an old one.

Who writes may bear any time, and nobody else says when a record came. So a flow that runs is given as long as a record
may take, counted from when it was seen: what it has read by then had only just come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from copy_audit.partitions import PartitionOutcome
from kafka_dr.clock import Clock
from kafka_dr.clusters import TopicPartition
from kafka_dr.replication import Replicator

#: A flow in one of these states reads nothing, however long one waits.
_STILL = frozenset({"absent", "stopped", "paused", "failed"})
_SECONDS_BETWEEN = 0.5


@dataclass(frozen=True, slots=True)
class FlowWait:
    """How long a flow is given.

    :param seconds: how long a record may take from the source to the target
    """

    replicator: Replicator
    clock: Clock
    seconds: float

    def judged(
        self, outcomes: Mapping[TopicPartition, PartitionOutcome], seen_below: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, PartitionOutcome]:
        """Return the outcomes, without what was called late and had only just come.

        :param seen_below: by partition, what an audit saw longer ago than a record may wait: that is late for certain
        """
        late = {partition: each.late for partition, each in outcomes.items() if each.late is not None}
        if not late:
            return dict(outcomes)
        doubtful = any(first >= seen_below.get(partition, 0) for partition, (first, _) in late.items())
        passed = self._passed({partition: after for partition, (_, after) in late.items()}, wait=doubtful)
        return {p: each.in_time() if p in passed else each for p, each in outcomes.items()}

    def _passed(self, wanted: Mapping[TopicPartition, int], *, wait: bool) -> set[TopicPartition]:
        """Return the partitions that the flow has read up to there, as soon as it has read all of them."""
        deadline = self.clock.monotonic() + (self.seconds if wait else 0.0)
        while True:
            positions = self.replicator.positions()
            passed = {partition for partition, offset in wanted.items() if positions.get(partition, 0) >= offset}
            if len(passed) == len(wanted) or self.clock.monotonic() >= deadline:
                return passed
            if self.replicator.status().state in _STILL:
                return passed
            self.clock.sleep(_SECONDS_BETWEEN)
