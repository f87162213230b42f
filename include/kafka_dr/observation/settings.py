"""Settings of the topics of a flow: how they differ, and how long the source keeps what is not copied yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.audit.compaction import CLEANUP, compacts
from kafka_dr.clusters import NotAuthorized
from kafka_dr.clusters.configs import Described, Overview
from kafka_dr.clusters.configuration import ConfigValue
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.config_sync.items import Item, ItemVerdict
from kafka_dr.config_sync.policy import Policy
from kafka_dr.config_sync.snapshot import TOPIC_PREFIX, Snapshot, TopicConfig
from kafka_dr.config_sync.topics import TopicRules, compare_topics
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.observation.comparison import PartitionComparison

_KEPT_MS, _KEPT_BYTES = "retention.ms", "retention.bytes"
_WORDS = {
    "the active cluster": "the source",
    "the active topic": "the original",
    "the standby's sets": "the copy sets",
    "the standby": "the target",
}
#: Below this, in seconds, somebody must know that the source is about to delete what is not copied.
_TOO_SOON = 3600.0


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The settings of the topics of one cluster.

    :param problem: why they were not looked at; empty if they were
    """

    cluster: str
    overview: Overview
    configs: Mapping[str, Mapping[str, ConfigValue]] = field(default_factory=dict)
    errors: Mapping[str, KafkaDrError] = field(default_factory=dict)
    problem: str = ""

    def value(self, topic: str, key: str) -> str | None:
        """Return an effective value; ``None`` if it is not known."""
        found = self.configs.get(topic, {}).get(key)
        return found.value if found else None


def read_settings(cluster: FlowCluster, overview: Overview, topics: Iterable[str]) -> ClusterSettings:
    """Read the settings of topics, as far as the principal may."""
    name = cluster.name
    wanted = sorted(set(topics) & overview.topics.keys())
    try:
        found = cluster.configs.describe(wanted) if wanted else Described({}, {})
    except KafkaDrError as error:
        return ClusterSettings(name, overview, problem=f"settings were not looked at: {error}")
    refused = sorted(topic for topic, error in found.errors.items() if isinstance(error, NotAuthorized))
    problem = ""
    if refused:
        many = counted(len(refused), "topic was", "topics were")
        problem = f"settings of {many} not looked at on {name}: DESCRIBE_CONFIGS is not granted"
    return ClusterSettings(name, overview, found.configs, found.errors, problem)


def differences(source: ClusterSettings, target: ClusterSettings, topics: Iterable[str]) -> list[dict[str, Any]]:
    """Return what differs between the settings of topics that both clusters have, as JSON."""
    both = [t for t in sorted(topics) if t in source.configs and t in target.configs]
    rules = TopicRules(Policy(), replication_factor=1, keyed=lambda _: False, written=lambda _: False)
    found = compare_topics(_snapshot(source, both), _snapshot(target, both), rules)
    return [_row(item) for item in found]


def _snapshot(found: ClusterSettings, topics: Iterable[str]) -> Snapshot:
    return Snapshot(
        cluster=found.cluster,
        cluster_id=found.overview.cluster_id,
        brokers=found.overview.brokers,
        topics={t: TopicConfig(found.overview.topics[t], found.configs[t]) for t in topics},
        unknown={f"{TOPIC_PREFIX}{t}": str(error) for t, error in found.errors.items() if t in topics},
    )


def _row(item: Item) -> dict[str, Any]:
    return {
        "topic": item.subject,
        "setting": item.key or str(item.kind),
        "verdict": _verdict(item),
        "source": item.active,
        "target": item.standby,
        "meaning": _in_words_of_a_flow(item.reason),
    }


def _in_words_of_a_flow(reason: str) -> str:
    """Return a reason of the config sync without its words for the two clusters of a protection group."""
    for word, of_a_flow in _WORDS.items():
        reason = reason.replace(word, of_a_flow)
    return reason


def _verdict(item: Item) -> str:
    if item.verdict is ItemVerdict.UNKNOWN:
        return "unknown"
    if item.blocks:
        return "failed"
    return "note" if item.verdict is ItemVerdict.NOTE else "warning"


def is_compacted(topic: str, *clusters: ClusterSettings) -> bool | None:
    """Return whether a topic is compacted on one of the clusters that have it; ``None`` if that is not known."""
    values = [each.value(topic, CLEANUP) for each in clusters if topic in each.overview.topics]
    if any(map(compacts, values)):
        return True
    return None if None in values else False


def headroom(source: ClusterSettings, compared: Iterable[PartitionComparison], now_ms: int) -> list[dict[str, Any]]:
    """Return, by topic, for how long the source keeps what is not copied yet, as JSON.

    Where everything is copied, that is the whole retention.
    """
    oldest: dict[str, int] = {}
    topics = set()
    for each in compared:
        topic = each.partition.topic
        topics.add(topic)
        waiting = [d.timestamp for d in each.differences if d.kind in ("IN_FLIGHT", "LATE")]
        if waiting:
            oldest[topic] = min(*waiting, oldest.get(topic, now_ms))
    return [_headroom(source, topic, oldest.get(topic), now_ms) for topic in sorted(topics)]


def _headroom(source: ClusterSettings, topic: str, oldest: int | None, now_ms: int) -> dict[str, Any]:
    kept, size = source.value(topic, _KEPT_MS), source.value(topic, _KEPT_BYTES)
    deletes = "delete" in (source.value(topic, CLEANUP) or "delete")
    row: dict[str, Any] = {"topic": topic, "verdict": "ok", "seconds": None, "meaning": ""}
    waited = 0.0 if oldest is None else max(0.0, (now_ms - oldest) / 1000)
    if kept is None:
        return row | {"verdict": "unknown", "meaning": "how long the source keeps records was not looked at"}
    if deletes and size is not None and int(size) >= 0:
        return row | {"verdict": "unknown", "meaning": f"the source keeps {size} bytes, and for how long is not known"}
    if not deletes or int(kept) < 0:
        return row | {"meaning": "the source keeps every record, or the newest of each key"}
    seconds = round(int(kept) / 1000 - waited, 1)
    meaning = "everything is copied" if oldest is None else "until the source may delete a record that is not copied"
    bad = oldest is not None and seconds < min(_TOO_SOON, int(kept) / 2000)
    return row | {"verdict": "failed" if bad else "ok", "seconds": seconds, "meaning": meaning}
