"""Canaries are found under every naming: sent to the source, and looked for under the names of their copies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_dr.canary.probe import CanaryReport, run_canary
from kafka_dr.canary.record import CanaryFlow
from kafka_dr.canary.verdict import CanaryOutcome
from kafka_dr.clusters import Record, TopicPartition
from kafka_dr.clusters.renamed import RenamedCluster
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.naming import Naming
from support.manual_clock import ManualClock
from support.memory_cluster import MemoryCluster
from support.observed_twins import NAMINGS, TOPIC

P = TopicPartition(TOPIC, 0)


@dataclass
class WrittenCluster(MemoryCluster):
    """A source whose records somebody else's replicator copies at once, if it does."""

    copy: MemoryCluster | None = None
    remote: str = ""
    copies: int = 1

    @property
    def writing(self) -> WrittenCluster:
        return self

    def append(self, records: Iterable[NewRecord]) -> list[int]:
        offsets = []
        for each in records:
            log = self.topics_held[each.partition.topic][each.partition.partition]
            made = Record(TOPIC, 0, len(log), each.timestamp_ms or 0, each.key, each.value, each.headers)
            log.append(made)
            offsets.append(made.offset)
            for _ in range(self.copies if self.copy else 0):
                remote = self.copy.topics_held[self.remote][0] if self.copy else []
                remote.append(replace(made, topic=self.remote, offset=len(remote)))
        return offsets


@pytest.mark.parametrize("naming", NAMINGS.values(), ids=NAMINGS)
def test_a_canary_is_sent_under_its_name_and_found_under_that_of_its_copy(naming: Naming) -> None:
    remote = naming.copy_of(TOPIC)
    assert remote is not None
    target = MemoryCluster("hamburg", "H", {remote: [[]]})
    source = WrittenCluster("berlin", "B", {TOPIC: [[]]}, copy=target, remote=remote)
    clock = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))

    def look() -> CanaryReport:
        return run_canary(
            CanaryFlow("theirs", "berlin", "hamburg", 0),
            topic=TOPIC,
            publisher=source.as_kafka,
            source=source.as_kafka,
            target=RenamedCluster(target.as_kafka, naming),
            clock=clock,
            late_after=timedelta(seconds=10),
        )

    assert [look().verdict.verdict for _ in range(2)] == [CanaryOutcome.ON_TIME] * 2
    source.copies = 0
    lost = look()
    assert (lost.arrived, lost.verdict.rpo_seconds) == (0, 0.001)
    source.copies = 2
    found = look().verdict
    assert (found.verdict, found.copied_twice) == (CanaryOutcome.LOST, 1)
    assert [each.number for each in found.partitions[0].lost] == [3]
