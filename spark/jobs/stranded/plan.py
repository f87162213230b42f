"""What the list of stranded records is made from: the registers, the journal, and the ends of both clusters' logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kafka_dr.audit.compaction import compacted_topics
from kafka_dr.audit.copies import stamped_topics
from kafka_dr.audit.kept_frontier import FileFrontierStore
from kafka_dr.audit.stranded import StrandedList, StrandedPartition
from kafka_dr.clusters import KafkaCluster, OffsetRange, Topic, TopicPartition
from kafka_dr.clusters.renamed import FlowCluster, RenamedCluster
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.named_rows import positions_from_json
from kafka_dr.positions import SeedPoint
from kafka_dr.register import Register, highest
from kafka_dr.register.abandonment import Abandonment, abandonment, failback_since
from kafka_dr.register.flow_seed import all_seeds, newest
from kafka_dr.register.port import History
from kafka_dr.register.quarantine import by_partition, quarantined
from kafka_dr.register.roles import Role
from kafka_dr.topology.model import ProtectionGroup


@dataclass(frozen=True, slots=True)
class AbandonedGroup:
    """The group according to the registers, and what is journaled about it.

    :param held: whether a failback of this cluster holds the group, and relies on the list that was approved
    :param others: further standbys that refuse writes, and may hold records that the active cluster lacks
    """

    group: str
    abandonment: Abandonment
    history: History
    held: bool = False
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StrandedPartitionPlan:
    """One partition of the old cluster.

    :param old: what is read of the old cluster
    :param new: what is read of the active cluster: to the offset after which nothing could be copied any more
    :param since: what was written to the active cluster afterwards; read for compacted topics
    :param position: what the flow said: next to be copied
    :param expired: how many offsets the old cluster deleted after the one at which comparing had to begin
    :param copies_expired: whether the active cluster deleted copies after that offset
    :param quarantined: what an earlier failback has left where it is: the offsets, and next after the last
    """

    old: OffsetRange
    new: OffsetRange
    since: OffsetRange
    position: int
    expired: int
    copies_expired: bool
    quarantined: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class OtherStandby:
    """Another standby that may hold records which the active cluster lacks.

    :param held: what it holds, by partition
    """

    cluster: KafkaCluster
    topic_ids: Mapping[str, str]
    held: Mapping[TopicPartition, OffsetRange]


@dataclass(frozen=True, slots=True)
class Arriving:
    """What the active cluster holds, and keeps, next to the copies in which records would arrive late.

    :param written: what applications have written there since the failover, to topics of the same names
    :param kept_from_ms: by topic, the time of the oldest record that its copy keeps; a topic that keeps all is left out
    """

    written: Mapping[TopicPartition, OffsetRange]
    kept_from_ms: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class StrandedPlan:
    """All partitions that the old cluster has.

    :param copies: by topic, what the active cluster calls its copy, where that is another name
    :param arriving: what to count of records that would arrive late in such a copy; ``None`` if there are none
    """

    abandoned_group: AbandonedGroup
    at: datetime
    cluster_ids: Mapping[str, str]
    topic_ids: Mapping[str, str]
    compacted: frozenset[str]
    restamped: frozenset[str]
    gone: tuple[str, ...]
    partitions: Mapping[TopicPartition, StrandedPartitionPlan]
    others: Mapping[str, OtherStandby] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    arriving: Arriving | None = None

    def as_list(self, partitions: Iterable[StrandedPartition] | None = None) -> StrandedList:
        """Return the list that this plan leads to.

        :param partitions: what was found; without it, the list has only the ends of the logs
        """
        left = self.abandoned_group.abandonment
        found = tuple(partitions) if partitions is not None else tuple(map(self._ends_of, sorted(self.partitions)))
        return StrandedList(
            group=self.abandoned_group.group,
            run=left.name,
            old=left.old,
            new=left.new,
            at=self.at,
            cluster_ids=self.cluster_ids,
            topic_ids=self.topic_ids,
            partitions=found,
            gone=self.gone,
            compacted=tuple(sorted(self.compacted)),
        )

    def _ends_of(self, partition: TopicPartition) -> StrandedPartition:
        planned = self.partitions[partition]
        start, end = planned.old.start, planned.old.end
        return StrandedPartition(partition.topic, partition.partition, start, start, end, planned.new.end)


def abandoned_group(group: ProtectionGroup, registers: Mapping[str, Register], old: str | None) -> AbandonedGroup:
    """Ask the registers about the group.

    :param registers: of the clusters that answer
    :param old: the cluster that may hold stranded records; the only one where ``None``
    :raises Refused: it cannot, or there are several and none is named
    :raises TryAgain: the register that decides does not answer
    """
    state = highest({name: register.read(group.name) for name, register in registers.items()})
    if state is None or not state.roles.given_up:
        phase = "not adopted" if state is None else f"{state.phase} on {state.active}"
        raise Refused(f"{group.name} is {phase}, expected unfenced or diverged: no cluster can hold stranded records")
    left = state.roles.given_up
    if (old is None and len(left) > 1) or (old is not None and old not in left):
        named = f"{old} is none of them" if old else "name one"
        raise Refused(f"of {group.name} these clusters may hold stranded records: {', '.join(left)}; {named}")
    found = old or left[0]
    if silent := [name for name in (state.active, found) if name not in registers]:
        raise TryAgain(f"{' and '.join(silent)} cannot be read, and the list is made from what is there: try again")
    history = registers[state.active].history(group.name)
    closed = (Role.PENDING, Role.DIVERGED)
    others = tuple(name for name, role in state.roles.each if name != found and role in closed and name in registers)
    held = state.is_failing_back and state.moved_with == found
    return AbandonedGroup(group.name, abandonment(history, state, found), history, held=held, others=others)


def plan(
    group: ProtectionGroup,
    left: AbandonedGroup,
    old: KafkaCluster,
    new: FlowCluster,
    *,
    root: Any,
    positions: Mapping[TopicPartition, int],
    now: datetime,
    others: Mapping[str, KafkaCluster] | None = None,
) -> StrandedPlan:
    """Resolve what is read.

    :param new: the active cluster, with copies under the names of their originals
    :param others: further standbys that may hold records which the active cluster lacks
    :param root: the evidence root
    :param positions: what the flow says: next to be copied
    :raises TryAgain: an open transaction hides the end of the old cluster's log
    """
    on_old, on_new = _owned(group, old), _owned(group, new)
    starts, ends = _held(old, on_old)
    further = {name: (cluster, _owned(group, cluster)) for name, cluster in (others or {}).items()}
    configs = [cluster.topics.configs(found) for cluster, found in ((old, on_old), (new, on_new), *further.values())]
    begins = _beginnings(left, old, new, on_old, on_new, root=root)
    new_held = {p for topic in on_new.values() for p in topic.partitions}
    new_starts, new_ends = new.topics.log_starts(new_held), new.topics.last_stable_offsets(new_held)
    switched = left.abandonment.new_ends
    compacted = compacted_topics(*configs)
    ids = {name: topic.topic_id for name, topic in on_old.items()}
    given_up = by_partition(quarantined(left.history, old.name, ids))
    partitions = {}
    for p, end in ends.items():
        begin, copied = begins.get(p, (0, 0))
        if begin > end:
            # Created again or truncated since: nothing is known of this log.
            begin, copied = 0, 0
        end_of_new = new_ends.get(p, 0)
        until = end_of_new if left.abandonment.still_copied else min(switched.get(p, 0), end_of_new)
        copy = min(max(copied, new_starts.get(p, 0)), until)
        since = OffsetRange(until, end_of_new) if p.topic in compacted else OffsetRange(0, 0)
        partitions[p] = StrandedPartitionPlan(
            OffsetRange(max(begin, starts[p]), end),
            OffsetRange(copy, until),
            since,
            positions.get(p, 0),
            expired=max(0, starts[p] - begin),
            copies_expired=copied < min(new_starts.get(p, 0), until),
            quarantined=tuple((each.start, each.end) for each in given_up.get(p, ())),
        )
    return StrandedPlan(
        abandoned_group=left,
        at=now,
        cluster_ids={cluster.name: cluster.topics.identity().cluster_id for cluster in (old, new)},
        topic_ids=ids,
        compacted=frozenset(compacted),
        restamped=frozenset[str]().union(*map(stamped_topics, configs[1:])),
        # A standby may never have had them.
        gone=tuple(sorted({p.topic for p in switched} - on_old.keys())) if left.abandonment.was_active else (),
        partitions=partitions,
        others={name: _other(*found, partitions) for name, found in further.items()},
        copies=_names_of_copies(group, old.name, new.name, on_old),
        arriving=_arriving(group, left, new.plain, configs[1], now) if isinstance(new, RenamedCluster) else None,
    )


def _arriving(
    group: ProtectionGroup,
    left: AbandonedGroup,
    active: KafkaCluster,
    copies: Mapping[str, Mapping[str, str]],
    now: datetime,
) -> Arriving:
    """Resolve what late records are held against.

    :param active: under its own names
    :param copies: settings of the copies, by topic
    """
    at_failover = positions_from_json(left.history[left.abandonment.run]["target_ends"]["ends"])
    topics = _owned(group, active)
    own = [p for name, topic in topics.items() if name != group.canary_topic for p in topic.partitions]
    starts, ends = active.topics.log_starts(own), active.topics.last_stable_offsets(own)
    begins = {p: max(starts[p], at_failover.get(p, 0)) for p in own}
    written = {p: OffsetRange(begin, ends[p]) for p, begin in begins.items() if begin < ends[p]}
    keeps = {name: int(config.get("retention.ms", -1)) for name, config in copies.items() if _deletes(config)}
    now_ms = int(now.timestamp() * 1000)
    return Arriving(written, {name: now_ms - keep for name, keep in keeps.items() if keep >= 0})


def _deletes(config: Mapping[str, str]) -> bool:
    return "delete" in config.get("cleanup.policy", "")


def _names_of_copies(group: ProtectionGroup, old: str, new: str, topics: Iterable[str]) -> dict[str, str]:
    naming = group.naming(old, new)
    named = {topic: naming.copy_of(topic) for topic in topics} if naming else {}
    return {topic: copy for topic, copy in named.items() if copy is not None}


def _other(cluster: KafkaCluster, topics: Mapping[str, Topic], wanted: Mapping[TopicPartition, Any]) -> OtherStandby:
    """Resolve what another standby holds of the partitions of the old cluster."""
    partitions = [p for topic in topics.values() for p in topic.partitions if p in wanted]
    starts, ends = cluster.topics.log_starts(partitions), cluster.topics.last_stable_offsets(partitions)
    held = {p: OffsetRange(starts[p], ends[p]) for p in partitions}
    return OtherStandby(cluster, {name: topic.topic_id for name, topic in topics.items()}, held)


def _owned(group: ProtectionGroup, cluster: FlowCluster) -> dict[str, Topic]:
    return cluster.topics.describe(name for name in cluster.topics.names() if group.owns_topic(name))


def _held(
    cluster: KafkaCluster, topics: Mapping[str, Topic]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    wanted = [partition for topic in topics.values() for partition in topic.partitions]
    starts, ends = cluster.topics.log_starts(wanted), cluster.topics.high_watermarks(wanted)
    stable = cluster.topics.last_stable_offsets(wanted)
    hidden = sorted(p for p in wanted if stable[p] < ends[p])
    if hidden:
        raise TryAgain(
            f"{cluster.name}: an open transaction hides the end of {', '.join(map(str, hidden[:3]))}, so it is not "
            "known which records are stranded: wait until dr_health has ended its transactions, then run this again"
        )
    return starts, ends


def _beginnings(
    left: AbandonedGroup,
    old: KafkaCluster,
    new: FlowCluster,
    on_old: Mapping[str, Topic],
    on_new: Mapping[str, Topic],
    *,
    root: Any,
) -> dict[TopicPartition, SeedPoint]:
    """Return the offsets at which comparing begins: the flow's seed, or up to where it was verified."""
    epoch, begins = newest_seed(left, {name: topic.topic_id for name, topic in on_old.items()})
    identity = (old.topics.identity().cluster_id, new.topics.identity().cluster_id, epoch)
    frontier = FileFrontierStore(root, left.group).read(f"{old.name}-to-{new.name}")
    if frontier is None or frontier.identity != identity:
        return begins
    for (topic, number), verified in frontier.points.items():
        ids = (on_old[topic].topic_id, on_new[topic].topic_id) if topic in on_old and topic in on_new else None
        partition = TopicPartition(topic, number)
        reached = left.abandonment.new_ends.get(partition, 0)
        then = frontier.topic_ids.get(topic)
        if ids == then and verified.target_offset <= reached:
            begins[partition] = SeedPoint(verified.source_offset, verified.target_offset)
        elif ids is not None and then is not None and ids[0] != then[0]:
            begins.pop(partition, None)  # the topic was created again: the seed of its former log is not valid
    return begins


def newest_seed(left: AbandonedGroup, topic_ids: Mapping[str, str]) -> tuple[int, dict[TopicPartition, SeedPoint]]:
    """Return the epoch of the newest seed of the flow from the old cluster, and the seed; 0 and empty if the flow was
    never seeded, or the active cluster was made a copy again since.

    :param topic_ids: of the old cluster now; the seed of a topic that was created again since is not valid
    """
    ends = (left.abandonment.old, left.abandonment.new)
    seed = newest(seed for seed in all_seeds(left.history) if (seed.source, seed.target) == ends)
    if seed is None or failback_since(left.history, left.abandonment.new, seed.epoch):
        return 0, {}
    then = seed.topic_ids or {}
    return seed.epoch, {
        partition: point
        for partition, point in seed.points.items()
        if then.get(partition.topic, topic_ids.get(partition.topic)) == topic_ids.get(partition.topic)
    }
