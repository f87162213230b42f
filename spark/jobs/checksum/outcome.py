"""What an audit says about a compared partition, and the state that the next audit continues from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from copy_audit.fingerprints import Fingerprints
from copy_audit.partitions import PartitionOutcome
from jobs.checksum.plan import PartitionAuditPlan
from jobs.checksum.ranges import ResolvedRanges
from jobs.checksum.report import ChecksumReport, PartitionReport, counted
from jobs.checksum.state import Both, MissingRecord, PartitionState
from kafka_dr.audit.coverage import Coverage
from kafka_dr.audit.difference import REPEATED, Difference
from kafka_dr.audit.finding import FindingKind
from kafka_dr.clusters import TopicPartition

#: Lost records of a partition that are kept. If others come late, they are called duplicates and stay open.
_MOST_MISSING = 100_000


def next_state(
    partition: TopicPartition, plan: PartitionAuditPlan, outcome: PartitionOutcome, resolved: ResolvedRanges, scan: str
) -> PartitionState:
    """Return how far a partition is settled now.

    :param scan: the name of this audit's scan
    """
    known = plan.known
    found = _open(known, [*plan.events, *outcome.settled], outcome)
    before = None if _over(found, outcome) else known.faulty_from
    faulty = before is None and outcome.frontier[0] < outcome.resume[0]
    return PartitionState(
        resume=outcome.resume,
        scanned=(max(plan.source.end, known.scanned[0]), max(plan.target.end, known.scanned[1])),
        first_kept=known.first_kept,
        coverage=known.coverage + outcome.settled_coverage,
        open=found,
        faulty_from=outcome.frontier if faulty else before,
        faulty_since=outcome.unverified_since if faulty else None if before is None else known.faulty_since,
        held=held_since(partition, known, resolved),
        begun=scan if plan.fresh else known.begun,
        from_start=(known.from_start and not plan.fresh) or (plan.first and not plan.events),
        missing=_missing(outcome.missing),
    )


def reported(
    partition: TopicPartition,
    plan: PartitionAuditPlan,
    outcome: PartitionOutcome,
    resolved: ResolvedRanges,
    blocked: Sequence[Difference],
) -> PartitionReport:
    """Return what is reported about a partition."""
    known = plan.known
    differences = (*plan.events, *outcome.settled, *outcome.waiting, *blocked)
    found = _open(known, differences, outcome)
    before = None if _over(_open(known, [*plan.events, *outcome.settled], outcome), outcome) else known.faulty_from
    # Only a bounded audit begins or ends at other offsets than the log and earlier audits.
    held = resolved.source.ranges.get(partition)
    end = plan.source.end if held is None else max(held.end, plan.source.end)
    excluded = end - plan.source.end + (0 if known.coverage.produced else known.resume[0])
    outside = Coverage(produced=excluded, excluded=excluded)
    return PartitionReport(
        partition=partition,
        differences=differences,
        open=found,
        coverage=known.coverage + outside + outcome.settled_coverage + outcome.waiting_coverage,
        frontier=before or outcome.frontier,
        end=end,
        unverified_since=_earliest(
            outcome.unverified_since if before is None else known.faulty_since,
            resolved.source.waiting_since.get(partition),
        ),
        hidden={
            cluster: {"from_offset": held.ranges[partition].end, "offsets": held.hidden[partition]}
            for cluster, held in (("source", resolved.source), ("target", resolved.target))
            if partition in held.hidden
        },
        runs=outcome.runs,
        displaced=outcome.displaced,
        second_copies=outcome.second_copies,
        copied=outcome.copied or (plan.source.start, outcome.resume[1]),
        digests=outcome.digests,
    )


def _earliest(*times: int | None) -> int | None:
    return min((each for each in times if each is not None), default=None)


def held_since(
    partition: TopicPartition, known: PartitionState, resolved: ResolvedRanges
) -> tuple[Both | None, Both | None]:
    """Return the offset from which an open transaction hides each cluster's log, and since when that is known."""
    now_ms = int(resolved.at.timestamp() * 1000)
    found: list[Both | None] = []
    for before, cluster in zip(known.held, (resolved.source, resolved.target), strict=True):
        offset = cluster.ranges[partition].end if partition in cluster.hidden else None
        same = before is not None and before[0] == offset
        found.append(before if same else None if offset is None else (offset, now_ms))
    return found[0], found[1]


def blocked_too_long(
    partition: TopicPartition, known: PartitionState, resolved: ResolvedRanges, age: timedelta
) -> list[Difference]:
    """Return open transactions that an audit long enough ago found at the same offset."""
    found = []
    now_ms = int(resolved.at.timestamp() * 1000)
    clusters = (("source", resolved.source), ("target", resolved.target))
    for number, held in enumerate(held_since(partition, known, resolved)):
        name, cluster = clusters[number]
        if held is not None and now_ms - held[1] >= age.total_seconds() * 1000:
            source, target = (held[0], None) if number == 0 else (None, held[0])
            detail = (
                f"an open transaction on the {name} has hidden the records from this offset on since an earlier audit"
            )
            count = cluster.hidden[partition]
            found.append(Difference(FindingKind.UNVERIFIABLE, partition.partition, source, target, count, 0, detail))
    return found


def _open(known: PartitionState, found: Iterable[Difference], outcome: PartitionOutcome) -> dict[str, int]:
    """Add up the open findings; a lost record that has come since closes its finding."""
    counts = Counter(known.open)
    counts.update(counted(found))
    counts[FindingKind.LOST] -= len(outcome.came)
    return {str(kind): count for kind, count in sorted(counts.items()) if count > 0}


def _over(found: Mapping[str, int], outcome: PartitionOutcome) -> bool:
    """Whether every finding is closed, because the missing records have come."""
    return bool(outcome.came) and not found.keys() - {str(each) for each in REPEATED}


def _missing(log: Fingerprints) -> tuple[MissingRecord, ...]:
    some = log.below(int(log.offsets[_MOST_MISSING])) if len(log) > _MOST_MISSING else log
    rows = zip(some.offsets.tolist(), some.timestamps.tolist(), some.hashes.tolist(), strict=True)
    return tuple(rows)


def failure_of(report: ChecksumReport) -> str:
    """Return why the audit's result is unknown; empty if it is known."""
    if report.self_test:
        return f"the audit failed its self-test ({report.self_test[0]}), so its result does not count: run it again"
    for each in report.partitions:
        if not each.coverage.adds_up or each.coverage.produced != each.end:
            wrong = f"{each.partition}: the coverage does not add up to {each.end} offsets ({each.coverage})"
            return f"{wrong}, so the result does not count: audit in full"
    return ""
