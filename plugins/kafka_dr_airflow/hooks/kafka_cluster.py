"""Reads an Airflow connection of type ``kafka``: how one principal reaches one cluster."""

from __future__ import annotations

from airflow.providers.apache.kafka.hooks.base import KafkaBaseHook
from airflow.sdk.log import mask_secret

from kafka_dr.clusters import ClientSettings, KafkaCluster
from kafka_dr.connections.connection import Connection
from kafka_dr.connections.meaning import kafka_settings

#: Keys that may hold a secret. Airflow masks keys with *password* in their names by itself, and does not know these.
_SECRETS = ("sasl.jaas.config", "ssl.key.pem")


class KafkaClusterHook(KafkaBaseHook):
    """Turns a connection of the Kafka provider's type into client settings.

    The extra of the connection holds librdkafka's keys and nothing else (``bootstrap.servers``, ``security.protocol``,
    ``sasl.mechanism``, ``sasl.username``, ``sasl.password``, ``ssl.ca.location`` …). "Test connection" in Airflow's
    user interface runs the provider's hook and works with it as well. Secrets are masked in logs.

    :param kafka_config_id: the connection's id; each cluster has one for each role
    """

    def settings(self) -> ClientSettings:
        """Return how to reach the cluster, and as which principal.

        :raises Refused: a setting is missing or has a value that is not allowed
        """
        extra = self.get_connection(self.kafka_config_id).extra_dejson
        for secret in filter(None, map(extra.get, _SECRETS)):
            mask_secret(secret)
        return kafka_settings(Connection(self.kafka_config_id, extra=extra))

    def cluster(self, name: str) -> KafkaCluster:
        """Return the cluster as the principal of this connection sees it.

        :param name: the cluster's name in the topology, for messages
        """
        return KafkaCluster(name, self.settings())
