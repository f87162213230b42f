"""I3 in detail: where did each consumer group continue, and what did it read again?

Compared are records, and not offsets: the one that a group was to read next on the cluster that it left, and the one
where it was put on the other cluster. Both are taken from the positions that the clusters stored.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lab.invariants.group_offsets import first_processed
from lab.invariants.model import Commit, InvariantResult, LogRecord, Observation, Partition, RecordId


@dataclass(frozen=True, slots=True)
class Handover:
    """One change of the active cluster.

    :param since: when it was approved
    :param until: when the next one was
    :param said: by group, how many records its run said that it may read again, ``None`` if it did not know; of a
        planned failover nothing
    """

    source: str
    target: str
    since: float
    until: float
    said: Mapping[str, int | None] | None = None


def check_continued(observation: Observation, handovers: Sequence[Handover]) -> InvariantResult:
    """Check that planned failovers put groups at the exact record, and unplanned ones had no more read than they said.

    The records of the list of stranded records are left out: they arrive late, whoever had read them before.
    """
    wrong: list[str] = []
    said: list[str] = []
    for each in handovers:
        ends = f"{each.source} → {each.target}"
        if each.said is None:
            placed, elsewhere = _placed(observation, each)
            wrong += elsewhere
            said.append(f"{ends}: {placed} positions at the exact record")
            continue
        again = read_again(observation, each)
        allowed = {group: each.said[group] for group in again if group in each.said}
        unknown = [group for group, most in allowed.items() if most is None]
        if unknown:
            return InvariantResult("I3", "unknown", f"{ends}: the run does not know what {unknown[0]} reads again")
        wrong += [
            f"{ends}: {group} read {again[group]} records again, and the run said at most {most}"
            for group, most in allowed.items()
            if again[group] > (most or 0)
        ]
        counted, most_said = sum(again[group] for group in allowed), sum(most or 0 for most in allowed.values())
        said.append(f"{ends}: {counted} records read again, and its run had said at most {most_said}")
    if wrong:
        return InvariantResult("I3", "violated", f"{len(wrong)} groups did not continue as was said", tuple(wrong[:3]))
    return InvariantResult("I3", "held", f"groups continue where they were: {'; '.join(said)}")


def read_again(observation: Observation, handover: Handover) -> dict[str, int]:
    """Return how many records each group processed on the new cluster although it had before."""
    before = first_processed(each for each in observation.deliveries if each.at < handover.since)
    late = {each.record for each in observation.stranded}
    again: dict[str, set[RecordId]] = {group: set() for group in observation.groups}
    for each in observation.deliveries:
        if each.cluster != handover.target or not handover.since <= each.at < handover.until:
            continue
        if each.record in before.get(each.group, {}) and each.record not in late:
            again.setdefault(each.group, set()).add(each.record)
    return {group: len(records) for group, records in again.items()}


def _placed(observation: Observation, handover: Handover) -> tuple[int, list[str]]:
    """Return how many positions were compared, and a sentence for each one that is at another record."""
    compared, wrong = 0, []
    there, here = observation.logs[handover.target], observation.logs[handover.source]
    for group, partition, left, put in _pairs(observation, handover):
        compared += 1
        wanted, found = _next(here.get(partition, ()), left), _next(there.get(partition, ()), put)
        if wanted != found:
            wrong.append(
                f"{group} was to read {wanted} next in {partition} on {handover.source}, and {found} on "
                f"{handover.target}"
            )
    return compared, wrong


def _pairs(observation: Observation, handover: Handover) -> Iterator[tuple[str, Partition, int, int]]:
    """Yield the last position of each group on the source, and the first one on the target; 0 if there is none."""
    put: dict[tuple[str, Partition], Commit] = {}
    left: dict[tuple[str, Partition], Commit] = {}
    for each in observation.commits:
        place = (each.group, each.partition)
        if each.cluster == handover.target and handover.since <= each.at < handover.until:
            put[place] = min(put.get(place, each), each, key=lambda commit: commit.at)
    for each in observation.commits:
        place = (each.group, each.partition)
        until = put[place].at if place in put else handover.since
        if each.cluster == handover.source and each.at <= until:
            left[place] = max(left.get(place, each), each, key=lambda commit: commit.at)
    for (group, partition), commit in sorted(left.items()):
        place = (group, partition)
        yield group, partition, commit.offset, put[place].offset if place in put else 0


def _next(log: Sequence[LogRecord], offset: int) -> RecordId | None:
    """Return the first record at an offset or after it; ``None`` at the end of the log."""
    own = [each for each in log if each.record is not None]
    index = bisect_left(own, offset, key=lambda each: each.offset)
    return own[index].record if index < len(own) else None
