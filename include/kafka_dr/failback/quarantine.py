"""Quarantine: stranded records stay on the old cluster. Which ranges these are, and when that is possible. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafka_dr.audit.stranded import StrandedList, StrandedPartition
from kafka_dr.clusters import TopicPartition
from kafka_dr.counted import counted
from kafka_dr.offsets.translate.answers import TranslatedOffset
from kafka_dr.register.quarantine import QuarantinedRange, by_partition


def ranges_of(found: StrandedList) -> tuple[QuarantinedRange, ...]:
    """Return the ranges to quarantine: stranded records, and everything after the last copied record."""
    return tuple(sorted(each for partition in found.partitions for each in _ranges(partition)))


def _ranges(partition: StrandedPartition) -> list[QuarantinedRange]:
    where = (partition.topic, partition.partition)
    passed_over = [QuarantinedRange(*where, *each) for each in partition.ranges if each[1] <= partition.copied_until]
    at_the_end = any(after > partition.copied_until for _, after in partition.ranges)
    return (
        [*passed_over, QuarantinedRange(*where, partition.copied_until, partition.end)] if at_the_end else passed_over
    )


def reasons_against(
    found: StrandedList,
    ranges: Collection[QuarantinedRange],
    *,
    compacted: Collection[str],
    positions: Sequence[TranslatedOffset],
    log_starts: Mapping[TopicPartition, int],
) -> list[str]:
    """Return the reasons against quarantine, as sentences; empty if it is possible.

    :param found: the list of stranded records
    :param ranges: what would be quarantined
    :param compacted: topics that one of the two clusters compacts
    :param positions: offsets of groups, translated to the old cluster; those after the failover are not among them
    :param log_starts: of the old cluster; a range that retention has deleted does not count
    """
    present = [each for each in ranges if each.end > log_starts.get(each.topic_partition, 0)]
    reasons = []
    if affected := sorted({each.topic for each in present} & set(compacted)):
        reasons.append(
            f"{', '.join(affected[:3])} on {found.old} is compacted, and stranded records would be its newest values"
        )
    if found.missing or found.gone:
        what = ", ".join(found.gone) if found.gone else f"{counted(found.missing, 'record')} that had been copied"
        reasons.append(f"{found.old} has lost {what}, and they would stay missing in the copy")
    first = {partition: each[0].start for partition, each in by_partition(present).items()}
    before = [p for p in positions if p.partition in first and _is_before(p, first[p.partition])]
    if before:
        groups = sorted({each.group for each in before})
        shown = ", ".join(groups[:3]) + (f" and {counted(len(groups) - 3, 'more group')}" if len(groups) > 3 else "")
        where = f"{before[0].partition}" + (f" and {len(before) - 1} more" if len(before) > 1 else "")
        reasons.append(f"{shown} would read stranded records on {found.old}: in {where}")
    return reasons


def _is_before(position: TranslatedOffset, start: int) -> bool:
    return position.target_offset is None or position.target_offset < start
