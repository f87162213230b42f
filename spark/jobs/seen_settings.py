"""Settings of the topics of a flow, as far as a principal may see them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from jobs.flows import ReachedFlow
from kafka_dr.clusters import KafkaCluster, NotAuthorized
from kafka_dr.clusters.renamed import FlowCluster

#: Why settings are not known.
NOT_GRANTED = "DESCRIBE_CONFIGS is not granted"


@dataclass(frozen=True, slots=True)
class SeenSettings:
    """What is known of the settings of topics.

    :param configs: effective values by topic and key
    :param refused: topics whose settings may not be seen
    """

    configs: Mapping[str, Mapping[str, str]]
    refused: frozenset[str] = frozenset()


def seen_settings(reached: ReachedFlow, cluster: FlowCluster, topics: Collection[str]) -> SeenSettings:
    """Read the settings of topics. The principal of an observed flow need not be allowed to see them.

    :param cluster: the source or the target
    :raises KafkaDrError: the cluster does not answer; or it refuses, and the flow is not an observed one
    """
    if isinstance(cluster, KafkaCluster) and not reached.declared.observed:
        return SeenSettings(cluster.topics.configs(topics))
    described = cluster.configs.describe(topics)
    for error in described.errors.values():
        if not isinstance(error, NotAuthorized):
            raise error
    configs = {
        topic: {key: each.value for key, each in found.items() if each.value is not None}
        for topic, found in described.configs.items()
    }
    return SeenSettings(configs, frozenset(described.errors))
