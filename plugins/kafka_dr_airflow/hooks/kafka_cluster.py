"""From an Airflow connection of type ``kafka`` to a cluster."""

from __future__ import annotations

from airflow.providers.apache.kafka.hooks.base import KafkaBaseHook
from airflow.sdk.log import mask_secret

from kafka_dr.clusters import ClientSettings, KafkaCluster
from kafka_dr.errors import Refused

#: Keys that may hold a secret though their names do not tell Airflow so; it masks those with *password* in them itself.
_SECRETS = ("sasl.jaas.config", "ssl.key.pem")


class KafkaClusterHook(KafkaBaseHook):
    """The door from Airflow to Kafka: a connection of the Kafka provider's own type, read as client settings.

    The connection keeps librdkafka's keys in its extra (``bootstrap.servers``, ``security.protocol``,
    ``sasl.mechanism``, ``sasl.username``, ``sasl.password``, ``ssl.ca.location`` …), and nothing else, so that "Test
    connection" in the user interface, which runs the provider's hook, works with it too. Secrets are masked in logs.

    :param kafka_config_id: the connection's id; each cluster has one for each role
    """

    def settings(self) -> ClientSettings:
        """Return how to reach the cluster, and as which principal.

        :raises Refused: a setting is missing or is none of the choices
        """
        extra = self.get_connection(self.kafka_config_id).extra_dejson
        for secret in filter(None, map(extra.get, _SECRETS)):
            mask_secret(secret)
        try:
            return ClientSettings.from_librdkafka(extra)
        except Refused as error:
            raise Refused(f"connection {self.kafka_config_id}: {error}") from error

    def cluster(self, name: str) -> KafkaCluster:
        """Return the cluster as this connection's principal sees it.

        :param name: the cluster's name in the topology, for sentences
        """
        return KafkaCluster(name, self.settings())
