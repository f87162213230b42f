"""The connections of a round: read once, in the process that may read them, and handed to its children in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kafka_dr.audit.content_keys import ContentKeys
from kafka_dr.clusters import ClientSettings
from kafka_dr.errors import Refused
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.topology import Topology

V = TypeVar("V")

#: A connection that cannot be read, as a sentence.
Unreadable = str


@dataclass(frozen=True, slots=True)
class AccessData:
    """What each connection of the topology holds, or why it cannot be read. ``repr`` shows no secrets.

    :param kafka: by connection id
    :param http: by connection id: Connect clusters and vantages
    :param signing_pem: the key that signs, in PEM; ``None`` if the topology names none
    :param content_keys: the keys of stranded records' content; ``None`` if the topology names none
    """

    kafka: Mapping[str, ClientSettings | Unreadable] = field(repr=False)
    http: Mapping[str, HttpEndpoint | Unreadable] = field(repr=False)
    signing_pem: str | None = field(default=None, repr=False)
    content_keys: ContentKeys | Unreadable | None = field(default=None, repr=False)
    signing_problem: Unreadable = ""

    @classmethod
    def read(
        cls,
        topology: Topology,
        groups: Iterable[str],
        *,
        settings_of: Callable[[str], ClientSettings],
        connect_of: Callable[[str], HttpEndpoint],
        signing_key_of: Callable[[str], SigningKey],
        content_keys_of: Callable[[str], ContentKeys],
        unreadable: tuple[type[Exception], ...],
    ) -> AccessData:
        """Read the connections of groups and observed flows. One that cannot be read harms only those that use it.

        :param unreadable: errors of a connection that cannot be read
        """

        def each(names: Iterable[str], read: Callable[[str], V]) -> dict[str, V | Unreadable]:
            found: dict[str, V | Unreadable] = {}
            for name in dict.fromkeys(names):
                try:
                    found[name] = read(name)
                except unreadable as error:
                    found[name] = f"the connection {name} cannot be read: {error}"
            return found

        names = list(groups)
        observed = [topology.observed_flows[name] for name in names if name in topology.observed_flows]
        declared = [topology.group(name) for name in names if name not in topology.observed_flows]
        used = dict.fromkeys(cluster for group in declared for cluster in group.clusters)
        clusters = [topology.cluster(name) for name in used]
        vantages = [name for group in declared for name in group.disaster.vantage_connections.values()]
        signing, content = topology.evidence.signing_connection, topology.evidence.encryption_connection
        signed = next(iter(each([signing] if signing else [], signing_key_of).values()), None)
        return cls(
            each(
                [
                    *(name for spec in clusters for name in spec.kafka_connections),
                    *(name for flow in observed for name in flow.connections),
                ],
                settings_of,
            ),
            each([*(name for spec in clusters for name in spec.http_connections), *vantages], connect_of),
            signing_pem=signed.private_pem if isinstance(signed, SigningKey) else None,
            content_keys=next(iter(each([content] if content else [], content_keys_of).values()), None),
            signing_problem=signed if isinstance(signed, str) else "",
        )

    def settings_of(self, connection: str) -> ClientSettings:
        """Return how to reach a Kafka cluster.

        :raises Refused: the connection could not be read
        """
        return _readable(self.kafka.get(connection), connection)

    def connect_of(self, connection: str) -> HttpEndpoint:
        """Return where an HTTP service is.

        :raises Refused: the connection could not be read
        """
        return _readable(self.http.get(connection), connection)

    def signing_key_of(self, connection: str) -> SigningKey:
        """Return what signs sealed runs.

        :raises Refused: the connection could not be read
        """
        if self.signing_pem is None:
            raise Refused(self.signing_problem or f"the connection {connection} was not read")
        return SigningKey.of(self.signing_pem)

    def content_keys_of(self, connection: str) -> ContentKeys:
        """Return the keys of the content of stranded records.

        :raises Refused: the connection could not be read
        """
        return _readable(self.content_keys, connection)


def _readable(found: V | Unreadable | None, connection: str) -> V:
    if found is None:
        raise Refused(f"the connection {connection} was not read before this look began")
    if isinstance(found, str):
        raise Refused(found)
    return found
