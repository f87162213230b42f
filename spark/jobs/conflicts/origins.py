"""What a conflict audit asks the members of a block before it reads a record."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from kafka_dr.audit.compaction import compacted_topics
from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.conflicts.seen import CopiedOrigin
from kafka_dr.conflicts.state import CommittedCopy
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.parallel import ask_all
from kafka_dr.topology.audited import AuditedFlow, audited_flow
from kafka_dr.topology.model import Topology


@dataclass(frozen=True, slots=True)
class MemberBlock:
    """A block of ``active_active`` whose conflicts are audited.

    :param groups: the protection groups of the members' clients, by member in the declared order
    :param readers: by member, the consumer groups that read copies there
    :param left_out: topics that are no applications' topics: those of canaries
    """

    name: str
    topology: Topology
    groups: Mapping[str, str]
    readers: Mapping[str, tuple[str, ...]]
    left_out: Collection[str]

    @property
    def sites(self) -> tuple[str, ...]:
        """The members, in the declared order."""
        return tuple(self.groups)

    def flow(self, origin: str, site: str) -> AuditedFlow:
        """Return the flow from one member to another."""
        return audited_flow(self.topology, f"{self.groups[origin]}.{origin}-to-{site}")

    def topics_of(self, origin: str, names: Collection[str]) -> set[str]:
        """Return which of the names on a member are topics that the applications of the block write."""
        flow = self.flow(origin, next(site for site in self.sites if site != origin))
        wanted = (name for name in names if name not in self.left_out)
        return {name for name in wanted if flow.covers_topic(name) and flow.copy_of(name) is not None}

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield origin and other site of each flow."""
        return ((origin, site) for origin in self.sites for site in self.sites if origin != site)


@dataclass(frozen=True, slots=True)
class OriginLog:
    """What a member holds of what its own clients wrote.

    :param topic_ids: of all topics that it has, copies among them
    :param held: from the log start to the last stable offset
    :param compacted: topics that it compacts
    """

    cluster_id: str
    topic_ids: Mapping[str, str]
    held: Mapping[TopicPartition, OffsetRange]
    compacted: frozenset[str]


@dataclass(frozen=True, slots=True)
class AskedMembers:
    """What all members say.

    :param at: before anything was asked
    :param committed: of each origin's copies on each other member
    :param cautions: a sentence for each thing that is not known of what was read there
    """

    at: datetime
    logs: Mapping[str, OriginLog]
    committed: tuple[CommittedCopy, ...]
    cautions: tuple[str, ...]

    def copied(self, block: MemberBlock, origin: str, site: str) -> CopiedOrigin:
        """Return what is copied from one member to another."""
        here, there, flow = self.logs[origin], self.logs[site], block.flow(origin, site)
        ids = {
            topic: (here.topic_ids[topic], there.topic_ids.get(flow.copy_of(topic) or "", ""))
            for topic in sorted({p.topic for p in here.held})
        }
        return CopiedOrigin(block.groups[origin], origin, site, (here.cluster_id, there.cluster_id), ids)

    def of_topics(self, topics: Collection[str]) -> AskedMembers:
        """Return the same of some topics.

        :raises Refused: no member has one of them
        """
        if missing := set(topics) - {p.topic for log in self.logs.values() for p in log.held}:
            raise Refused(f"no member has the topic {min(missing)!r} among those of the block: correct --topics")
        logs = {
            name: replace(log, held={p: span for p, span in log.held.items() if p.topic in topics})
            for name, log in self.logs.items()
        }
        return replace(self, logs=logs)


def ask_members(block: MemberBlock, clusters: Mapping[str, KafkaCluster], clock: Clock) -> AskedMembers:
    """Ask each member for its log, and what its declared readers have committed on copies.

    :raises KafkaDrError: a member does not answer
    """
    at = clock.now()
    logs = ask_all(lambda name: _log(block, name, clusters[name]), block.sites)
    committed: list[CommittedCopy] = []
    cautions: list[str] = []
    for site in block.sites:
        found, caution = _committed(block, site, clusters[site], logs, clock)
        committed += found
        cautions += [caution] if caution else []
    return AskedMembers(at, logs, tuple(committed), tuple(cautions))


def _log(block: MemberBlock, name: str, cluster: KafkaCluster) -> OriginLog:
    names = cluster.topics.names()
    own = block.topics_of(name, names)
    flows = [block.flow(origin, name) for origin in block.sites if origin != name]
    copies = {copy for flow in flows for topic in own if (copy := flow.copy_of(topic))}
    described = cluster.topics.describe(own | (copies & names))
    wanted = [partition for topic in own for partition in described[topic].partitions]
    starts, ends = cluster.topics.log_starts(wanted), cluster.topics.last_stable_offsets(wanted)
    return OriginLog(
        cluster.topics.identity().cluster_id,
        {topic: each.topic_id for topic, each in described.items()},
        {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in wanted},
        compacted_topics(cluster.topics.configs(own)),
    )


def _committed(
    block: MemberBlock, site: str, cluster: KafkaCluster, logs: Mapping[str, OriginLog], clock: Clock
) -> tuple[list[CommittedCopy], str]:
    readers = block.readers[site]
    if not readers:
        return (
            [],
            f"no consumer group is declared that reads copies on {site}, so none of its writers is known to follow",
        )
    answers = cluster.group_reading.committed(readers)
    at_ms = int(clock.now().timestamp() * 1000)
    if refused := [f"{group}: {each}" for group, each in answers.items() if isinstance(each, KafkaDrError)]:
        return [], f"what was read on {site} is not known ({refused[0]})"
    found = []
    for origin in (each for each in block.sites if each != site):
        flow = block.flow(origin, site)
        for partition in sorted(logs[origin].held):
            copy = flow.copy_of(partition.topic) or ""
            at = TopicPartition(copy, partition.partition)
            offsets = [each.get(at) for each in answers.values() if not isinstance(each, KafkaDrError)]
            reached = [each for each in offsets if each is not None]
            # One reader that has not read counts as much as all.
            if len(reached) == len(readers) and copy in logs[site].topic_ids:
                seen = ((at_ms, min(reached)),)
                found.append(
                    CommittedCopy(origin, site, partition.topic, partition.partition, logs[site].topic_ids[copy], seen)
                )
    return found, ""
