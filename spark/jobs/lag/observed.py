"""What a lag audit asks of a flow that somebody else runs: nobody knows its positions, so content says how far it is.

Each partition is read from where the last checksum audit ended, on both clusters, or its newest offsets are. The
newest record of the source that the target has is where the flow is, at least.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from jobs.checksum.state import AuditState
from jobs.flows import ReachedFlow
from jobs.lag.facts import LagFacts, cautions_about, partitions_seen
from jobs.lag.groups import SeenGroups, seen_groups
from jobs.seen_settings import NOT_GRANTED, SeenSettings, seen_settings
from kafka_dr.audit.copies import NO_TIMESTAMP, stamped_topics
from kafka_dr.clock import Clock
from kafka_dr.clusters import ClientSettings, KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.flow_ends import held, hidden
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.lag.assessment import PartitionSeen
from kafka_dr.lag.window import Series, Window
from kafka_dr.topology.audited import AuditedFlow
from kafka_dr_spark.fingerprints import Special, fingerprints
from kafka_dr_spark.kafka_ranges import read_ranges
from kafka_dr_spark.newest_copies import ANCHORED, newest_copies
from kafka_dr_spark.renamed_topics import renamed

#: The first part of what distinguishes one life of an observed flow from another.
LIFE = "observed"
_NOT_MEASURED = "nobody writes down when records of an observed flow arrive; its canary measures that"
_NOTHING = OffsetRange(0, 0)
#: Offsets of a partition that are read before its first checksum audit has ended: there may be many partitions.
_MOST_AT_FIRST = 20_000


@dataclass(frozen=True, slots=True)
class EndOfLogs:
    """What is read of one partition to find out how far its copy is.

    :param anchored: whether both ranges begin at records that correspond
    :param known: next to be copied, at least, by what was found out before; ``None`` if nothing was
    """

    source: OffsetRange
    target: OffsetRange
    anchored: bool
    known: int | None


@dataclass(frozen=True, slots=True)
class ObservedFacts:
    """Everything except the content of records.

    :param facts: without positions
    :param ends: what is read of each partition
    :param timeless: topics of which timestamps cannot be compared, as settings or the last checksum audit say
    """

    facts: LagFacts
    ends: Mapping[TopicPartition, EndOfLogs]
    timeless: frozenset[str]


def ask_observed(
    found: ReachedFlow, *, state: AuditState | None, window: Window, most: int, clock: Clock
) -> ObservedFacts:
    """Ask both clusters: the target's ends first, so that what it has by then, the source has, too.

    :param state: what the last checksum audit left; ``None`` if there was none
    :param window: the looks before
    :param most: offsets of a partition that are read
    :raises KafkaDrError: a cluster does not answer
    """
    flow, source, target = found.declared, found.source, found.target
    groups, left_out = _groups(flow, source)
    names = {name for name in source.topics.names() if flow.covers_topic(name) and flow.copy_of(name) is not None}
    copied = names & target.topics.names()
    if not names:
        left_out.append(f"no topic of {flow.subject} was found on {source.name}: correct topics, or give DESCRIBE")
    unseen = hidden(target, names - copied)
    names -= unseen.keys()
    copies = target.topics.describe(copied)
    there = held(target, [partition for topic in copies.values() for partition in topic.partitions])
    topics = source.topics.describe(names)
    settings = seen_settings(found, source, names), seen_settings(found, target, copied)
    ids = {
        name: f"{topic.topic_id}/{copies[name].topic_id if name in copies else ''}" for name, topic in topics.items()
    }
    seen = partitions_seen(topics, source, settings[0].configs, ids, {})
    anchors = _anchors(state, (source, target), ids)
    ends = {
        TopicPartition(*each.place): _ends(
            each, there.get(TopicPartition(*each.place), _NOTHING), anchors, window, most
        )
        for each in seen
    }
    facts = LagFacts(
        "observed",
        None,
        clock.now(),
        seen,
        groups.seen,
        groups.unjudged,
        None,
        _NOT_MEASURED,
        (*left_out, *(f"{topic}, its copy is hidden: {why}" for topic, why in unseen.items())),
        (
            *_cautions(source, settings[0]),
            # Its replicator may have copied them all the same: the command observe compares them.
            *cautions_about(source.held_back.look((TopicPartition(*each.place) for each in seen), named=False)),
        ),
    )
    untimed = {name for name, (_, timed) in (state.kinds if state else {}).items() if not timed}
    return ObservedFacts(facts, ends, stamped_topics(settings[1].configs) | (untimed & names))


def placed(session: SparkSession, found: ReachedFlow, asked: ObservedFacts) -> LagFacts:
    """Return the facts with positions; partitions of which nothing says how far the copy is are named and left out."""
    newest = _newest(session, found, asked)
    seen, unknown = [], []
    for each in asked.facts.partitions:
        partition = TopicPartition(*each.place)
        ends = asked.ends[partition]
        known = [offset for offset in (ends.known, newest.get(partition)) if offset is not None]
        if not known and ends.target.end:
            unknown.append(each.name)
            continue
        seen.append(replace(each, position=max(known, default=None)))
    facts = replace(asked.facts, partitions=tuple(seen))
    if not unknown:
        return facts
    more = f" and {len(unknown) - 1} more partitions" if len(unknown) > 1 else ""
    said = (
        f"how far the copy of {unknown[0]}{more} is: none of the newest records of the copy is one of the source; see "
        "dr_checksum_audit"
    )
    return replace(facts, left_out=(*facts.left_out, said))


def _newest(session: SparkSession, found: ReachedFlow, asked: ObservedFacts) -> dict[TopicPartition, int]:
    """Return, by partition, next after the newest record of the source that was read on the target, too."""
    both = {p: each for p, each in asked.ends.items() if len(each.source) and len(each.target)}
    if not both:
        return {}
    names = {topic: found.declared.copy_of(topic) or topic for topic in {p.topic for p in both}}
    on_source = _read(session, found.source.settings, {p: each.source for p, each in both.items()}, {})
    on_target = _read(session, found.target.settings, {p: each.target for p, each in both.items()}, names)
    anchored = [(p.topic, p.partition) for p, each in both.items() if each.anchored]
    # Read once: only the records themselves say whether they have times that can be compared.
    source, target = (fingerprints(each, Special(restamped=names)).persist() for each in (on_source, on_target))
    try:
        untimed = _topics(source.where(f.col("timestamp") == NO_TIMESTAMP)) | _topics(target.where("stamped"))
        compared = names.keys() - asked.timeless - untimed
        rows = newest_copies(
            _with_times(source, compared), _with_times(target, compared), session.createDataFrame(anchored, ANCHORED)
        ).collect()
    finally:
        source.unpersist()
        target.unpersist()
    return {TopicPartition(row.topic, row.partition): row.offset + 1 for row in rows}


def _topics(records: DataFrame) -> frozenset[str]:
    return frozenset(row.topic for row in records.select("topic").distinct().collect())


def _with_times(made: DataFrame, topics: Collection[str]) -> DataFrame:
    """Return fingerprints that were made without timestamps with those of some topics."""
    dated = f.xxhash64("hash", "timestamp")
    return made.withColumn("hash", f.when(f.col("topic").isin(sorted(topics)), dated).otherwise(f.col("hash")))


def _read(
    session: SparkSession,
    settings: ClientSettings,
    ranges: Mapping[TopicPartition, OffsetRange],
    names: Mapping[str, str],
) -> DataFrame:
    """Return the records of ranges.

    :param names: by topic, its name on this cluster
    """
    wanted = {(names.get(p.topic, p.topic), p.partition): [(each.start, each.end)] for p, each in ranges.items()}
    records = read_ranges(session, settings.spark(), wanted)
    others = {topic: own for topic, own in names.items() if topic != own}
    return renamed(records, others) if others else records


def _ends(
    seen: PartitionSeen,
    there: OffsetRange,
    anchors: Mapping[TopicPartition, tuple[int, int]],
    window: Window,
    most: int,
) -> EndOfLogs:
    partition, series = TopicPartition(*seen.place), Series("", *seen.place)
    anchor = anchors.get(partition)
    looks = window.of(series) if window.lives.get(series) == f"{LIFE}/{seen.topic_id}" else ()
    before = [each.position for each in looks] + ([anchor[0]] if anchor is not None else [])
    first = anchor if anchor is not None else (seen.start, there.start)
    most = most if anchor is not None else min(most, _MOST_AT_FIRST)
    starts = (
        max(first[0], seen.start, seen.stable_end - most),
        max(first[1], there.start, there.end - most),
    )
    # Without an anchor both logs begin with the same record only if they have kept their first ones.
    anchored = starts == (anchor if anchor is not None else (0, 0))
    return EndOfLogs(
        OffsetRange(starts[0], max(starts[0], seen.stable_end)),
        OffsetRange(starts[1], max(starts[1], there.end)),
        anchored,
        max(before, default=None),
    )


def _anchors(
    state: AuditState | None, clusters: tuple[FlowCluster, FlowCluster], ids: Mapping[str, str]
) -> dict[TopicPartition, tuple[int, int]]:
    """Return, by partition, next to read on source and target where the checksum audits will continue."""
    if state is None or state.identity[:2] != tuple(each.topics.identity().cluster_id for each in clusters):
        return {}
    same = {topic for topic, found in state.topic_ids.items() if ids.get(topic) == "/".join(found)}
    return {p: known.resume for p, known in state.partitions.items() if p.topic in same}


def _groups(flow: AuditedFlow, source: KafkaCluster) -> tuple[SeenGroups, list[str]]:
    """Return the groups that could be looked at, and a sentence for each thing that could not."""
    try:
        found = seen_groups(flow, source)
    except KafkaDrError as error:
        return SeenGroups(), [f"consumer groups: {error}"]
    return found, [f"group {name}: {error}" for name, error in sorted(found.refused.items())]


def _cautions(source: KafkaCluster, settings: SeenSettings) -> tuple[str, ...]:
    if not settings.refused:
        return ()
    many = counted(len(settings.refused), "topic")
    said = f"how long {source.name} keeps the records of {many} is not known ({NOT_GRANTED})"
    return (said,)
