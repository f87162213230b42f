"""Leaving stranded records where they are: which ranges stay aside, and when that permits the way home. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafka_dr.audit.stranded import StrandedList, StrandedPartition
from kafka_dr.clusters import TopicPartition
from kafka_dr.offsets import TranslatedOffset
from kafka_dr.register.quarantine import QuarantinedRange, by_partition


def ranges_of(found: StrandedList) -> tuple[QuarantinedRange, ...]:
    """Return the ranges that have to stay aside: what is stranded, and all behind the last record that crossed."""
    return tuple(sorted(each for partition in found.partitions for each in _ranges(partition)))


def _ranges(partition: StrandedPartition) -> list[QuarantinedRange]:
    where = (partition.topic, partition.partition)
    passed_over = [QuarantinedRange(*where, *each) for each in partition.ranges if each[1] <= partition.copied_until]
    behind = any(after > partition.copied_until for _, after in partition.ranges)
    return [*passed_over, QuarantinedRange(*where, partition.copied_until, partition.end)] if behind else passed_over


def reasons_against(
    found: StrandedList,
    ranges: Collection[QuarantinedRange],
    *,
    compacted: Collection[str],
    positions: Sequence[TranslatedOffset],
    log_starts: Mapping[TopicPartition, int],
) -> list[str]:
    """Return why quarantine does not permit the way home; nothing where it does.

    :param compacted: topics that either side compacts
    :param positions: of groups, translated to the old side; those behind the switch are not among them
    :param log_starts: of the old side: a range that retention has deleted is in nobody's way
    """
    standing = [each for each in ranges if each.end > log_starts.get(each.topic_partition, 0)]
    reasons = []
    if affected := sorted({each.topic for each in standing} & set(compacted)):
        reasons.append(f"{', '.join(affected[:3])} is compacted, and its newest values would be stranded ones")
    if found.missing or found.gone:
        what = ", ".join(found.gone) if found.gone else f"{found.missing} records that had crossed"
        reasons.append(f"{found.old} has lost {what}, which would stay missing in the copy")
    first = {partition: each[0].start for partition, each in by_partition(standing).items()}
    before = [p for p in positions if p.partition in first and _is_before(p, first[p.partition])]
    if before:
        shown = ", ".join(f"{each.group} {each.partition}" for each in before[:3])
        more = f" and {len(before) - 3} more" if len(before) > 3 else ""
        reasons.append(f"the position of {shown}{more} lies before stranded records, which it would read at home")
    return reasons


def _is_before(position: TranslatedOffset, start: int) -> bool:
    return position.target_offset is None or position.target_offset < start
