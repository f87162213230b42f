"""How far the target's copy has come, with what was fetched from other standbys. Pure.

The log of the target ends with what its flow has copied, until something is fetched. Then it ends with what another
standby has copied; and if only a part of that was fetched, its end is at no known offset of the lost cluster's log. So
an offset of that log is never put next to the end of the target's log without asking here: a consumer group would begin
after records that it has not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.named_rows import positions_from_json, positions_to_json
from kafka_dr.positions import SeedPoint
from kafka_dr.rescue.fetch_ledger import Ledger

Offsets = Mapping[TopicPartition, int]
#: The fact of a run that says how far the target's copy has come.
UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class CopyReached:
    """How far a copy has come in the lost cluster's log.

    :param copied: next to copy from the lost cluster, by partition
    :param ends: where the target's log corresponds to that; of a partition that is not in it that is the log's end
    :param before: where both corresponded before anything was fetched, of partitions of which something was
    """

    copied: Offsets
    ends: Offsets = field(default_factory=dict)
    before: Mapping[TopicPartition, SeedPoint] = field(default_factory=dict)

    @classmethod
    def of(cls, by_flow: Offsets, ledger: Ledger, ends: Offsets) -> CopyReached:
        """Put together what the flow has copied, and what was fetched.

        :param by_flow: next to copy for the target's own flow
        :param ends: where the target's log ends
        """
        copied, at = dict(by_flow), {}
        for p, entry in ledger.items():
            whole = entry.reached is not None and p in ends
            copied[p] = entry.reached if whole and entry.reached is not None else entry.position
            at[p] = ends[p] if whole else entry.end
        return cls(copied, at, {p: entry.before for p, entry in ledger.items()})

    def points(self, partition: TopicPartition, end: int) -> tuple[SeedPoint, ...]:
        """Return where the lost cluster's log and the target's are known to correspond; none if nowhere.

        :param end: of the target's log
        """
        if partition not in self.copied:
            return ()
        found = SeedPoint(self.copied[partition], self.ends.get(partition, end))
        return (found,) if partition not in self.before else (self.before[partition], found)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that a run journals in its fact ``unverified``; as for a pair if nothing was fetched."""
        rows = [[p.topic, p.partition, point.source, point.target] for p, point in sorted(self.before.items())]
        fetched = {"copied_ends": positions_to_json(self.ends), "before_fetch": rows} if self.before else {}
        return {"copied": positions_to_json(self.copied), **fetched}

    @classmethod
    def from_json(cls, fact: Mapping[str, Any]) -> CopyReached:
        """Read the fact."""
        rows = fact.get("before_fetch", ())
        before = {TopicPartition(topic, number): SeedPoint(source, target) for topic, number, source, target in rows}
        return cls(
            positions_from_json(fact.get("copied", ())), positions_from_json(fact.get("copied_ends", ())), before
        )
