"""The first stage: offsets are translated from what is known without reading a record.

Gathering the facts takes a few requests, whatever the number of groups. Of the rules, which are pure, the most precise
one that applies decides:

1. the map of matched records reaches the offset: *exact*;
2. an offset sync is at or below it: the offset after that record's copy, *bounded* by what is between;
3. both logs hold everything from their first record on: from the target's start, *bounded* by what is below;
4. else *unknown*, and the policy of the protection group decides.

None of them goes past an unread record: a map ends where records differ, and all that is unread is after a sync.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.errors import Unanswered
from kafka_dr.offsets.maps import NO_RUNS, VerifiedRuns
from kafka_dr.offsets.syncs.history import NOTHING as NO_SYNCS
from kafka_dr.offsets.syncs.history import ArchivedSyncs, CheckpointRule, History
from kafka_dr.offsets.translate.answers import Kind, Translation
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.read_logs import existing
from kafka_dr.parallel import at_once
from kafka_dr.positions import OffsetRange, TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What is known about one partition.

    :param source: the offsets that it holds: log start, and high watermark; the last ones seen if the source is gone;
        ``None`` if they are not known
    :param target: the target's offsets, as for ``source``; ``None`` if the partition does not exist there
    :param runs: what audits matched
    :param syncs: of both directions
    :param mirrormaker: what MirrorMaker's own checkpoint task knows
    :param caution: why the map is not relied on, such as open findings of an audit; empty if it is relied on
    """

    source: OffsetRange | None
    target: OffsetRange | None
    runs: VerifiedRuns = NO_RUNS
    syncs: History = NO_SYNCS
    mirrormaker: CheckpointRule | None = None
    caution: str = ""


NO_FACTS = PartitionFacts(None, None)
#: What is known about partitions before a record is read.
Facts: TypeAlias = Mapping[TopicPartition, PartitionFacts]


@dataclass(frozen=True, slots=True)
class GatheredFacts:
    """What is known, and what is wrong with it.

    :param partitions: every partition that was asked for
    :param problems: a sentence each
    """

    partitions: Facts
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ClusterFacts:
    ids: Mapping[str, str]
    held: Mapping[TopicPartition, OffsetRange]
    silent: bool = False


def gather(
    basis: TranslationBasis, partitions: Collection[TopicPartition], *, with_syncs: bool = True
) -> GatheredFacts:
    """Gather the facts about partitions. If the source does not answer, its ends are not known.

    :param with_syncs: whether offset syncs are among them; of many partitions it takes seconds to read them
    :raises ClusterError: the target does not answer
    """
    wanted = set(partitions)
    # Log ends are asked for after the syncs, so that the record of each sync is below them.
    known = basis.syncs.read({p.topic for p in wanted}) if with_syncs else ArchivedSyncs()
    on_source, on_target = at_once(
        lambda: _held(basis.source, wanted, or_silent=True), lambda: _held(basis.target, wanted)
    )
    ids = {topic: (on_source.ids.get(topic, ""), topic_id) for topic, topic_id in on_target.ids.items()}
    read = basis.maps.read(ids)
    problems = (f"{basis.source.name} does not answer: its ends are not known",) if on_source.silent else ()
    return GatheredFacts(
        {
            p: PartitionFacts(
                on_source.held.get(p),
                on_target.held.get(p),
                runs=read.runs.get(p, NO_RUNS),
                syncs=known.of(p),
                mirrormaker=CheckpointRule(known.syncs.get(p, ())),
                caution=read.cautions.get(p, ""),
            )
            for p in wanted
        },
        (*problems, *known.problems, *read.problems),
    )


@dataclass(slots=True)
class FactsOnDemand:
    """The facts about partitions, for all stages of a translation: gathered when a stage first asks, and only once.

    :param basis: what they are gathered from
    """

    basis: TranslationBasis
    _known: dict[TopicPartition, PartitionFacts] = field(default_factory=dict)

    def of(self, partitions: Collection[TopicPartition]) -> Facts:
        """Return the facts about these partitions, and maybe others.

        :raises ClusterError: the target does not answer
        """
        if missing := set(partitions) - self._known.keys():
            self._known |= gather(self.basis, missing).partitions
        return self._known


def _held(cluster: FlowCluster, wanted: Collection[TopicPartition], *, or_silent: bool = False) -> _ClusterFacts:
    """Return what a cluster holds of partitions.

    :param or_silent: a cluster that does not answer is a fact, too, and no error
    """
    try:
        topics = cluster.topics.existing(p.topic for p in wanted)
        found = existing(topics, wanted)
        ends, starts = at_once(lambda: cluster.topics.high_watermarks(found), lambda: cluster.topics.log_starts(found))
    except Unanswered:
        if or_silent:
            return _ClusterFacts({}, {}, silent=True)
        raise
    return _ClusterFacts(
        {name: topic.topic_id for name, topic in topics.items()},
        {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in found},
    )


def translate_by_facts(position: int, facts: PartitionFacts) -> Translation:
    """Translate one offset. No cluster is asked.

    :param position: next to read on the source
    """
    target = facts.target
    if target is None:
        return _unknown(position, "the target has no such partition: replication has not made it yet")
    if facts.source is not None and position > facts.source.end:
        return _unknown(
            position, f"it is past the source's end {facts.source.end}: the log was cut, or the topic created again"
        )
    if not facts.caution and (found := facts.runs.translate(position)) is not None:
        return _within(position, found, facts, 0, "every record up to here was matched by an audit")
    return _by_syncs(position, facts, target)


def never_committed(facts: PartitionFacts) -> Translation:
    """Return what becomes of a partition that a group reads and never committed to.

    On a partition without records every choice is the same. The group gets its start, so that no ``auto.offset.reset``
    can skip what is written there first. Elsewhere the group's own reset decides, as it does on the source: anything
    else would give it records that it never asked for, or take some away.
    """
    if facts.target is not None and facts.target.end == 0 and (facts.source is None or facts.source.end == 0):
        return Translation(0, 0, "exact", 0, "never committed, and there is no record: from the start")
    return _unknown(0, "never committed: its auto.offset.reset decides, as it does on the source")


def _by_syncs(position: int, facts: PartitionFacts, target: OffsetRange) -> Translation:
    doubt = "".join(f"{each}; " for each in (facts.caution, facts.syncs.reason) if each)
    pair = facts.syncs.below(position)
    if pair is None:
        return _from_the_start(position, facts, target, doubt)
    if pair.target >= target.end:
        return _unknown(position, f"{doubt}the target's log ends before what was copied to it: it was cut")
    if pair.source == position:
        begin, between, said = pair.target, 0, "an offset sync says so; content was not compared"
    else:
        begin, between = pair.target + 1, position - pair.source - 1
        said = f"after the offset sync {pair.source}→{pair.target}"
    copied_twice = begin <= facts.syncs.repeated_from != 0
    again = target.end - begin if copied_twice else min(between, target.end - begin)
    return _within(position, begin, facts, again, f"{doubt}{said}", kind="bounded")


def _from_the_start(position: int, facts: PartitionFacts, target: OffsetRange, doubt: str) -> Translation:
    """No sync is below: what the group has not read may be anywhere on the target."""
    why = f"{doubt}no offset sync is at or below it"
    if len(target) == 0 and target.start == 0:
        return Translation(position, 0, "bounded", 0, f"{why}, and the target has never held a record")
    if facts.source is not None and target.start == 0:
        again = len(target) if facts.syncs.repeated_from else min(position, len(target))
        return Translation(position, 0, "bounded", again, f"{why}: from the target's start")
    return _unknown(position, f"{why}, and the target no longer holds its first records")


def _within(
    position: int, found: int, facts: PartitionFacts, again: int, reason: str, *, kind: Kind = "exact"
) -> Translation:
    """Return an answer, unless the target no longer holds that offset."""
    target = facts.target or OffsetRange(0, 0)
    if found > target.end:
        return _unknown(position, f"{reason}, at {found}, but the target's log ends at {target.end}: it was cut")
    if found >= target.start:
        return Translation(position, found, kind, again, reason)
    gone = f"{reason}, at {found}, but the target begins at {target.start}"
    if facts.source is None or (position < facts.source.start and _all_that_is_left(facts, facts.source)):
        return Translation(position, target.start, "bounded", 0, f"{gone}, as records expired on both clusters")
    return _unknown(position, f"{gone}: unread records expired there that the source may still hold")


def _all_that_is_left(facts: PartitionFacts, source: OffsetRange) -> bool:
    """Return whether the target is known to hold the copies of everything that the source still holds."""
    first = None if facts.caution else facts.runs.translate(source.start)
    pair = facts.syncs.below(source.start)
    copied = [offset for offset in (first, pair.target if pair else None) if offset is not None]
    return len(source) == 0 or (facts.target is not None and max(copied, default=-1) >= facts.target.start)


def _unknown(position: int, reason: str) -> Translation:
    return Translation(position, None, "unknown", None, reason)
