"""The times of unread records, and where the target is as young: for owners who choose a start by time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from kafka_dr.audit.copies import STAMPING, stamped_topics
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.facts import Facts
from kafka_dr.offsets.translate.read_logs import layers
from kafka_dr.positions import OffsetRange, PartitionOffset, TopicPartition

#: Offsets that are read after each wanted one to find a record, in the first round and in the last.
_WINDOWS = (16, 256, 4_096)


@dataclass(frozen=True, slots=True)
class RecordTimes:
    """When records were written, as far as it was looked up: milliseconds since the epoch.

    :param unread: by partition and source offset: the first unread record
    :param by_time: by the same: the target's first offset that is as young, less the margin
    :param copies: by partition and offset on the target: the first record there
    :param at_time: by partition: the target's first offset that is as young as the chosen start time
    """

    unread: Mapping[PartitionOffset, int] = field(default_factory=dict)
    by_time: Mapping[PartitionOffset, int] = field(default_factory=dict)
    copies: Mapping[PartitionOffset, int] = field(default_factory=dict)
    at_time: Mapping[TopicPartition, int] = field(default_factory=dict)


def first_at(
    target: FlowCluster, held: Mapping[TopicPartition, OffsetRange], when: datetime | None
) -> dict[TopicPartition, int]:
    """Return the first offset of each log that is as young as a time, by the records' own times; the end if none is.

    :param held: what the target holds, from the log start to the high watermark
    :param when: aware; ``None``: nobody chose a time, so no log has such an offset
    """
    if when is None:
        return {}
    found = target.offsets_by_time.at_each(dict.fromkeys(held, int(when.timestamp() * 1000)))
    return {p: held[p].end if offset is None else offset for p, offset in found.items()}


def times_of_unread(
    basis: TranslationBasis,
    facts: Facts,
    offsets: Mapping[TopicPartition, Collection[int]],
    *,
    exact: Mapping[PartitionOffset, int],
    margin_seconds: float,
) -> RecordTimes:
    """Return the time of the first unread record of each offset, and where the target is as young, less the margin.

    A group that has read everything begins at the target's end; an offset past the source's end has no time. If the
    target stamps records itself, its times are of another clock and of another moment. Then the target's own time of
    the unread record's copy counts, and an offset without an exact translation has no time.

    :param facts: of every partition
    :param offsets: next to read on the source
    :param exact: translated offsets that are exact
    """
    unread = _by_the_targets_clock(basis, facts, offsets, exact)
    margin_ms = int(margin_seconds * 1000)
    by_time: dict[PartitionOffset, int] = {}
    pending = {p: (sorted(wanted), held) for p, wanted in offsets.items() if (held := facts[p].target) is not None}
    while pending:
        layer = {p: (wanted[0], held.end) for p, (wanted, held) in pending.items()}
        asked = {p: unread[p, offset] - margin_ms for p, (offset, _) in layer.items() if (p, offset) in unread}
        answers = basis.target.offsets_by_time.at_each(asked)
        for p, (offset, end) in layer.items():
            if p in answers:
                answer = answers[p]
                by_time[p, offset] = end if answer is None else answer
            elif _has_read_everything(offset, facts[p].source) or exact.get((p, offset)) == end:
                by_time[p, offset] = end
        pending = {p: (wanted[1:], held) for p, (wanted, held) in pending.items() if len(wanted) > 1}
    return RecordTimes(unread, by_time)


def _has_read_everything(offset: int, on_source: OffsetRange | None) -> bool:
    return on_source is not None and offset == on_source.end


def _by_the_targets_clock(
    basis: TranslationBasis,
    facts: Facts,
    offsets: Mapping[TopicPartition, Collection[int]],
    exact: Mapping[PartitionOffset, int],
) -> dict[PartitionOffset, int]:
    """Return the time of the first unread record of each offset, by the clock that stamped the target's records."""
    on_target = {p: held for p in offsets if (held := facts[p].target) is not None}
    stamped = stamped_topics(basis.target.topics.settings({p.topic for p in on_target}, [STAMPING]))
    on_source = {p: held for p in offsets if p.topic not in stamped and (held := facts[p].source) is not None}
    unread = record_times(basis.source, offsets, on_source)
    copies = {
        (p, offset): exact[p, offset]
        for p in on_target
        if p.topic in stamped
        for offset in offsets[p]
        if (p, offset) in exact
    }
    wanted: dict[TopicPartition, set[int]] = {}
    for (p, _), copy in copies.items():
        wanted.setdefault(p, set()).add(copy)
    times = record_times(basis.target, wanted, on_target)
    return unread | {(p, offset): times[p, copy] for (p, offset), copy in copies.items() if (p, copy) in times}


def record_times(
    cluster: FlowCluster,
    offsets: Mapping[TopicPartition, Collection[int]],
    held: Mapping[TopicPartition, OffsetRange],
) -> dict[PartitionOffset, int]:
    """Return the time of the first record at or after each offset, in milliseconds since the epoch.

    :param cluster: as audit
    :param held: what the cluster holds of each partition
    :returns: without the offsets that no record follows closely, or only one that an open transaction holds back
    """
    found: dict[PartitionOffset, int] = {}
    stable = cluster.topics.last_stable_offsets(held.keys() & offsets.keys())
    ends = {p: min(held[p].end, end) for p, end in stable.items()}
    for window in _WINDOWS:
        ranges = {
            (p, offset): OffsetRange(begin, min(ends[p], begin + window))
            for p, wanted in offsets.items()
            if p in held
            for offset in set(wanted)
            if (p, offset) not in found and (begin := max(offset, held[p].start)) < ends[p]
        }
        for layer in layers(sorted(ranges)):
            asked = dict(layer)
            for record in cluster.log.read({p: ranges[p, offset] for p, offset in layer}):
                found.setdefault((record.topic_partition, asked[record.topic_partition]), record.timestamp_ms)
    return found
