"""Which offsets a conflict audit reads of each origin, and what it cannot read any more. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.conflicts.origins import AskedMembers
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.conflicts.report import OriginRead
from kafka_dr.conflicts.state import CommittedCopy, ConflictState, ReadOrigin

#: Records are written to the log some time after their own.
_LATE_MS = 600_000

OriginPartition = tuple[str, TopicPartition]


@dataclass(frozen=True, slots=True)
class ConflictPlan:
    """What is read.

    :param before: what the audit continues from; ``None``: it reads all that the logs hold
    :param wanted: from the first offset that nobody has read to the end; what is expired of it included
    :param horizon_ms: of records from then on all are kept for the next audit
    """

    before: ConflictState | None
    wanted: Mapping[OriginPartition, OffsetRange]
    held: Mapping[OriginPartition, OffsetRange]
    horizon_ms: int

    @property
    def ranges(self) -> dict[OriginPartition, OffsetRange]:
        """The offsets that can be read."""
        found = {at: OffsetRange(max(r.start, self.held[at].start), r.end) for at, r in self.wanted.items()}
        return {at: each for at, each in found.items() if each.end > each.start}

    def read(
        self,
        at: OriginPartition,
        counted: Mapping[str, int],
        *,
        compacted: bool,
        starts: Mapping[OriginPartition, int],
    ) -> OriginRead:
        """Return what was read of a partition.

        :param counted: by name of a field of the result, how many records
        :param compacted: whether its topic is
        :param starts: where the logs begin now, after reading
        """
        origin, partition = at
        wanted, begin = self.wanted[at], max(self.wanted[at].start, starts.get(at, self.held[at].start))
        begin = min(begin, wanted.end)
        records = counted.get("records", 0)
        return OriginRead(
            origin,
            partition.topic,
            partition.partition,
            wanted.start,
            wanted.end,
            records=records,
            expired=begin - wanted.start,
            compacted=max(0, wanted.end - begin - records) if compacted else 0,
            untimed=counted.get("untimed", 0),
            late=counted.get("late", 0),
            without_key=counted.get("without_key", 0),
        )

    def reached(self, asked: AskedMembers) -> tuple[ReadOrigin, ...]:
        """Return how far all logs are read now."""
        return tuple(
            ReadOrigin(origin, p.topic, p.partition, asked.logs[origin].topic_ids[p.topic], wanted.end)
            for (origin, p), wanted in sorted(self.wanted.items())
        )


def plan(asked: AskedMembers, before: ConflictState | None, *, skew_ms: int) -> ConflictPlan:
    """Return what is read.

    :param before: what the last audit has left; ``None``: read everything
    """
    known = {} if before is None else {(e.origin, TopicPartition(e.topic, e.partition)): e for e in before.origins}
    wanted: dict[OriginPartition, OffsetRange] = {}
    held: dict[OriginPartition, OffsetRange] = {}
    for origin, log in asked.logs.items():
        for partition, span in log.held.items():
            at, read = (origin, partition), known.get((origin, partition))
            same = read is not None and read.topic_id == log.topic_ids[partition.topic] and read.end <= span.end
            wanted[at] = OffsetRange(read.end if read is not None and same else 0, span.end)
            held[at] = span
    return ConflictPlan(before, wanted, held, int(asked.at.timestamp() * 1000) - skew_ms - _LATE_MS)


def together(before: tuple[CommittedCopy, ...], now: tuple[CommittedCopy, ...]) -> tuple[CommittedCopy, ...]:
    """Return what is known of what was committed, with what was seen now."""

    def at(each: CommittedCopy) -> tuple[str, str, str, int]:
        return each.origin, each.site, each.topic, each.partition

    known = {at(each): each for each in before}
    for each in now:
        known[at(each)] = known[at(each)].with_newer(each) if at(each) in known else each
    return tuple(known[name] for name in sorted(known))
