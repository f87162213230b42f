"""Clients whose answers are waited for three seconds, not ten: for tests of clusters that do not answer."""

from __future__ import annotations

from collections.abc import Callable

from kafka_dr.clusters import KafkaCluster
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.register import KafkaRegister
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.replicator import Service
from kafka_dr.runs.clients import Clients, Role

_SECONDS = 3.0


class ShortTimeoutClients(Clients):
    """Gives up sooner than the real one; nothing else differs."""

    def cluster(self, name: str, role: Role) -> KafkaCluster:
        with self._lock:
            if (name, role) not in self._clusters:
                settings = self.connections.kafka(getattr(self.topology.cluster(name).connections, role))
                self._clusters[name, role] = KafkaCluster(name, settings, request_seconds=_SECONDS)
            return self._clusters[name, role]

    def register(self, cluster: str) -> KafkaRegister:
        return KafkaRegister(self.cluster(cluster, "operator"), self.clock, deadline_seconds=_SECONDS)

    def service(self, connection: str, make: Callable[[HttpEndpoint], Service]) -> Service:
        made = super().service(connection, make)
        if isinstance(made, ConnectClient):
            made._seconds = _SECONDS
        return made
