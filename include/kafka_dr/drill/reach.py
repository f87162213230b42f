"""How a drill reaches the clusters: as itself, with its own declarations, and in a disaster without one of them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from kafka_dr.clusters import ClientSettings
from kafka_dr.connections.port import Connections
from kafka_dr.drill.result import DrillResults
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.people import Person
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.drill_group import Drill, topology_of
from kafka_dr.topology.drill_rules import NOBODY


def own_clients(drill: Drill, clients: Clients, *, connections: Connections | None = None) -> Clients:
    """Return the clients of a drill: they know no other group, and keep evidence in the drill's own folder.

    :param clients: of the real world
    """
    nobody = (Person(NOBODY, NOBODY),)
    return clients.among(
        topology_of(drill, clients.topology),
        evidence_root=DrillResults(clients.evidence_root, drill.group.name).folder(drill.id),
        connections=connections,
        people_of=(lambda names, roles: nobody) if drill.by_nobody else None,
    )


@contextmanager
def without(drill: Drill, clients: Clients, cluster: str) -> Iterator[Clients]:
    """Yield clients of a drill for which a cluster and what runs flows to it are lost: each address is a closed port.

    Nothing happens to the cluster itself. The port is held as long as the disaster lasts, so nobody else opens it.

    :param clients: of the real world
    """
    spec = clients.topology.cluster(cluster)
    lost = {*spec.connections.model_dump().values(), drill.spec.connections[cluster]}
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # never listens, so each connection to it is refused
        nowhere = f"127.0.0.1:{held.getsockname()[1]}"

        def kafka(connection: str) -> ClientSettings:
            found = clients.connections.kafka(connection)
            return replace(found, bootstrap_servers=nowhere) if connection in lost else found

        def http(connection: str) -> HttpEndpoint:
            is_lost = connection == spec.connect
            return HttpEndpoint(f"http://{nowhere}") if is_lost else clients.connections.http(connection)

        with own_clients(drill, clients, connections=replace(clients.connections, kafka=kafka, http=http)) as made:
            yield made
