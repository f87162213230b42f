"""Which commit metadata a failover carries to the target, and which it leaves out; the rules are in ``offsets``."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets.transfers import PositionTransfer, along_flow
from kafka_dr.offsets.commit_metadata import USUAL_LIMIT, carried, other_distances
from kafka_dr.offsets.translate.answers import TranslatedOffset
from kafka_dr.positions import Committed, metadata_of
from kafka_dr.readers.commit_metadata import depends_on_what_follows
from kafka_dr.runs.run import Run

_LIMIT = "offset.metadata.max.bytes"
#: Offsets after a group's own that are read at most, on either log. Most are read ahead of the claim.
_MOST_READ = 10_000
_SHOWN = 4

#: One offset on the source and on the target, next to read.
Point = tuple[TopicPartition, int, int]


def about_what_follows(committed: Committed) -> dict[str, dict[TopicPartition, int]]:
    """Return the committed offsets whose metadata may be about the records after them, by group."""
    found = {
        group: {p: offset for p, offset in of.items() if depends_on_what_follows(metadata_of(offset))}
        for group, of in committed.items()
    }
    return {group: of for group, of in found.items() if of}


def carry(
    run: Run,
    translated: Sequence[TranslatedOffset],
    committed: Committed,
    transfer: PositionTransfer | None = None,
) -> list[TranslatedOffset]:
    """Add the commit metadata of the source where it is right on the target. Without any, nothing is asked.

    :param committed: on the source, whose records can be read
    :param transfer: between which logs; along the run's flow where ``None``
    """
    texts = {(group, p): offset for group, of in committed.items() for p, offset in of.items() if metadata_of(offset)}
    if not texts:
        return list(translated)
    limit = limit_of(run)
    found = _distances(
        run,
        transfer or along_flow(run),
        {
            (each.partition, each.source_offset, each.target_offset)
            for each in translated
            if each.kind == "exact"
            and each.target_offset is not None
            and depends_on_what_follows(metadata_of(texts.get((each.group, each.partition), 0)))
        },
    )
    return [
        carried(
            each,
            texts.get((each.group, each.partition), each.source_offset),
            is_exact=each.kind == "exact",
            limit=limit,
            other_distances=found.get((each.partition, each.source_offset, each.target_offset or 0), ""),
        )
        for each in translated
    ]


def carry_without_source(
    run: Run,
    translated: Sequence[TranslatedOffset],
    committed: Committed,
    *,
    exact: Mapping[tuple[str, TopicPartition], int | None],
    ends: Mapping[TopicPartition, int],
) -> list[TranslatedOffset]:
    """Do the same if the source cannot be read: only a group that had read everything has nothing after its offset.

    :param exact: what the committed offsets are on the target, where that is known exactly
    :param ends: where the source ended when ``committed`` was read; a partition that is missing ended later
    """
    texts = {(group, p): offset for group, of in committed.items() for p, offset in of.items() if metadata_of(offset)}
    if not texts:
        return list(translated)
    limit, unknown = limit_of(run), "the distances of the records after its offset are not known"
    return [
        carried(
            each,
            texts.get((each.group, each.partition), each.source_offset),
            is_exact=each.target_offset == exact.get((each.group, each.partition)),
            limit=limit,
            other_distances="" if each.source_offset >= ends.get(each.partition, each.source_offset + 1) else unknown,
        )
        for each in translated
    ]


def limit_of(run: Run) -> int:
    """Return how many bytes of metadata every broker of the target takes; Kafka's usual number if they do not say."""
    target = run.operator(run.target)
    try:
        found = target.broker_settings.read(target.topics.identity().brokers, [_LIMIT]).values()
    except KafkaDrError:
        return USUAL_LIMIT
    return min((int(said) for each in found if (said := each.get(_LIMIT))), default=USUAL_LIMIT)


def by_group(translated: Iterable[TranslatedOffset]) -> dict[str, dict[str, Any]]:
    """Return, for each group with commit metadata, in how many partitions it is carried and left out, and why."""
    found: dict[str, dict[str, Any]] = {}
    for each in translated:
        if each.metadata or each.metadata_left_out:
            row = found.setdefault(each.group, {"carried": 0, "left_out": 0, "reason": ""})
            row["left_out" if each.metadata_left_out else "carried"] += 1
            row["reason"] = row["reason"] or each.metadata_left_out
    return found


def left_out(row: Mapping[str, Any]) -> str:
    """Say of a group's row of :func:`by_group` where its metadata is left out; empty if nowhere."""
    if not row.get("left_out"):
        return ""
    return f"its commit metadata is left out in {counted(row['left_out'], 'partition')}, because {row['reason']}"


def in_words(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Say how many groups commit metadata, and of which it is left out; empty if none does."""
    if not found:
        return ""
    wrong = [f"{group}: {said}" for group, row in found.items() if (said := left_out(row))]
    more = f"; and {len(wrong) - _SHOWN} groups more" if len(wrong) > _SHOWN else ""
    rest = f"{'; '.join(wrong[:_SHOWN])}{more}" if wrong else "all of it is carried"
    many = counted(len(found), "group keeps metadata with its offsets", "groups keep metadata with their offsets")
    return f"{many}: {rest}"


def _distances(run: Run, transfer: PositionTransfer, points: Collection[Point]) -> dict[Point, str]:
    """Return why records after these points have other distances on the target; empty if they have the same."""
    if not points:
        return {}
    sides = transfer.source_of(run, "audit"), transfer.target_of(run, "audit")
    ends = [side.topics.last_stable_offsets({p for p, _, _ in points}) for side in sides]
    long = {at for at in points if ends[0][at[0]] - at[1] > _MOST_READ or ends[1][at[0]] - at[2] > _MOST_READ}
    near = [at for at in points if at not in long]
    on_source = _records(run, sides[0], [(p, at) for p, at, _ in near], ends[0])
    on_target = _records(run, sides[1], [(p, at) for p, _, at in near], ends[1])

    def said(p: TopicPartition, source: int, target: int) -> str:
        if (p, source, target) in long:
            return f"more than {_MOST_READ:,} offsets follow its own"
        after, copies = on_source.get(p, ()), on_target.get(p, ())
        after, copies = after[bisect_left(after, source) :], copies[bisect_left(copies, target) :]
        return other_distances(after, copies, (source, target))

    return {at: said(*at) for at in points}


def _records(
    run: Run, side: FlowCluster, begins: Iterable[tuple[TopicPartition, int]], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the offsets of the records from the first of these offsets on, by partition."""
    first: dict[TopicPartition, int] = {}
    for p, begin in begins:
        first[p] = min(begin, first.get(p, begin))
    wanted = {p: OffsetRange(begin, max(begin, ends[p])) for p, begin in first.items()}
    return run.clients.following_offsets.of(side, wanted)
