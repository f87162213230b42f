"""One look at a flow that somebody else runs. It reads both clusters, and changes neither."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_dr.audit.settled import SettledFlow
from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, NotFound
from kafka_dr.clusters.configs import Overview
from kafka_dr.clusters.flow_ends import hidden as hidden_in
from kafka_dr.clusters.renamed import FlowCluster, RenamedCluster
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.naming import Naming
from kafka_dr.observation import settings
from kafka_dr.observation.audited import settled_in
from kafka_dr.observation.checkpoints import Checkpoints, newest
from kafka_dr.observation.comparison import PartitionComparison
from kafka_dr.observation.groups import ExistingPositions, positions_of
from kafka_dr.observation.kept_audits import NO_AUDITS, KeptAudits
from kafka_dr.observation.meaning import Circumstances
from kafka_dr.observation.reading import ReadingLimits, compare_all
from kafka_dr.observation.result import FlowObservation
from kafka_dr.parallel import at_once
from kafka_dr.positions import Committed, OffsetRange, TopicPartition
from kafka_dr.readers.covered import CoveredReader, covered_readers
from kafka_dr.topology.observed import ObservedFlowSpec

#: How many topics a sentence names.
_SHOWN = 3


def look_at(
    flow: ObservedFlowSpec, source: KafkaCluster, target: KafkaCluster, clock: Clock, kept: KeptAudits = NO_AUDITS
) -> FlowObservation:
    """Look at a flow.

    :param source: reached by the flow's connection
    :param target: likewise
    :param kept: what audits and canary have found of the flow
    :raises Refused: a cluster is not the declared one, or both are the same
    :raises ClusterUnreachable: a cluster does not answer at all
    """
    began, at = clock.monotonic(), clock.now()
    naming = flow.naming.rule()
    ends: tuple[FlowCluster, FlowCluster] = source, RenamedCluster(target, naming)
    seen = at_once(*(end.configs.overview for end in ends))
    _refuse_wrong_clusters(flow, seen)
    for cluster, each in ((source, seen[0].topics), (target, map(naming.copy_of, seen[1].topics))):
        if known := next(filter(None, each), None):
            cluster.connect_by(known)
    problems = list(kept.problems)
    topics = _topics(flow, naming, seen[0], problems)
    groups = _Groups.read(flow, source, target, naming, problems)
    found = tuple(settings.read_settings(end, each, topics) for end, each in zip(ends, seen, strict=True))
    now_ms = int(at.timestamp() * 1000)
    hidden = hidden_in(ends[1], [t for t in topics if t not in seen[1].topics])
    clusters = seen[0].cluster_id, seen[1].cluster_id
    settled = settled_in(kept.settled, clusters, _topic_ids(ends, kept.settled, topics.keys() & seen[1].topics.keys()))
    limits = ReadingLimits(
        flow.records_per_partition, flow.most_records, lambda: clock.monotonic() - began < flow.most_seconds
    )
    exists = {
        TopicPartition(t, n): t in seen[1].topics and n < seen[1].topics[t].partitions
        for t, count in topics.items()
        if t not in hidden
        for n in range(count)
    }
    compared = compare_all(
        source,
        ends[1],
        exists,
        lambda p: Circumstances(
            now_ms - int(flow.late_after_seconds * 1000),
            settings.is_compacted(p.topic, *found),
            settled=settled[p].until if p in settled else None,
        ),
        limits,
    )
    problems += _unproven(flow, compared.compared, exists)
    if uncounted := compared.held.not_read:
        problems.append(f"at most {uncounted:,} records that open transactions hold back were not looked at")
    left_out = {
        TopicPartition(t, n): f"its copy is hidden: {why}" for t, why in hidden.items() for n in range(topics[t])
    }
    return FlowObservation(
        flow.name,
        at,
        (flow.source.name, flow.target.name),
        clusters,
        compared.compared,
        {**compared.left_out, **left_out},
        positions_of(groups.committed, groups.existing(hidden), compared.compared),
        settings.differences(found[0], found[1], topics),
        settings.headroom(found[0], compared.compared.values(), now_ms),
        (*problems, *(each.problem for each in found if each.problem)),
        settled,
        kept.settled.at if kept.settled else None,
        kept.rows,
        groups.readers,
        compared.held.sentence,
    )


def _unproven(
    flow: ObservedFlowSpec,
    compared: Mapping[TopicPartition, PartitionComparison],
    exists: Mapping[TopicPartition, bool],
) -> Iterator[str]:
    """Yield why logs without a fault do not show that anything is copied. Pure.

    :param exists: by partition of the source, whether the target has it
    """
    source, target = flow.source.name, flow.target.name
    bare = sorted({p.topic for p, each in compared.items() if not exists[p] and not each.source.records})
    if bare:
        yield f"{_named(bare)} held no record and has no copy on {target}, so nothing shows that it would be copied"
    if compared and not any(each.source.records for each in compared.values()):
        yield (
            f"no topic of the flow holds a record on {source}, so nothing shows whether it is copied: look again when "
            "there is one, or give the flow a canary"
        )
    elif compared and not any(each.target.records for each in compared.values()):
        yield f"{target} holds no copy of any record, so nothing shows that anything is copied: is the replication on?"


def _named(topics: Sequence[str]) -> str:
    return ", ".join(topics[:_SHOWN]) + (f" and {len(topics) - _SHOWN} more topics" if len(topics) > _SHOWN else "")


def _topic_ids(
    ends: tuple[FlowCluster, FlowCluster], settled: SettledFlow | None, topics: Collection[str]
) -> dict[str, tuple[str, str]]:
    """Return the ids of topics on both clusters, of those that audits know."""
    wanted = [topic for topic in topics if settled is not None and topic in settled.topic_ids]
    on_source, on_target = (end.topics.describe(wanted) for end in ends)
    return {topic: (on_source[topic].topic_id, on_target[topic].topic_id) for topic in wanted}


def _refuse_wrong_clusters(flow: ObservedFlowSpec, seen: tuple[Overview, ...]) -> None:
    for declared, found in zip((flow.source, flow.target), seen, strict=True):
        if declared.cluster_id not in (None, found.cluster_id):
            raise Refused(
                f"{declared.name} says that it is the cluster {found.cluster_id}, and the topology declares "
                f"{declared.cluster_id}: correct the connection {declared.connection} or the cluster_id"
            )
    if seen[0].cluster_id == seen[1].cluster_id:
        raise Refused(
            f"{flow.source.name} and {flow.target.name} are the same cluster, {seen[0].cluster_id}: a copy is never "
            "compared with itself; correct a connection"
        )


def _topics(flow: ObservedFlowSpec, naming: Naming, seen: Overview, problems: list[str]) -> dict[str, int]:
    """Return the topics that are compared, with the number of their partitions."""
    found = {
        name: layout.partitions
        for name, layout in seen.topics.items()
        if flow.covers_topic(name) and naming.copy_of(name) is not None
    }
    for name in flow.topics:
        if naming.copy_of(name) is None:
            problems.append(f"{name} is never copied under this naming, so it was not looked at")
        elif name not in seen.topics:
            problems.append(f"{name} was not looked at: {flow.source.name} has no such topic, or DESCRIBE is missing")
    if not found:
        problems.append(f"no topic of the flow was found on {flow.source.name}")
    return found


@dataclass(frozen=True, slots=True)
class _Groups:
    """What is known about the positions of the groups.

    :param committed: on the source, in topics of the flow
    :param on_target: on the target
    :param unread: groups whose offsets on the target could not be read
    :param readers: what needs more than a moved offset
    """

    committed: Committed
    on_target: Committed
    unread: Collection[str]
    checkpoints: Checkpoints
    readers: Sequence[CoveredReader]

    def existing(self, hidden: Collection[str]) -> ExistingPositions:
        """Return what there is on the target.

        :param hidden: topics whose copies may not be seen
        """
        found = self.checkpoints
        return ExistingPositions(self.on_target, found.positions, self.unread, hidden, not found.problem)

    @classmethod
    def read(
        cls, flow: ObservedFlowSpec, source: KafkaCluster, target: KafkaCluster, naming: Naming, problems: list[str]
    ) -> _Groups:
        """Read what the target has first: a group that continues to read meanwhile is never ahead of its position."""
        if not flow.consumer_groups and not flow.consumer_group_prefixes:
            return cls({}, {}, (), Checkpoints(), ())
        try:
            listed = [each for each in source.group_kinds.listed() if flow.covers_group(each.group)]
        except KafkaDrError as error:
            problems.append(f"consumer groups were not looked at: {error}")
            listed = []
        unseen = sorted(set(flow.consumer_groups) - {each.group for each in listed})
        problems += [f"group {name} was not looked at: {flow.source.name} does not show it" for name in unseen]
        names = [each.group for each in listed if each.kind != "share"]
        checkpoints = _checkpoints(flow, target, naming)
        if checkpoints.problem:
            problems.append(checkpoints.problem)
        if checkpoints.unreadable:
            problems.append(
                f"in {flow.checkpoints} "
                f"{counted(checkpoints.unreadable, 'record is no checkpoint', 'records are no checkpoints')} "
                "of a known version"
            )
        on_target, unread = _committed(flow, RenamedCluster(target, naming), names, problems)
        committed, _ = _committed(flow, source, names, problems)
        known = covered_readers(source, listed, target=flow.target.name)
        problems += known.problems
        return cls(committed, on_target, unread, checkpoints, known.readers)


def _committed(
    flow: ObservedFlowSpec, end: FlowCluster, groups: list[str], problems: list[str]
) -> tuple[Committed, Collection[str]]:
    """Return what groups have committed in topics of the flow, and the groups that could not be read."""
    found: dict[str, dict[TopicPartition, int]] = {}
    unread = []
    for group, answer in end.group_reading.committed(groups).items():
        if isinstance(answer, KafkaDrError):
            unread.append(group)
            problems.append(f"the offsets of {group} on {end.name} were not looked at: {answer}")
        elif offsets := {p: offset for p, offset in answer.items() if flow.covers_topic(p.topic)}:
            found[group] = offsets
    return found, unread


def _checkpoints(flow: ObservedFlowSpec, target: KafkaCluster, naming: Naming) -> Checkpoints:
    topic = flow.checkpoints
    if topic is None:
        return Checkpoints()
    try:
        partitions = target.topics.describe([topic])[topic].partitions
        starts, ends = target.topics.log_starts(partitions), target.topics.last_stable_offsets(partitions)
        ranges = {p: OffsetRange(starts[p], ends[p]) for p in partitions}
        return newest(target.log.read(ranges), naming)
    except NotFound:
        why = (
            f"{flow.target.name} has no topic {topic}, so it is not known where MirrorMaker would let groups continue: "
            "let it write checkpoints, or correct checkpoints_topic or the aliases in the topology"
        )
        return Checkpoints(problem=why)
    except KafkaDrError as error:
        return Checkpoints(problem=f"the checkpoints in {topic} were not looked at: {error}")
