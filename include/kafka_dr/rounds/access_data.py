"""The connections of a round: read once, in the process that may read them, and handed to its children in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kafka_dr.connections.connection import Connection
from kafka_dr.errors import Refused
from kafka_dr.topology.model import Topology

#: A connection that cannot be read, as a sentence.
Unreadable = str


@dataclass(frozen=True, slots=True)
class AccessData:
    """What each connection of the topology holds, or why it cannot be read. ``repr`` shows no secrets.

    :param stored: by connection id
    """

    stored: Mapping[str, Connection | Unreadable] = field(repr=False)

    @classmethod
    def read(cls, topology: Topology, groups: Iterable[str], get: Callable[[str], Connection]) -> AccessData:
        """Read the connections of groups and observed flows. One that cannot be read harms only those that use it.

        :param get: returns a connection, or raises :class:`Refused`
        """
        found: dict[str, Connection | Unreadable] = {}
        for name in dict.fromkeys(_ids(topology, groups)):
            try:
                found[name] = get(name)
            except Refused as error:
                found[name] = str(error)
        return cls(found)

    def get(self, conn_id: str) -> Connection:
        """Return a connection.

        :raises Refused: it could not be read
        """
        found = self.stored.get(conn_id, f"the connection {conn_id} was not read before this look began")
        if isinstance(found, Unreadable):
            raise Refused(found)
        return found


def _ids(topology: Topology, groups: Iterable[str]) -> Iterator[str]:
    clusters: set[str] = set()
    for name in groups:
        if name in topology.observed_flows:
            yield from topology.observed_flows[name].connections
        else:
            group = topology.group(name)
            clusters.update(group.clusters)
            yield from group.disaster.vantage_connections.values()
            yield from (*group.route.http_connections, *group.route.tsig_connections)
    for cluster in clusters:
        spec = topology.cluster(cluster)
        yield from (*spec.kafka_connections, *spec.http_connections)
    evidence = topology.evidence
    yield from filter(None, (evidence.signing_connection, evidence.encryption_connection))
