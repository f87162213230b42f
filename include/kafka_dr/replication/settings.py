"""The settings of a MirrorMaker 2 flow, and why each is what it is.

Only ``MirrorSourceConnector`` is deployed. MirrorMaker's own group-offset sync can rewind groups on the target
(KAFKA-19794), its ACL sync drops or weakens most entries, and its config sync overwrites what was set on the target
on purpose: those three are done elsewhere, by rules of this project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka_dr.clusters.settings import java_access
from kafka_dr.replication.copy_settings import CODEC, REQUEST, CopySettings
from kafka_dr.replication.flow import Flow
from kafka_dr.topology.cluster import ClusterSpec
from kafka_dr.topology.model import ProtectionGroup

CONNECTOR_CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
_DEFAULT = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"
_POLICY, _SEPARATOR = "replication.policy.class", "replication.policy.separator"
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"

#: What no flow may copy, whatever a prefix says: our own topics, Kafka's and MirrorMaker's.
_EXCLUDED = (r"_kafka_dr\..*", r"__.*", r"\..*", r"mm2.*", r".*\.checkpoints\.internal")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a connector.

    :param reason: why it is set, and set to this
    """

    key: str
    value: str
    reason: str


OFF = "false"
#: What would let a flow change settings and ACLs of its target as well.
SYNCS = ("sync.topic.configs.enabled", "sync.topic.acls.enabled")

#: The same for every flow.
FIXED = (
    Setting("connector.class", CONNECTOR_CLASS, "copies records; checkpoints and heartbeats are not wanted"),
    Setting("key.converter", _BYTES, "bytes stay bytes"),
    Setting("value.converter", _BYTES, "bytes stay bytes"),
    Setting("header.converter", _BYTES, "the default would re-encode headers"),
    Setting("exactly.once.support", "required", "exact positions and nothing copied twice, or it does not start"),
    Setting("transaction.boundary", "poll", "a transaction for each batch read: the shortest wait until it is visible"),
    Setting("errors.tolerance", "none", "a record that cannot be copied stops the flow; skipping it would be loss"),
    Setting("source.consumer.isolation.level", "read_committed", "aborted records are not copied"),
    Setting("source.consumer.auto.offset.reset", "earliest", "a partition without a position is copied from its start"),
    Setting("source.consumer.fetch.min.bytes", "1048576", "a batch, and so a transaction, holds more than one record"),
    Setting("consumer.poll.timeout.ms", "100", "how long an idle task may take to notice a stop: 1000 by default"),
    Setting("emit.offset-syncs.enabled", "true", "anchors for translating the offsets of groups"),
    Setting("offset-syncs.topic.location", "target", "the map must outlive the source"),
    Setting("sync.topic.configs.enabled", "false", "it would undo what was set on the target on purpose"),
    Setting("sync.topic.acls.enabled", "false", "it copies ALLOW READ and DENY only, and never revokes"),
    Setting("heartbeats.replication.enabled", "false", "the canary shows more, and is replicated in the same flow"),
    Setting("refresh.topics.enabled", "true", "new topics and partitions of the group are copied, too"),
    Setting("producer.override.linger.ms", "5", "a batch fills while a transaction is written; latency stays low"),
    Setting("producer.override.transaction.timeout.ms", "30000", "a dead task holds readers back no longer than this"),
)


#: Kafka's defaults for what a consumer fetches of a partition, and in one answer, in bytes.
_FETCH, _FETCH_IN_ALL = 1_048_576, 52_428_800
_REACHED = "as Connect reaches it"
_ACCESS_REASONS = {
    "sasl.jaas.config": "a reference; the worker reads it",
    "ssl.truststore.location": "whose certificates the worker believes",
    "ssl.keystore.location": "who the worker is to the brokers",
    "ssl.key.password": "a reference; the worker reads it",
}


def flow_settings(
    flow: Flow, *, group: ProtectionGroup, source: ClusterSpec, target: ClusterSpec, copies: CopySettings
) -> tuple[Setting, ...]:
    """Return every setting of a flow's connector, other than its name.

    :param copies: what its topics ask for
    """
    wanted = group.flow
    replicas = str(wanted.replication_factor)
    return (
        *FIXED,
        *_of_naming(group),
        *_of_topics(copies),
        Setting("source.cluster.alias", flow.source, "names the source in positions and offset syncs"),
        Setting("target.cluster.alias", flow.target, "names the target"),
        *access_settings("source.cluster.", flow.source, endpoint=source, reader=target),
        *access_settings("target.cluster.", flow.target, endpoint=target, reader=target),
        Setting("topics", _patterns(group), "the group's topics and no others"),
        Setting("topics.exclude", ",".join(_EXCLUDED), "internal topics never move"),
        Setting("tasks.max", str(wanted.tasks_max), "topology: flow.tasks_max"),
        Setting("offset.lag.max", str(wanted.offset_lag_max), "topology: flow.offset_lag_max"),
        Setting(
            "source.consumer.fetch.max.wait.ms",
            str(wanted.fetch_wait_ms),
            "topology: flow.fetch_wait_ms; no record waits longer than this for others to come along",
        ),
        Setting("replication.factor", replicas, "topology: flow.replication_factor; the default would be 2"),
        Setting("offset-syncs.topic.replication.factor", replicas, "as many copies as the topics have"),
        Setting(
            "refresh.topics.interval.seconds",
            str(wanted.refresh_topics_seconds),
            "until then a new topic is not copied: 600 by default",
        ),
    )


def names_copies_for(group: ProtectionGroup, found: Mapping[str, str]) -> bool:
    """Return whether a connector names its copies as the topology says; what it does not set is as usual."""
    wanted = as_config(_of_naming(group))
    usual = {_POLICY: _DEFAULT, _SEPARATOR: "."}
    return all(wanted.get(key, has) == has for key, has in ((key, found.get(key, usual[key])) for key in usual))


def _of_naming(group: ProtectionGroup) -> tuple[Setting, ...]:
    if not group.renames_copies:
        reason = "a copy keeps its name, so applications move without renaming"
        return (Setting(_POLICY, IDENTITY, reason),)
    return (
        Setting(_POLICY, _DEFAULT, "topology: flow.naming; a copy begins with its cluster's name"),
        Setting(_SEPARATOR, group.flow.separator, "topology: flow.separator"),
        Setting(
            "replication.policy.internal.topic.separator.enabled",
            "false",
            "the topic of offset syncs has the same name whatever the separator is",
        ),
    )


def _of_topics(copies: CopySettings) -> tuple[Setting, ...]:
    return (
        Setting(REQUEST, str(copies.most_record_bytes), "a record may be larger uncompressed than max.message.bytes"),
        Setting("producer.override.buffer.memory", str(copies.buffer_bytes), "room for several records of that size"),
        Setting(CODEC, copies.codec, "as most bytes of the topics are stored on the source; lz4 for what has no codec"),
        Setting(
            "source.consumer.max.partition.fetch.bytes",
            str(max(_FETCH, copies.largest)),
            "a batch of the largest size comes with others, and not in a fetch of its own",
        ),
        Setting("source.consumer.fetch.max.bytes", str(max(_FETCH_IN_ALL, copies.largest)), "the same for one answer"),
    )


#: The keys whose values follow the topics of the flow.
FOLLOWING_TOPICS = tuple(setting.key for setting in _of_topics(CopySettings()))


def as_config(settings: Iterable[Setting]) -> dict[str, str]:
    """Return settings as Connect takes them."""
    return {setting.key: setting.value for setting in settings}


def access_settings(prefix: str, name: str, *, endpoint: ClusterSpec, reader: ClusterSpec) -> tuple[Setting, ...]:
    """Return how the workers next to one cluster reach another, or their own, as the replicator.

    :param prefix: put before every key
    :param name: of the cluster that is reached
    :param reader: the cluster of the workers, whose file holds the secrets
    """
    reached = endpoint.replicator
    keystore: dict[str, str | None] = {}
    if reached.keystore_file:
        password = reader.secret_reference(name, "ssl.key.password") if reached.keystore_is_encrypted else None
        keystore = {"ssl.keystore.location": reached.keystore_file, "ssl.key.password": password}
    access = java_access(
        reached.bootstrap_servers,
        reached.security_protocol,
        sasl=(reached.sasl_mechanism, reader.jaas_reference(name)) if reached.sasl_mechanism else None,
        ca_file=reached.ca_file,
        keystore=keystore,
    )
    return tuple(Setting(prefix + key, value, _ACCESS_REASONS.get(key, _REACHED)) for key, value in access.items())


def _patterns(group: ProtectionGroup) -> str:
    """Return the topics as MirrorMaker reads them: regular expressions that match whole names.

    A declared pattern is none of them. If it were, MirrorMaker would create a new topic on the standby before the topic
    is fenced there, and applications could write to the copy. So the names that it matches are given one by one.
    """
    prefixes = [as_pattern(prefix) + ".*" for prefix in group.topic_prefixes]
    return ",".join((*map(as_pattern, group.literal_topics), *prefixes))


def as_pattern(name: str) -> str:
    """Return the regular expression that matches a name of a topic and no other, as MirrorMaker's settings hold it."""
    return re.escape(name).replace(r"\-", "-")
