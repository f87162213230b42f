"""I2 and I10: is every record that the applications count on in the active log, once, in order, and unchanged?

How often a record may be in a log is known exactly: once for its acknowledgement and once for every attempt whose
outcome the application never learned. Every further copy was made by replication. If it is on the cluster where the
record was first written, it came back: a loop.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lab.invariants.model import STATEMENTS, InvariantResult, LogRecord, Logs, Observation, Partition, RecordId, Write


@dataclass(frozen=True, slots=True)
class Completeness:
    """What is wrong with the logs; all empty when nothing is.

    :param lost: acknowledged, and neither on the active cluster as written nor in the list of stranded records
    :param reordered: (partition, record) that comes after a record that was written later
    :param duplicated: (cluster, record) of superfluous copies away from where the record was written
    :param looped: (cluster, record) of superfluous copies where it was written
    :param void: visible on the active cluster although refused or aborted
    :param torn: undecided transactions of which a part is visible on the active cluster and a part is nowhere
    """

    lost: tuple[Write, ...]
    reordered: tuple[tuple[Partition, RecordId], ...]
    duplicated: tuple[tuple[str, RecordId], ...]
    looped: tuple[tuple[str, RecordId], ...]
    void: tuple[RecordId, ...]
    torn: tuple[frozenset[RecordId], ...]


def completeness(observation: Observation, *, active: str) -> Completeness:
    """Compare what applications know with what the clusters hold."""
    held = _first_hand(observation.logs.get(active, {}))
    intact = {(part, each.record) for part, log in held.items() for each in log if each.record and each.intact}
    visible = {record for _, record in intact}
    listed = {(each.partition, each.record) for each in observation.stranded if each.record and each.intact}
    kept, found = visible | {record for _, record in listed}, intact | listed
    duplicated, looped = _superfluous(observation)
    return Completeness(
        lost=tuple(write for write in observation.writes if (write.partition, write.record) not in found),
        reordered=tuple((part, record) for part, log in sorted(held.items()) for record in behind(log)),
        duplicated=tuple(duplicated),
        looped=tuple(looped),
        void=tuple(sorted(observation.void & visible)),
        torn=tuple(each for each in observation.undecided if each & visible and not each <= kept),
    )


def _first_hand(logs: Logs) -> dict[Partition, list[LogRecord]]:
    """Leave out what was published again from the list of stranded records: it is there twice and in another order."""
    return {partition: [each for each in log if not each.rescued] for partition, log in logs.items()}


def behind(log: Iterable[LogRecord]) -> list[RecordId]:
    """Records whose first copy comes after a later record of the same application."""
    newest: dict[str, int] = {}
    seen: set[RecordId] = set()
    found = []
    for each in log:
        record = each.record
        if record is None or record in seen:
            continue
        seen.add(record)
        if record.sequence < newest.get(record.application, -1):
            found.append(record)
        newest[record.application] = max(record.sequence, newest.get(record.application, -1))
    return found


def _superfluous(observation: Observation) -> tuple[list[tuple[str, RecordId]], list[tuple[str, RecordId]]]:
    written = {write.record: write.cluster for write in observation.writes}
    duplicated: list[tuple[str, RecordId]] = []
    looped: list[tuple[str, RecordId]] = []
    for cluster, logs in observation.logs.items():
        for record, copies in _copies(_first_hand(logs)).items():
            allowed = (record in written) + observation.attempts.get(record, 0)
            if copies > max(allowed, 1):
                (looped if written.get(record) == cluster else duplicated).append((cluster, record))
    return duplicated, looped


def _copies(logs: Mapping[Partition, Sequence[LogRecord]]) -> Counter[RecordId]:
    return Counter(each.record for log in logs.values() for each in log if each.record is not None)


def check_completeness(
    observation: Observation, *, active: str
) -> tuple[InvariantResult, InvariantResult, Completeness]:
    """I2 and I10 as findings."""
    seen = completeness(observation, active=active)
    return _second(observation, seen, active), _tenth(observation, seen), seen


def _second(observation: Observation, seen: Completeness, active: str) -> InvariantResult:
    nowhere = f"not on {active} as they were written" + (", nor stranded" if observation.stranded else "")
    parts = {
        f"{len(seen.lost)} acknowledged records are {nowhere}": seen.lost,
        f"{len(seen.reordered)} records come after later ones": seen.reordered,
        f"{len(seen.duplicated)} records were copied twice": seen.duplicated,
        f"{len(seen.void)} records are visible that were refused or aborted": seen.void,
        f"{len(seen.torn)} transactions are visible in part": seen.torn,
    }
    broken = [sentence for sentence, cases in parts.items() if cases]
    if broken:
        return InvariantResult("I2", "violated", "; ".join(broken), _examples(seen, active))
    if not observation.writes:
        return InvariantResult("I2", "unknown", "no write was acknowledged: there is nothing to look for")
    return InvariantResult("I2", "held", STATEMENTS["I2"])


def _examples(seen: Completeness, active: str) -> tuple[str, ...]:
    lost = [
        f"{write.record}, acknowledged by {write.cluster} as {write.partition} offset {write.offset}, "
        f"is not in {write.partition} of {active}"
        for write in seen.lost[:3]
    ]
    behind_later = [f"{record} in {part} comes after a later record" for part, record in seen.reordered[:2]]
    twice = [f"{record} is on {cluster} more often than it was written" for cluster, record in seen.duplicated[:2]]
    void = [f"{record} is visible although it was refused or aborted" for record in seen.void[:2]]
    torn = [f"of the transaction with {min(each)} only a part is visible" for each in seen.torn[:2]]
    return (*lost, *behind_later, *twice, *void, *torn)


def _tenth(observation: Observation, seen: Completeness) -> InvariantResult:
    if seen.looped:
        examples = tuple(
            f"{record} came back to {cluster}, where it was written" for cluster, record in seen.looped[:3]
        )
        return InvariantResult(
            "I10", "violated", f"{len(seen.looped)} records came back to where they were written", examples
        )
    if not any(log for logs in observation.logs.values() for log in logs.values()):
        return InvariantResult("I10", "unknown", "no cluster holds any record: nothing could come back")
    return InvariantResult("I10", "held", STATEMENTS["I10"])


def loss_seconds(observation: Observation, lost: Sequence[Write], *, until: float = math.inf) -> float:
    """How far the last acknowledged write of a cluster was ahead of the first one of it that is lost; zero for none.

    :param until: writes from this moment on were taken by a cluster that was no longer meant to be active
    """
    spans = []
    for cluster in {write.cluster for write in lost}:
        last = max(write.at for write in observation.writes if write.cluster == cluster and write.at < until)
        spans.append(last - min(write.at for write in lost if write.cluster == cluster))
    return max(spans, default=0.0)
