"""What audits matched, as places to begin a translation at.

The offset map of the audits says for almost every record where its copy lies. It is a help and never a proof, as pairs
that were remembered are: content confirms it again before anything rests on it. Where replication has since turned
round, the map of the other direction is read the other way.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_dr.audit.kept_map import KeptMap, MapKey
from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.clusters import TopicPartition
from kafka_dr.offsets.alignment import Anchor


@dataclass(frozen=True, slots=True)
class AuditedPairs:
    """What audits of a group know of two clusters.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same manners
    :param source: its name and id
    :param target: its name and id
    """

    root: Any
    group: str
    source: tuple[str, str]
    target: tuple[str, str]

    def anchors(
        self, positions: Mapping[TopicPartition, Collection[int]], topic_ids: Mapping[str, tuple[str, str]]
    ) -> dict[TopicPartition, list[Anchor]]:
        """Return, for each position that the map reaches, the last record below it that both sides have.

        :param positions: next to read on the source
        :param topic_ids: by topic, on the source and on the target: what the map says of others is left aside
        """
        found: dict[TopicPartition, list[Anchor]] = {}
        for forth in (True, False):
            left = {partition: set(offsets) for partition, offsets in positions.items()}
            for part in self._parts(forth):
                if not any(left.values()):
                    break
                for partition, offsets in left.items():
                    key_ids = topic_ids.get(partition.topic)
                    runs = _of(part, partition, key_ids, forth) if key_ids and offsets else []
                    reached = {offset: anchor for offset in offsets if (anchor := _below(runs, offset))}
                    found.setdefault(partition, []).extend(reached.values())
                    offsets.difference_update(reached)
        return {partition: anchors for partition, anchors in found.items() if anchors}

    def _parts(self, forth: bool) -> Iterable[Mapping[MapKey, Sequence[OffsetRun]]]:
        here, there = (self.source, self.target) if forth else (self.target, self.source)
        kept = KeptMap(self.root, group=self.group, direction=f"{here[0]}-to-{there[0]}")
        return kept.newest_first((here[1], there[1]))


def _of(
    part: Mapping[MapKey, Sequence[OffsetRun]], partition: TopicPartition, ids: tuple[str, str], forth: bool
) -> list[OffsetRun]:
    """Return what a part says about a partition, whatever the epoch, rising on the source."""
    wanted = (*(ids if forth else reversed(ids)), partition.topic, partition.partition)
    runs = [run for key, found in part.items() if key[1:] == wanted for run in found]
    return sorted(runs if forth else (OffsetRun(run.target, run.source, run.length) for run in runs))


def _below(runs: Sequence[OffsetRun], position: int) -> Anchor | None:
    number = bisect_left(runs, position, key=lambda run: run.source) - 1
    if number < 0:
        return None
    run = runs[number]
    offset = min(position, run.source + run.length) - 1
    return Anchor(offset, run.target + offset - run.source, "record")
