"""What an audit is asked for, and audits of a stretch alone, of time or of offsets. Those keep nothing but a report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jobs.checksum_plan import PartitionPlan, Plan
from jobs.checksum_state import Both
from jobs.fingerprint_log import Side
from kafka_dr.audit.kept_map import MapKey, Runs
from kafka_dr.audit.offset_runs import first_common, last_common
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.times import Times
from kafka_dr.errors import Refused

_OFFSETS = re.compile(r"(?P<topic>.+)-(?P<partition>\d+):(?P<start>\d*)-(?P<end>\d*)")
_SIDES: tuple[Side, Side] = ("source", "target")


@dataclass(frozen=True, slots=True)
class OffsetStretch:
    """Some offsets of a partition of the source.

    :param end: next after the last one; ``None`` for all that follow
    """

    partition: TopicPartition
    start: int
    end: int | None

    @classmethod
    def parse(cls, text: str) -> OffsetStretch:
        """Read ``TOPIC-PARTITION:START-END``; either offset may be left out.

        :raises ValueError: it is something else
        """
        found = _OFFSETS.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no stretch of offsets: write TOPIC-PARTITION:START-END")
        end = int(found["end"]) if found["end"] else None
        start = int(found["start"] or 0)
        if end is not None and end <= start:
            raise ValueError(f"{text!r} holds no offset: END is next after the last one")
        return cls(TopicPartition(found["topic"], int(found["partition"])), start, end)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What an audit is about.

    :param full: begin anew instead of where the last audit ended
    :param topics: only these; all of the group's where empty
    :param since: only records made then or later, aware; with ``until`` nothing is kept but the report
    :param until: only records made before, aware
    :param offsets: only these; nothing is kept but the report
    """

    full: bool = False
    topics: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    offsets: tuple[OffsetStretch, ...] = ()

    @property
    def bounded(self) -> bool:
        """Whether only a stretch is audited."""
        return self.since is not None or self.until is not None or bool(self.offsets)

    @property
    def of_topics(self) -> tuple[str, ...]:
        """The topics that it is about; all of the group's where empty."""
        return (*self.topics, *(each.partition.topic for each in self.offsets))


def within_time(plan: Plan, wishes: Wishes, source: KafkaCluster, target: KafkaCluster) -> Plan:
    """Cut a plan to a stretch of time. Both sides hold the same records with the same times in the same order, so
    the first record of that time or later is the same one on either.
    """
    partitions = dict(plan.partitions)
    for number, cluster in enumerate((source, target)):
        for bound, moment in (("start", wishes.since), ("end", wishes.until)):
            if moment is not None:
                held = [p for p, each in partitions.items() if len(getattr(each, _SIDES[number]))]
                found = Times.of(cluster).offsets_at(held, int(moment.timestamp() * 1000))
                for partition, offset in found.items():
                    partitions[partition] = _cut(partitions[partition], number, bound, offset)
    return replace(plan, partitions=partitions)


def within_offsets(plan: Plan, wanted: Sequence[OffsetStretch], known: Runs) -> Plan:
    """Cut a plan to offsets of the source.

    Where they are on the target the offset map tells; a bound that it has no record for goes outward to the next one
    that both sides are known to have, and to the end of the log where it knows none.

    :param known: the offset map
    :raises Refused: a partition is asked for that is on neither side, or twice
    """
    partitions: dict[TopicPartition, PartitionPlan] = {}
    for stretch in wanted:
        partition = stretch.partition
        if partition not in plan.partitions or partition in partitions:
            what = "asked for twice" if partition in partitions else "on neither side"
            raise Refused(f"{partition} is {what}: name one stretch of offsets of a partition that there is")
        cut = plan.partitions[partition]
        runs = known.get(_key(plan, partition), ())
        start = (last_common(runs, stretch.start) if stretch.start else None) or (0, 0)
        end = None if stretch.end is None else first_common(runs, stretch.end)
        for number in range(2):
            cut = _cut(cut, number, "start", start[number])
            cut = _cut(cut, number, "end", None if end is None else end[number])
        partitions[partition] = cut
    return replace(plan, partitions=partitions)


def _key(plan: Plan, partition: TopicPartition) -> MapKey:
    here, there = plan.state.topic_ids[partition.topic]
    return MapKey(plan.state.identity[2], here, there, partition.topic, partition.partition)


def _cut(plan: PartitionPlan, side: int, bound: str, offset: int | None) -> PartitionPlan:
    """Cut what is read of one side; beyond the last record there is nothing."""
    held: OffsetRange = (plan.source, plan.target)[side]
    place = held.end if offset is None else min(max(offset, held.start), held.end)
    start, end = (place, held.end) if bound == "start" else (held.start, max(held.start, place))
    resume = plan.known.resume
    begun: Both = (start, resume[1]) if side == 0 else (resume[0], start)
    cut = OffsetRange(start, max(start, end))
    known = replace(plan.known, resume=begun, first_kept=(0, 0))
    return replace(plan, known=known, source=cut) if side == 0 else replace(plan, known=known, target=cut)
