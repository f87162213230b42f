"""How the standby's brokers differ in what applications meet. It is said, and left to whoever runs the brokers.

What topics inherit of their brokers is compared with the topics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kafka_dr.clusters import KafkaCluster
from kafka_dr.config_sync.items import Item, ItemKind, ItemVerdict
from kafka_dr.config_sync.snapshot import BROKERS, Snapshot

#: How the keys begin whose values applications meet, in brokers of Kafka 3.9 to 4.4, and what that value decides.
_MET: Mapping[str, str] = {
    "auto.create.topics.enable": "whether a client makes a topic by asking about it",
    "errors.deadletterqueue.": "where records go that share groups give up",
    "group.": "which members a group takes, and how these work together",
    "offset.metadata.max.bytes": "how much commit metadata a group may keep",
    "offsets.retention.minutes": "how long the offsets of a group without members are kept",
    "producer.id.expiration.ms": "how long brokers know a producer that pauses",
    "transaction.max.timeout.ms": "which transaction.timeout.ms a producer may have",
    "transaction.two.phase.commit.enable": "whether a producer may prepare a transaction",
    "transactional.id.expiration.ms": "how long brokers know a transactional id that is not used",
}
#: Of these, what only says how brokers do their own work.
_OWN_WORK = re.compile(r"group\.(coordinator\.(?!rebalance\.protocols)|share\.(initialize|persister)\.|.*\.offload\.)")


def decides(key: str) -> str | None:
    """Return what a broker's setting decides for applications; ``None`` if that is the brokers' own matter."""
    if _OWN_WORK.match(key):
        return None
    return next((decided for begins, decided in _MET.items() if key.startswith(begins)), None)


def met_by_applications(cluster: KafkaCluster) -> dict[str, str]:
    """Return the settings of a cluster's brokers that applications meet, by key.

    Where brokers differ among themselves, the value has each of theirs.

    :raises KafkaDrError: a broker does not answer, or refuses
    """
    values: dict[str, set[str]] = {}
    for settings in cluster.broker_settings.read(cluster.topics.identity().brokers, None).values():
        for key, value in settings.items():
            if value is not None and decides(key):
                values.setdefault(key, set()).add(value)
    return {key: " or ".join(sorted(found)) for key, found in values.items()}


def compare_brokers(active: Snapshot, standby: Snapshot) -> Iterator[Item]:
    """Yield each setting that brokers of both clusters know, and in which they differ."""
    for snapshot in (active, standby):
        if BROKERS in snapshot.unknown:
            name, reason = f"{BROKERS} on {snapshot.cluster}", snapshot.unknown[BROKERS]
            yield Item(ItemKind.BROKER, name, "", None, None, ItemVerdict.UNKNOWN, reason)
    for key in sorted(active.met.keys() & standby.met.keys()):
        here, there = active.met[key], standby.met[key]
        if here != there:
            reason = f"it decides {decides(key)}: applications meet another one after a switch"
            yield Item(ItemKind.BROKER, key, "", here, there, ItemVerdict.NOTE, reason)
