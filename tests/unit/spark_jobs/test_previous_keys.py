"""Which keys of a compacted topic may still have a value: what earlier audits saw of them, and what is there now."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from jobs.checksum.plan import AuditPlan, PartitionAuditPlan
from jobs.checksum.previous_scans import PreviousKeys
from jobs.checksum.state import AuditState, PartitionState, Scan
from jobs.fingerprint_log import FingerprintLog
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition

P = TopicPartition("orders", 0)
NOW = datetime(2026, 3, 1, tzinfo=UTC)
#: By key: the offset of its newest record in the log, and whether that deletes it.
SEEN = {1: (10, False), 2: (300, False), 3: (20, True), 4: (2, False)}


@dataclass
class Kept:
    """What the log would answer."""

    scans: Collection[str]

    def exists(self, name: str, _side: str) -> bool:
        return name in self.scans

    def newest_of_keys(self, *asked: Any) -> Mapping[int, tuple[int, bool]]:
        return {key: SEEN[key] for key in asked[-1] if key in SEEN}


@dataclass
class FewRecords:
    """A partition with a few records, of which those below its start are gone."""

    records: Collection[int]
    start: int = 5
    read_ranges: list[OffsetRange] = field(default_factory=list)

    @property
    def topics(self) -> Any:
        return SimpleNamespace(log_starts=lambda partitions: dict.fromkeys(partitions, self.start))

    @property
    def log(self) -> Any:
        return SimpleNamespace(read=self._read)

    def _read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Any]:
        self.read_ranges += ranges.values()
        return (SimpleNamespace(offset=n) for r in ranges.values() for n in self.records if r.start <= n < r.end)


def living(
    cluster: FewRecords, *, known: PartitionState, scans: Collection[str] = ("one", "two"), **plan: bool
) -> frozenset[int]:
    state = AuditState(("E", "W", 1), {}, {P: known}, tuple(Scan(name, NOW, {}) for name in ("one", "two")))
    each = PartitionAuditPlan(known, OffsetRange(0, 0), OffsetRange(0, 0), plan.get("first", False), again=False)
    log, reached = cast("FingerprintLog", Kept(scans)), cast("KafkaCluster", cluster)
    keys = PreviousKeys(log, AuditPlan(state, {P: each}), "orders", {"source": reached, "target": reached})
    return keys.living("target", 0, np.array([1, 2, 3, 4, 9], np.int64))


WHOLE = PartitionState(begun="one", from_start=True)


def test_a_value_that_is_there_still_is_one_and_what_was_deleted_or_cleaned_is_none() -> None:
    cluster = FewRecords({10, 20, 60})
    assert living(cluster, known=WHOLE) == {1}
    assert cluster.read_ranges == [OffsetRange(10, 11), OffsetRange(300, 301)], "what expired is not asked for"


def test_a_key_that_the_log_does_not_know_may_have_one_where_the_log_does_not_reach_back() -> None:
    cases = [
        (PartitionState(begun="gone", from_start=True), ("one", "two")),
        (PartitionState(begun="one", from_start=False), ("one", "two")),
        (WHOLE, ("two",)),
    ]
    for known, scans in cases:
        assert living(FewRecords(()), known=known, scans=scans) == {9}


def test_a_first_audit_knows_all_there_is() -> None:
    assert living(FewRecords({10}), known=PartitionState(), first=True) == frozenset()
