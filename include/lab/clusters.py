"""The datacenters of the lab: their names, cluster ids, brokers and topics."""

from __future__ import annotations

from dataclasses import dataclass

from lab.layout import NAMES, Ports, Settings


@dataclass(frozen=True, slots=True)
class Node:
    """One broker, which may also vote in its cluster's metadata quorum."""

    cluster: str
    number: int
    client_port: int
    internal_port: int
    controller_port: int
    outside_port: int
    proxy_port: int

    @property
    def name(self) -> str:
        """Name of the broker's process, e.g. ``east-broker-1``."""
        return f"{self.cluster}-broker-{self.number}"

    def site(self, sites: int) -> str:
        """Name of its site, where a cluster is spread over some: the first brokers are in one each, and so vote."""
        return f"site-{'abcdef'[(self.number - 1) % sites]}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """One datacenter. Its id is fixed, so that the topology can name it."""

    name: str
    number: int
    cluster_id: str

    @property
    def connect_group_id(self) -> str:
        """``group.id`` of this cluster's Connect worker."""
        return f"connect-{self.name}"

    @property
    def connect_name(self) -> str:
        """Name of the Connect worker's process."""
        return f"{self.name}-connect"

    def nodes(self, settings: Settings) -> tuple[Node, ...]:
        """The brokers of this cluster."""
        ports = settings.ports
        return tuple(
            Node(
                cluster=self.name,
                number=number,
                client_port=ports.client(self.number, number),
                internal_port=ports.internal(self.number, number),
                controller_port=ports.controller(self.number, number),
                outside_port=ports.outside_listener(self.number, number),
                proxy_port=ports.outside(self.number, number),
            )
            for number in range(1, settings.brokers + 1)
        )

    def brokers(self, settings: Settings) -> tuple[Node, ...]:
        """The nodes that take clients: all, unless controllers are apart."""
        nodes = self.nodes(settings)
        return nodes[:-3] if settings.controllers_apart else nodes

    def voters(self, settings: Settings) -> tuple[Node, ...]:
        """The nodes that vote: three, or one where there are fewer than three brokers.

        Two voters would stop when either of them stops, so the second broker of two does not vote.
        """
        if settings.controllers_apart:
            return self.nodes(settings)[-3:]
        return self.nodes(settings)[: 3 if settings.brokers >= 3 else 1]

    def bootstrap(self, settings: Settings) -> str:
        """Bootstrap servers of the listener for applications."""
        return ",".join(f"{settings.host(node.name)}:{node.client_port}" for node in self.brokers(settings))

    def outside_bootstrap(self, settings: Settings) -> str:
        """Bootstrap servers for who is outside of the datacenter: the proxy, if the lab has one."""
        if not settings.proxied:
            return self.bootstrap(settings)
        return ",".join(f"{settings.host(node.name)}:{node.proxy_port}" for node in self.nodes(settings))

    def internal_bootstrap(self, settings: Settings) -> str:
        """Bootstrap servers of the listener for brokers; the lab uses it once, to create its users."""
        return ",".join(f"{settings.host(node.name)}:{node.internal_port}" for node in self.brokers(settings))

    def connect_port(self, ports: Ports) -> int:
        """REST port of this cluster's Connect worker."""
        return ports.connect(self.number)

    def outside_connect_port(self, settings: Settings) -> int:
        """Where who is outside of the datacenter reaches it."""
        ports = settings.ports
        return ports.outside_connect(self.number) if settings.proxied else self.connect_port(ports)

    def connect_url(self, settings: Settings) -> str:
        """REST address of this cluster's Connect worker."""
        return f"http://{settings.host(self.connect_name)}:{self.connect_port(settings.ports)}"


@dataclass(frozen=True, slots=True)
class AppTopic:
    """A topic that ``up`` creates on every cluster, with the same settings."""

    name: str
    partitions: int


_IDS = (
    *("c4bSLbgDQUupnRKGhGWJpg", "r0hWq2sFTK6KX5nYzOYxUw"),
    *("pe2f9JvDTzqcWALC0i3snQ", "o54rzTQzSaarzXwrvVNCXg", "BZogMWGfR4SAx0gUAFdJKg"),
)
#: Every cluster that a lab can have.
_KNOWN = tuple(Cluster(name, number, _IDS[number]) for number, name in enumerate(NAMES))
EAST, WEST, *_ = _KNOWN

PROTECTION_GROUP = "orders"
TOPICS_OF_APPLICATIONS = (AppTopic("orders.payments", partitions=6), AppTopic("orders.invoices", partitions=4))
TOPICS = (*TOPICS_OF_APPLICATIONS, AppTopic(f"{PROTECTION_GROUP}.dr-canary", partitions=4))


def clients_of(member: str) -> str:
    """Return the protection group of the clients of a member, in a lab of several that are used together."""
    return f"{PROTECTION_GROUP}-{member}"


def topics_of(settings: Settings) -> tuple[AppTopic, ...]:
    """Return the topics that each cluster of a lab has from the beginning."""
    if not settings.block:
        return TOPICS
    canaries = (AppTopic(f"{clients_of(name)}.dr-canary", partitions=4) for name in settings.names)
    return (*TOPICS_OF_APPLICATIONS, *canaries)


def clusters_of(settings: Settings) -> tuple[Cluster, ...]:
    """Return the clusters of a lab."""
    return _KNOWN[: settings.clusters]
