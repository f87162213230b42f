"""I4 where copies have other names: what only a lost cluster held is listed, and then arrives in its copies, late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from lab.invariants.model import STATEMENTS, InvariantResult, LogRecord, LostCluster, Observation, Partition, RecordId


def check_late(observation: Observation, left: LostCluster) -> InvariantResult:
    """Compare what only the lost cluster held with the list, and with what its copies have got since, in their order.

    The logs of both clusters alone say what that is: those of the survivor from before anything could arrive.
    """
    if left.late is None:
        return InvariantResult("I4", "unknown", "no late record was let in: there is nothing to compare with the list")
    wrong: list[str] = []
    late = 0
    for partition, log in sorted(left.late.origin.items()):
        if partition.origin != left.cluster:
            continue
        there = left.late.there.get(partition, ())
        alone = _without(log, there)
        late += len(alone)
        wrong += _unlisted(observation, partition, alone)
        now = observation.logs.get(left.late.cluster, {}).get(partition, ())
        arrived = [each.record for each in now[len(there) : len(there) + len(alone)] if each.intact]
        if arrived != [each.record for each in alone]:
            wrong.append(f"{len(alone)} records of {partition} did not arrive on {left.late.cluster} in their order")
    if wrong:
        return InvariantResult("I4", "violated", f"late records are not as listed in {len(wrong)} cases", (*wrong[:3],))
    said = f"{late} were on {left.cluster} alone, and each arrived on {left.late.cluster} once, in its order, as listed"
    return InvariantResult("I4", "held", f"{STATEMENTS['I4']}: {said}")


def _without(log: Sequence[LogRecord], there: Sequence[LogRecord]) -> list[LogRecord]:
    """Return what a log holds more often than its copy."""
    copied = Counter(each.record for each in there)
    alone = []
    for each in log:
        copied[each.record] -= 1
        if copied[each.record] < 0:
            alone.append(each)
    return alone


def _unlisted(observation: Observation, partition: Partition, alone: Sequence[LogRecord]) -> Iterator[str]:
    """Yield where the list differs from what only one cluster held."""
    listed = {each.offset: each.record for each in observation.stranded if each.partition == partition}
    held: dict[int, RecordId | None] = {each.offset: each.record for each in alone}
    for offset, record in sorted(listed.items() ^ held.items(), key=lambda item: item[0])[:1]:
        yield f"{record}, offset {offset} of {partition}, is in the list or was not copied, and not both"
