"""I3, and what was processed twice: the groups' own words against every position that a cluster ever stored for them.

A position, or a processed record, says "everything before this is done". It is *late* if a record that comes before
it in that cluster's log had not been processed by the group at that moment. The clusters keep every position that was
committed, so a position that was wrong for one second only is found as well.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from lab.invariants.model import (
    STATEMENTS,
    Commit,
    Delivery,
    InvariantResult,
    LogRecord,
    Observation,
    Partition,
    RecordId,
)

CLOCK_STEP = 0.001  # clusters stamp positions with whole milliseconds, cut off; applications are more precise


@dataclass(frozen=True, slots=True)
class LateOffset:
    """A position past records that the group had not processed."""

    group: str
    partition: Partition
    cluster: str
    offset: int
    at: float
    unseen: int
    first: RecordId


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often each group processed a record again."""

    redelivered: Mapping[str, int]
    uncommitted: Mapping[str, int]


class _SeenInOrder:
    """For a group and a log: when was everything before an offset processed?"""

    def __init__(self, log: Sequence[LogRecord], processed: Mapping[RecordId, float]) -> None:
        own = [(each.offset, each.record) for each in log if each.record is not None]
        self._offsets = [offset for offset, _ in own]
        self._records = [record for _, record in own]
        self._times = [processed.get(record, math.inf) for record in self._records]
        self._complete = list(accumulate(self._times, max))

    def late(self, offset: int, at: float) -> tuple[int, RecordId] | None:
        """How many records before the offset were not processed at this moment, and the first of them."""
        before = bisect_left(self._offsets, offset)
        if not before or self._complete[before - 1] <= at + CLOCK_STEP:
            return None
        unseen = [index for index in range(before) if self._times[index] > at + CLOCK_STEP]
        return len(unseen), self._records[unseen[0]]


def late_positions(observation: Observation, *, since: float) -> list[LateOffset]:
    """Every moment at which a group was past a record that it had not seen; the worst of each log only."""
    processed = first_processed(observation.deliveries)
    logs = observation.generations()
    seen: dict[tuple[str, str, Partition], _SeenInOrder] = {}
    worst: dict[tuple[str, str, Partition], LateOffset] = {}
    for claim in _claims(observation, since=since):
        generation = observation.generation(claim.cluster, claim.at)
        key = (claim.group, generation, claim.partition)
        if key not in seen:
            log = logs.get(generation, {}).get(claim.partition, ())
            seen[key] = _SeenInOrder(log, processed.get(claim.group, {}))
        found = seen[key].late(claim.offset, claim.at)
        if found is not None and (key not in worst or found[0] > worst[key].unseen):
            worst[key] = LateOffset(claim.group, claim.partition, claim.cluster, claim.offset, claim.at, *found)
    return sorted(worst.values(), key=lambda late: (late.at, late.group, late.partition))


def _claims(observation: Observation, *, since: float) -> Iterable[Commit]:
    """Positions that were stored, and positions that processing a record implies."""
    groups = {delivery.group for delivery in observation.deliveries} | set(observation.groups)
    yield from (each for each in observation.commits if each.at >= since and each.group in groups)
    for each in observation.deliveries:
        if each.at >= since:
            yield Commit(each.group, each.partition, each.offset, each.cluster, each.at)


def first_processed(deliveries: Iterable[Delivery]) -> dict[str, dict[RecordId, float]]:
    """Group → record → when it was processed first, wherever."""
    first: dict[str, dict[RecordId, float]] = defaultdict(dict)
    for each in deliveries:
        times = first[each.group]
        times[each.record] = min(each.at, times.get(each.record, each.at))
    return first


def check_group_offsets(observation: Observation, *, since: float) -> tuple[InvariantResult, int]:
    """I3 as a finding, and how many records were skipped by a group."""
    late = late_positions(observation, since=since)
    if late:
        skipped = sum(each.unseen for each in late)
        where = ", ".join(sorted({each.group for each in late}))
        examples = tuple(
            f"{each.group} was at offset {each.offset} of {each.partition} on {each.cluster} "
            f"without having seen {each.unseen} records, first {each.first}"
            for each in late[:3]
        )
        return InvariantResult("I3", "violated", f"{skipped} records were skipped by {where}", examples), skipped
    if not observation.commits:
        return InvariantResult("I3", "unknown", "no cluster stored any position: nothing to compare"), 0
    return InvariantResult("I3", "held", STATEMENTS["I3"]), 0


class _Settled:
    """For a group: had it committed past a record, on any cluster, before a moment?"""

    def __init__(self, observation: Observation) -> None:
        places: dict[RecordId, list[tuple[str, Partition, int]]] = defaultdict(list)
        for generation, logs in observation.generations().items():
            for partition, log in logs.items():
                for each in log:
                    if each.record is not None:
                        places[each.record].append((generation, partition, each.offset))
        self._places = places
        stored: dict[tuple[str, str, Partition], list[Commit]] = defaultdict(list)
        for commit in sorted(observation.commits, key=lambda commit: commit.at):
            generation = observation.generation(commit.cluster, commit.at)
            stored[commit.group, generation, commit.partition].append(commit)
        self._stored = {
            key: ([each.at for each in commits], list(accumulate((each.offset for each in commits), max)))
            for key, commits in stored.items()
        }

    def before(self, group: str, record: RecordId, at: float) -> bool:
        """Whether some cluster held a position of the group past the record before ``at``."""
        return any(
            self._highest(group, generation, partition, at) > offset
            for generation, partition, offset in self._places.get(record, ())
        )

    def _highest(self, group: str, generation: str, partition: Partition, at: float) -> int:
        times, highest = self._stored.get((group, generation, partition), ((), ()))
        index = bisect_left(times, at)
        return highest[index - 1] if index else -1


def repeats(observation: Observation, *, since: float) -> Repeats:
    """Count what was processed again: below a committed position, or on the other cluster and never committed.

    An application that restarts on the same cluster and repeats what it had not committed is counted in neither:
    no switch did that.
    """
    settled = _Settled(observation)
    redelivered: Counter[str] = Counter()
    uncommitted: Counter[str] = Counter()
    last: dict[tuple[str, RecordId], str] = {}
    for each in sorted(observation.deliveries, key=lambda delivery: delivery.at):
        before = last.get((each.group, each.record))
        last[each.group, each.record] = each.cluster
        if before is None or each.at < since:
            continue
        if settled.before(each.group, each.record, each.at):
            redelivered[each.group] += 1
        elif before != each.cluster:
            uncommitted[each.group] += 1
    return Repeats(dict(redelivered), dict(uncommitted))
