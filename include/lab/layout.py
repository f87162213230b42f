"""The folders of one lab, and its ports."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Literal, get_args

from lab.errors import LabError

#: How principals log in. For a login by SCRAM a client computes thousands of hashes, for one by PLAIN none.
Mechanism = Literal["SCRAM-SHA-512", "PLAIN"]
MECHANISM: Mechanism = "SCRAM-SHA-512"
#: What copies of topics are called: as their originals, or as MirrorMaker's own policy says.
Naming = Literal["identity", "default"]
NAMING: Naming = "identity"
PROJECT = Path(__file__).resolve().parents[2]
DEFAULT_HOME = PROJECT / ".lab"
DEFAULT_PORT_BASE = 19000
#: How several clusters are used together, as the topology calls it; none if each group has one active cluster.
Block = Literal["active_active", "hub_and_spoke"]
#: What a cluster is there, which says what its applications do.
Role = Literal["member", "spoke", "hub"]
#: So many of the clusters are spokes, the others hubs.
_SPOKES = 2
#: The version of brokers, unless another one is chosen; that of Connect is always this.
KAFKA_VERSION = "4.3.1"
_MADE = (
    *("airflow", "clients", "connect", "evidence", "java-for-spark", "kafka", "logs", "route", "run", "spark"),
    *("spark-cluster", "traffic", "mirrormaker", "observed", "credentials.json", "lab.json", "lock", "topology.yaml"),
    "notifications.html",
    "stretch",
)
LOOPBACK = "127.0.0.1"
MOST_BROKERS = 6
#: The clusters that a lab can have; one of two has the first two.
NAMES = ("east", "west", "north", "south", "central")
#: Source and target of each flow of a lab, by the names of their clusters.
Flows = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Home:
    """The folders of a lab. Everything that a lab writes, apart from its downloads, is under ``root``."""

    root: Path

    @property
    def settings(self) -> Path:
        """What was asked for when the lab was made."""
        return self.root / "lab.json"

    @property
    def credentials(self) -> Path:
        """All passwords of the lab."""
        return self.root / "credentials.json"

    @property
    def run(self) -> Path:
        """A file for each process: its pid and start time."""
        return self.root / "run"

    @property
    def logs(self) -> Path:
        """A file for each process: what it printed."""
        return self.root / "logs"

    @property
    def clients(self) -> Path:
        """Client settings by cluster and principal."""
        return self.root / "clients"

    @property
    def airflow(self) -> Path:
        """AIRFLOW_HOME."""
        return self.root / "airflow"

    @property
    def evidence(self) -> Path:
        """Root of the evidence."""
        return self.root / "evidence"

    @property
    def route(self) -> Path:
        """The file that applications read to find their cluster."""
        return self.route_of("orders")

    def route_of(self, group: str) -> Path:
        """The file that applications of a protection group read to find their cluster."""
        return self.root / "route" / f"{group}.json"

    @property
    def mirrormaker(self) -> Path:
        """Settings of somebody else's dedicated MirrorMaker, if the lab has one."""
        return self.root / "mirrormaker"

    @property
    def observed(self) -> Path:
        """Topology and connections of who observes it, and what is known about its faults."""
        return self.root / "observed"

    @property
    def spark_java(self) -> Path:
        """A Java home that Spark can start with."""
        return self.root / "java-for-spark"

    @property
    def spark(self) -> Path:
        """Spark's settings (``SPARK_CONF_DIR``) and its scratch space."""
        return self.root / "spark"

    @property
    def spark_cluster(self) -> Path:
        """Settings and scratch space of the Spark cluster, if the lab has one."""
        return self.root / "spark-cluster"

    def delete(self) -> None:
        """Remove what the lab made, and nothing else that may be in the same folder.

        :raises LabError: something cannot be removed.
        """
        for name in _MADE:
            made = self.root / name
            try:
                if made.is_dir() and not made.is_symlink():
                    shutil.rmtree(made)
                else:
                    made.unlink(missing_ok=True)
            except OSError as error:
                raise LabError(f"{made} cannot be removed ({error.strerror}): remove it by hand") from error
        with suppress(OSError):  # others may have put something there
            self.root.rmdir()

    def broker(self, name: str) -> Path:
        """Settings and log directory of one broker."""
        return self.root / "kafka" / name

    def connect(self, cluster: str) -> Path:
        """Settings and secrets of the Connect worker of ``cluster``."""
        return self.root / "connect" / cluster

    def client(self, cluster: str, principal: str) -> Path:
        """Client settings of ``principal`` on ``cluster``, as librdkafka names them."""
        return self.clients / cluster / f"{principal}.properties"

    def java_client(self, cluster: str, principal: str) -> Path:
        """Client settings of ``principal`` on ``cluster``, as Java clients and Kafka's own tools name them."""
        return self.clients / cluster / f"{principal}.java.properties"


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a lab: a hundred for each cluster. The third hundred is for Airflow, Spark and the vantage."""

    base: int
    clusters: int = 2

    def __post_init__(self) -> None:
        """Refuse a base that leaves no room for all ports."""
        if not 1024 <= self.base <= 65535 - self.span:
            raise LabError(f"--port-base is {self.base}, and must be between 1024 and {65535 - self.span}")

    @property
    def span(self) -> int:
        """How many ports a lab may use from its base on."""
        return 100 * (self.clusters + 1)

    def _of_cluster(self, number: int) -> int:
        return self.base + 100 * (number if number < 2 else number + 1)

    def client(self, cluster_number: int, node: int) -> int:
        """SASL listener for applications."""
        return self._of_cluster(cluster_number) + 10 * node

    def internal(self, cluster_number: int, node: int) -> int:
        """Listener for brokers among themselves."""
        return self.client(cluster_number, node) + 1

    def controller(self, cluster_number: int, node: int) -> int:
        """Listener for the metadata quorum."""
        return self.client(cluster_number, node) + 2

    def connect(self, cluster_number: int) -> int:
        """REST of the cluster's Connect worker."""
        return self._of_cluster(cluster_number) + 80

    @property
    def airflow(self) -> int:
        """Airflow's user interface and API."""
        return self.base + 200

    @property
    def vantage(self) -> int:
        """The vantage that looks at the clusters as Airflow does."""
        return self.base + 250

    def outside_listener(self, cluster_number: int, node: int) -> int:
        """SASL listener for callers from outside of the datacenter, if the lab has a proxy."""
        return self.client(cluster_number, node) + 3

    def outside(self, cluster_number: int, node: int) -> int:
        """Where the proxy takes them."""
        return self.client(cluster_number, node) + 4

    def outside_connect(self, cluster_number: int) -> int:
        """Where the proxy takes callers of the cluster's Connect worker."""
        return self.connect(cluster_number) + 1

    @property
    def proxy(self) -> int:
        """The control port of the proxy."""
        return self.base + 260

    @property
    def spark_master(self) -> int:
        """The master of the Spark cluster; its web page is one port further."""
        return self.base + 210

    @property
    def spark_url(self) -> str:
        """How drivers name the Spark cluster."""
        return f"spark://{LOOPBACK}:{self.spark_master}"

    def spark_worker(self, number: int) -> int:
        """A worker of the Spark cluster; its web page is one port further."""
        return self.spark_master + 10 * number


@dataclass(frozen=True, slots=True)
class Settings:
    """What a lab was made with; kept in its folder, so that later commands need no options.

    :param docker: whether each process has a host of its own, with its name, instead of all sharing the loopback.
    :param mechanism: how principals log in
    :param spark_cluster: whether audits run on a Spark cluster of the lab, and not in the driver's own process
    :param clusters: how many
    :param chosen_flows: which clusters are replicated to which; ``None`` for the usual :attr:`flows`
    :param kafka: the version of the brokers
    :param naming: what copies of topics are called
    :param proxied: whether a cluster is reached from outside of its datacenter by a proxy, which can cut it off
    :param block: how its clusters are used together, each with applications of its own
    :param sites: over how many sites the brokers of a cluster are spread, as their racks say; one: they have no rack
    :param slow_links: whether brokers reach each other by a proxy that can delay what they say
    :param controllers_apart: whether the last three nodes are controllers alone, and the others brokers alone
    """

    port_base: int
    brokers: int
    docker: bool = False
    mechanism: Mechanism = MECHANISM
    spark_cluster: bool = False
    clusters: int = 2
    chosen_flows: Flows | None = None
    kafka: str = KAFKA_VERSION
    naming: Naming = NAMING
    proxied: bool = False
    block: Block | None = None
    sites: int = 1
    slow_links: bool = False
    controllers_apart: bool = False

    def __post_init__(self) -> None:
        """Refuse a number of brokers or clusters that has no ports, and a flow between clusters that are not there."""
        for option, number, least, most in (
            ("--brokers", self.brokers, 1, MOST_BROKERS),
            ("--clusters", self.clusters, 2, len(NAMES)),
        ):
            if not least <= number <= most:
                raise LabError(f"{option} is {number}, and must be between {least} and {most}")
        for ends in self.flows:
            if len({*self.names}.intersection(ends)) != 2:
                raise LabError(f"a flow from {' to '.join(ends)} needs two clusters of {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the clusters."""
        return NAMES[: self.clusters]

    @property
    def flows(self) -> Flows:
        """Which clusters are replicated to which; unless chosen, each one to each other one that holds copies."""
        if self.chosen_flows is not None:
            return self.chosen_flows
        holding = self.hubs or self.names
        return tuple((source, target) for source, target in permutations(self.names, 2) if target in holding)

    @property
    def hubs(self) -> tuple[str, ...]:
        """The clusters that hold copies of all others, and that no application writes to."""
        return self.names[_SPOKES:] if self.block == "hub_and_spoke" else ()

    @property
    def connect(self) -> frozenset[str]:
        """The names of the clusters that have a Connect worker: those that a flow ends on."""
        return frozenset(target for _, target in self.flows)

    def role(self, cluster: str) -> Role | None:
        """What a cluster is among those that are used together; ``None`` where they are not."""
        if not self.hubs:
            return "member" if self.block else None
        return "hub" if cluster in self.hubs else "spoke"

    def host(self, process: str) -> str:
        """The host name under which a process is reached."""
        return process if self.docker else LOOPBACK

    @property
    def listen(self) -> str:
        """The address that processes listen on."""
        return "0.0.0.0" if self.docker else LOOPBACK  # noqa: S104 - the network of the containers

    @property
    def vantage(self) -> str:
        """Where the vantage answers."""
        return f"{self.host('vantage')}:{self.ports.vantage}"

    @property
    def ports(self) -> Ports:
        """The ports of this lab."""
        return Ports(self.port_base, self.clusters)

    @classmethod
    def read(cls, home: Home) -> Settings | None:
        """What the lab in ``home`` was made with; ``None`` if there is none."""
        try:
            stored = json.loads(home.settings.read_text())
            return cls(
                port_base=int(stored["port_base"]),
                brokers=int(stored["brokers"]),
                mechanism="PLAIN" if stored.get("mechanism") == "PLAIN" else MECHANISM,
                spark_cluster=bool(stored.get("spark_cluster", False)),
                clusters=int(stored.get("clusters", 2)),
                chosen_flows=None
                if (flows := stored.get("flows")) is None
                else tuple((source, target) for source, target in flows),
                kafka=str(stored.get("kafka", KAFKA_VERSION)),
                naming="default" if stored.get("naming") == "default" else NAMING,
                proxied=bool(stored.get("proxied", False)),
                block=next((each for each in get_args(Block) if each == stored.get("block")), None),
            )
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise LabError(f"{home.settings} is not readable ({error}): remove {home.root} and run `up`") from error

    def write(self, home: Home) -> None:
        """Keep the settings in ``home``."""
        home.root.mkdir(parents=True, exist_ok=True)
        kept = {
            "port_base": self.port_base,
            "brokers": self.brokers,
            "mechanism": self.mechanism,
            "spark_cluster": self.spark_cluster,
            "clusters": self.clusters,
            "flows": self.chosen_flows,
            "kafka": self.kafka,
            "naming": self.naming,
            "proxied": self.proxied,
            "block": self.block,
        }
        home.settings.write_text(json.dumps(kept) + "\n")


def shown(flows: Flows) -> str:
    """Return flows as a person reads them."""
    return ", ".join(f"{source} → {target}" for source, target in flows)


def chosen_settings(
    home: Home,
    *,
    port_base: int | None,
    brokers: int | None,
    mechanism: Mechanism = MECHANISM,
    spark_cluster: bool = False,
    clusters: int | None = None,
    flows: Flows | None = None,
    kafka: str | None = None,
    naming: Naming | None = None,
    proxied: bool = False,
    block: Block | None = None,
) -> Settings:
    """Join what the command asks for with what the lab was made with.

    :param mechanism: for a new lab; one that was made keeps its own
    :param spark_cluster: whether it gets a Spark cluster; one that has it keeps it
    :param proxied: whether it has a proxy; one that was made with it keeps it
    :param block: how its clusters are used together; their copies have other names
    :raises LabError: the lab was made with other brokers, clusters, flows or names of copies, or without a proxy.
    """
    stored = Settings.read(home)
    if stored is None:
        return Settings(
            port_base=port_base or DEFAULT_PORT_BASE,
            brokers=1 if brokers is None else brokers,
            mechanism=mechanism,
            spark_cluster=spark_cluster,
            clusters=2 if clusters is None else clusters,
            chosen_flows=flows,
            kafka=kafka or KAFKA_VERSION,
            naming=naming or ("default" if block else NAMING),
            proxied=proxied,
            block=block,
        )
    for what, asked, made in (
        ("{} broker(s) a cluster", brokers, stored.brokers),
        ("{} clusters", clusters, stored.clusters),
        ("the flows {}", flows and shown(flows), shown(stored.flows)),
        ("brokers of Kafka {}", kafka, stored.kafka),
        ("{} naming of copies", naming, stored.naming),
        ("{}", "a proxy" if proxied else None, "a proxy" if stored.proxied else "no proxy"),
        ("clusters used as {}", block, stored.block or "a group with standbys"),
    ):
        if asked is not None and asked != made:
            raise LabError(
                f"the lab in {home.root} was made with {what.format(made)}, not {asked}: "
                "run `down --delete` first, or choose another --home"
            )
    return replace(stored, port_base=port_base or stored.port_base, spark_cluster=spark_cluster or stored.spark_cluster)
