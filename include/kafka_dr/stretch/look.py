"""One look at a stretch cluster. It reads metadata and settings; only the measurement of delays writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster
from kafka_dr.clusters.configs import Described
from kafka_dr.clusters.placement import PlacedPartition, QuorumVoter
from kafka_dr.counted import counted
from kafka_dr.errors import ConnectionMistake, KafkaDrError, Refused
from kafka_dr.positions import TopicPartition
from kafka_dr.stretch.delay import (
    MOST_SECONDS,
    PAIRS,
    SiteDelay,
    create_command,
    delay_findings,
    delay_partitions,
    judged_delays,
)
from kafka_dr.stretch.facts import SitedBroker, SitedVoter, StretchFacts, StretchPartition
from kafka_dr.stretch.findings import StretchFinding, findings_of
from kafka_dr.stretch.result import StretchLook
from kafka_dr.stretch.what_if import if_lost
from kafka_dr.topology.stretch import StretchClusterSpec

T = TypeVar("T")

#: A voter that was last up to date longer ago does not count as sure; an idle log is fetched twice a second.
_LATE_MS = 10_000
_MIN_IN_SYNC, _UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
_SELECTOR, _RACK_AWARE = "replica.selector.class", "RackAwareReplicaSelector"


def look_at_stretch(
    spec: StretchClusterSpec, cluster: KafkaCluster, clock: Clock, writer: KafkaCluster | None = None
) -> StretchLook:
    """Look at a stretch cluster.

    :param cluster: reached by the connection that reads
    :param writer: reached by the connection of ``delay``; ``None``: delays are not measured
    :raises Refused: the cluster is not the declared one
    :raises Unanswered: it does not answer at all
    """
    at = clock.now()
    cluster_id, brokers = cluster.placement.brokers()
    if spec.cluster_id not in (None, cluster_id):
        raise Refused(
            f"{spec.name} says that it is the cluster {cluster_id}, and the topology declares {spec.cluster_id}: "
            f"correct the connection {spec.connection} or the cluster_id"
        )
    reading = _Reading(spec, cluster)
    placed = reading.placed()
    up = [each.broker for each in brokers if each.up]
    sited = {each.broker: SitedBroker(each.broker, spec.site_of_rack(each.rack), each.up) for each in brokers}
    facts = StretchFacts(
        spec.name,
        cluster_id,
        at,
        sited,
        reading.judged([each for each in placed if spec.judges(each.partition.topic)], placed, up),
        reading.voters(sited),
        reading.follower_fetching(up),
        spec.acks,
        tuple(reading.unknown),
    )
    losses = tuple(if_lost(facts, site) for site in facts.sites)
    findings = [*findings_of(facts, losses)]
    if spec.delay is None:
        return StretchLook(facts, losses, tuple(findings))
    delays = _delays(facts, spec.delay.topic, placed, writer, findings)
    findings += delay_findings(delays, spec.delay.most_ms)
    return StretchLook(facts, losses, tuple(findings), delays, create_command(facts, spec.delay.topic))


def _delays(
    facts: StretchFacts,
    topic: str,
    placed: tuple[PlacedPartition, ...],
    writer: KafkaCluster | None,
    findings: list[StretchFinding],
) -> tuple[SiteDelay, ...]:
    own = [
        StretchPartition(each.partition, each.leader, each.replicas, each.in_sync)
        for each in placed
        if each.partition.topic == topic
    ]
    if not own or writer is None:
        why = f"{facts.name} shows no topic {topic}: make it (--plan prints the command), or give DESCRIBE on it"
        said = "the delay between sites is not known: " + (why if not own else "it was not measured")
        findings.append(StretchFinding("unknown", "delay", said))
        return ()
    pairs = delay_partitions(facts, own)
    try:
        samples = writer.write_delay.measure(tuple(pairs.values()), pairs=PAIRS, seconds=MOST_SECONDS)
    except KafkaDrError as error:
        findings.append(StretchFinding("unknown", "delay", f"the delay between sites is not known: {error}"))
        return ()
    return judged_delays(facts, pairs, samples)


@dataclass(slots=True)
class _Reading:
    """Reads each part by itself: what cannot be read is not known, and hides nothing else.

    :param unknown: gets a sentence for each part that could not be read
    """

    spec: StretchClusterSpec
    cluster: KafkaCluster
    unknown: list[str] = field(default_factory=list)

    def placed(self) -> tuple[PlacedPartition, ...]:
        """Return all partitions that the principal may see; none is as unknown as an error."""
        found = self._asked("the replicas", lambda: self.cluster.placement.partitions(lambda _: True)) or ()
        seen = {each.partition.topic for each in found}
        missing = [topic for topic in self.spec.topics if topic not in seen]
        self.unknown += [f"{topic} was not judged: there is no such topic, or DESCRIBE is missing" for topic in missing]
        if not any(self.spec.judges(topic) for topic in seen):
            self.unknown.append("no topic was judged: there is none, or DESCRIBE on the topics is missing")
        return found

    def judged(
        self, judged: list[PlacedPartition], placed: tuple[PlacedPartition, ...], up: list[int]
    ) -> tuple[StretchPartition, ...]:
        """Return partitions with their settings and sizes.

        :param placed: all that may be seen
        :param up: the brokers that are asked for sizes
        """
        topics = {each.partition.topic for each in judged}
        configs = self._asked("the settings of topics", lambda: self.cluster.configs.describe(topics))
        described = configs if configs is not None else Described({}, {})
        for error in list(described.errors.values())[:1]:
            are = counted(len(described.errors), "topic is", "topics are")
            self.unknown.append(f"the settings of {are} not known: {error}; give DESCRIBE_CONFIGS")
        sizes = self._sizes(placed, up)
        moving = self._asked("reassignments", self.cluster.placement.being_moved) or frozenset()
        return tuple(
            StretchPartition(
                each.partition,
                each.leader,
                each.replicas,
                each.in_sync,
                each.eligible,
                _number(_setting(described, each.partition.topic, _MIN_IN_SYNC)),
                {"true": True, "false": False}.get(_setting(described, each.partition.topic, _UNCLEAN) or ""),
                sizes.get(each.partition),
                each.partition in moving,
            )
            for each in judged
        )

    def voters(self, brokers: Mapping[int, SitedBroker]) -> tuple[SitedVoter, ...] | None:
        """Return the voters. A node that is a broker, too, has its site; only what is none has to be declared."""

        def sited(voter: QuorumVoter) -> SitedVoter:
            node = voter.node
            site = brokers[node].site if node in brokers else self.spec.site_of_controller(node)
            runs = node not in brokers or brokers[node].up
            return SitedVoter(node, site, runs and voter.late_ms is not None and voter.late_ms <= _LATE_MS)

        found = self._asked("the metadata quorum", self.cluster.placement.voters)
        return None if found is None else tuple(map(sited, found))

    def follower_fetching(self, up: list[int]) -> bool | None:
        """Return whether all brokers that are up let consumers read from a replica nearby."""
        found = self._asked("the settings of brokers", lambda: self.cluster.broker_settings.read(up, [_SELECTOR]))
        if found is None:
            return None
        return all((each.get(_SELECTOR) or "").endswith(_RACK_AWARE) for each in found.values())

    def _sizes(self, placed: tuple[PlacedPartition, ...], up: list[int]) -> Mapping[TopicPartition, int]:
        """Return sizes of logs; brokers name those of all topics, so this shows what the principal may not see."""
        sizes = self._asked("the sizes of logs", lambda: self.cluster.log_sizes.of_all(up)) or {}
        seen = {each.partition.topic for each in placed}
        if hidden := {each.topic for each in sizes if self.spec.judges(each.topic)} - seen:
            are = counted(len(hidden), "topic was", "topics were")
            self.unknown.append(f"{are} not judged ({min(hidden)} …): give DESCRIBE and DESCRIBE_CONFIGS on all topics")
        return sizes

    def _asked(self, what: str, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except ConnectionMistake:
            raise
        except KafkaDrError as error:
            self.unknown.append(f"{what}: {error}")
            return None


def _setting(described: Described, topic: str, key: str) -> str | None:
    found = described.configs.get(topic, {}).get(key)
    return None if found is None else found.value


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
