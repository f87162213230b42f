"""I4: is what the disaster took the list of stranded records, record for record?

Whatever the old cluster acknowledged and the active cluster does not hold by replication has to be in the list,
once and whole; and nothing else may be in it but records whose outcome their application never learned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lab.invariants.copies import first_hand
from lab.invariants.model import STATEMENTS, InvariantResult, Losses, LostCluster, Observation, RecordId, Write
from lab.invariants.single_writer import window


@dataclass(frozen=True, slots=True)
class LossCheck:
    """What was found about a disaster's losses.

    :param taken: acknowledged before the new cluster was allowed to open, and not on it
    """

    finding: InvariantResult
    figures: Losses
    taken: tuple[Write, ...]


def check_losses(observation: Observation, *, active: str, left: LostCluster) -> LossCheck:
    """Compare what is missing with the list."""
    there = first_hand(left.late.there if left.late else observation.logs.get(active, {}))
    listed = Counter(each.record for each in observation.stranded if each.record is not None)
    missing = [write for write in _writes(observation, left) if not there[write.record]]
    unlisted = [write for write in missing if not listed[write.record]]
    acknowledged = Counter(write.record for write in observation.writes)
    too_many = [
        record
        for record, times in listed.items()
        if times + there[record] > max(1, acknowledged[record] + observation.attempts.get(record, 0))
    ]
    broken = [each.record for each in observation.stranded if each.record is not None and not each.intact]
    figures = Losses(
        predicted=left.predicted_loss,
        real=len(missing),
        stranded=len(observation.stranded),
        own=sum(each.record is None for each in observation.stranded),
        rescued=_rescued(observation, active, left),
        window_records=len(window(observation, left)),
        window_seconds=round(left.fenced - left.reachable, 3),
    )
    finding = _finding(unlisted, too_many, broken, figures)
    return LossCheck(finding, figures, tuple(write for write in missing if write.at < left.since))


def _writes(observation: Observation, left: LostCluster) -> Sequence[Write]:
    """Return the writes that may be missing: of late records, what the lost cluster took before they were let in."""
    if left.late is None:
        return observation.writes
    return [each for each in observation.writes if each.cluster == left.cluster and each.at <= left.fenced]


def _rescued(observation: Observation, active: str, left: LostCluster) -> int:
    """Count what was published again from the list, or has arrived late."""
    if left.late is not None:
        now = first_hand(observation.logs.get(left.late.cluster, {}))
        now.subtract(first_hand(left.late.there))
        return sum(now[each.record] > 0 for each in observation.stranded if each.record is not None)
    logs = observation.logs.get(active, {}).values()
    return sum(each.rescued for log in logs for each in log)


def _finding(
    unlisted: list[Write], too_many: list[RecordId], broken: list[RecordId], figures: Losses
) -> InvariantResult:
    predicted = figures.predicted or 0
    parts = {
        f"{len(unlisted)} acknowledged records are neither there nor in the list of stranded records": unlisted,
        f"{len(too_many)} records are in the list more often than they are missing": too_many,
        f"{len(broken)} records of the list are not as they were written": broken,
        f"the approval said that at least {predicted} records would be lost, and {figures.stranded} were": (
            predicted > figures.stranded
        ),
    }
    wrong = [sentence for sentence, cases in parts.items() if cases]
    if wrong:
        return InvariantResult("I4", "violated", "; ".join(wrong), _examples(unlisted, too_many, broken))
    said = f"{STATEMENTS['I4']}: {figures.real} acknowledged records are missing, the list holds {figures.stranded}"
    return InvariantResult("I4", "held", said)


def _examples(unlisted: list[Write], too_many: list[RecordId], broken: list[RecordId]) -> tuple[str, ...]:
    nowhere = [
        f"{each.record}, acknowledged by {each.cluster} as {each.partition} offset {each.offset}, is nowhere"
        for each in unlisted[:3]
    ]
    twice = [f"{each} is in the list although it is there" for each in sorted(too_many)[:2]]
    return (*nowhere, *twice, *(f"{each} is in the list, but not as it was written" for each in sorted(broken)[:2]))
