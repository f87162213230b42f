"""The clients of everything that a run acts on: clusters, registers, flows and routes, each as the right principal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from threading import Lock
from typing import Any, Literal, cast, get_args

from kafka_dr.access_rules import AccessRules, access_rules_of
from kafka_dr.audit.content_keys import ContentKeys
from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster
from kafka_dr.clusters.session import REQUEST_SECONDS
from kafka_dr.connections.port import Connections
from kafka_dr.errors import ConnectionMistake, KafkaDrError
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.kubernetes import KubernetesApi
from kafka_dr.offsets.following import FollowingOffsets
from kafka_dr.offsets.translate.proven_answers import ProvenAnswers
from kafka_dr.people import Person
from kafka_dr.register import KafkaRegister
from kafka_dr.register.digests import KafkaDigests
from kafka_dr.register.kafka_register import DEADLINE_SECONDS
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.mirrormaker_flows import MirrorMakerFlows
from kafka_dr.replication.replicator import Closed, FlowClients, Replication, Replicator, Service
from kafka_dr.routing import EtcdApi, Router, router_of
from kafka_dr.runs.executor import Executor
from kafka_dr.runs.known_topics import KnownTopics
from kafka_dr.runs.shown_steps import ShownSteps
from kafka_dr.runs.silent_clusters import SilentClusters
from kafka_dr.storage.deadline_path import with_deadline
from kafka_dr.topology.cluster import ClusterSpec
from kafka_dr.topology.declared import texts_of
from kafka_dr.topology.model import ProtectionGroup, Topology

Role = Literal["operator", "probe", "audit", "replicator"]
ROLES: tuple[Role, ...] = get_args(Role)


class OtherCluster(ConnectionMistake):
    """Another cluster answers at the address: nothing is known of the declared one, and this one is not touched."""


class ClientsClosed(KafkaDrError):
    """A client was asked for after its owner had closed all of them, as a background call may do."""


def wrong_cluster_id(clients: Clients, cluster: str, found: str) -> str:
    """Return a sentence if a cluster has another id than the declared one; empty if it has the declared one.

    :param found: the id that the cluster itself reports
    """
    declared = clients.topology.cluster(cluster).cluster_id
    return "" if found == declared else f"{cluster} answers with cluster id {found}, but the topology says {declared}"


class Clients:
    """Builds each client when it is first needed and keeps it until closed; once closed, it builds none.

    :param topology: what is declared
    :param connections: asked for the ids that the topology names; no evidence may hold a secret that they gave
    :param evidence_root: a path object, local or Airflow's ObjectStoragePath
    :param people_of: finds people by names and by roles; without it a name is also the id, and nobody has a role
    :param replication_of: returns what runs the flows
    """

    def __init__(
        self,
        topology: Topology,
        *,
        connections: Connections,
        evidence_root: Any,
        clock: Clock,
        people_of: Callable[[Sequence[str], Sequence[str]], tuple[Person, ...]] | None = None,
        replication_of: Callable[[FlowClients], Replication] = MirrorMakerFlows,
    ) -> None:
        self.topology = topology
        self.clock = clock
        #: Each access to it has a deadline.
        self.evidence_root = with_deadline(evidence_root, seconds=topology.evidence.access_seconds)
        self.evidence = EvidenceStore(self.evidence_root)
        #: Who executes what these clients are used for: one process, or one task of Airflow.
        self.executor = Executor.here()
        self.shown = ShownSteps(self.evidence_root, executor=self.executor.name, now=clock.now)
        #: Which clusters do not answer this process.
        self.silent_clusters = SilentClusters(clock)
        #: The topics that patterns match, as far as this process knows.
        self.known_topics = KnownTopics()
        #: Where groups resume, as far as this process has compared it.
        self.proven_answers = ProvenAnswers()
        self.connections = connections.hidden(self._keep_out)
        #: What follows the offsets of groups, as far as this process has read it.
        self.following_offsets = FollowingOffsets()
        self._people_of = people_of
        self._replication_of = replication_of
        #: What runs the flows.
        self.replication = replication_of(self)
        #: By cluster, and role or principal.
        self._clusters: dict[tuple[str, str], KafkaCluster] = {}
        #: By connection id.
        self._services: dict[str, Closed] = {}
        self._registers: dict[str, KafkaRegister] = {}
        self._digests: dict[str, KafkaDigests] = {}
        self._hurried: dict[str, float] = {}
        self._ignores_foreign = False
        self._shares_reads = False
        self._observer: Callable[[str], None] | None = None
        self._recognised: set[str] = set()
        self._closed = False
        self._lock = Lock()

    def among(
        self,
        topology: Topology,
        *,
        evidence_root: Any,
        connections: Connections | None = None,
        people_of: Callable[[Sequence[str], Sequence[str]], tuple[Person, ...]] | None = None,
    ) -> Clients:
        """Return new clients with other declarations, and the same connections unless others are given.

        :param topology: what they know; nothing else can be reached with them
        :param evidence_root: where they keep evidence
        """
        made = Clients(
            topology,
            connections=connections or self.connections,
            evidence_root=evidence_root,
            clock=self.clock,
            people_of=people_of or self._people_of,
            replication_of=self._replication_of,
        )
        made.shown = ShownSteps(None, executor=made.executor.name, now=self.clock.now)
        made.evidence.secrets.learn(self.evidence.secrets)
        return made

    def ignore_foreign_records(self) -> None:
        """Let registers ignore records that are not of this project's shape; the newest one before each counts.

        Only for what closes clusters or reports, and for a person who overrides the refusal with a reason.
        """
        with self._lock:
            self._ignores_foreign = True
            for register in self._registers.values():
                register.ignores_foreign = True

    def share_reads(self) -> None:
        """Let the groups that use these clients at the same time share reads; for clusters made from now on."""
        self._shares_reads = True

    def observe(self, observer: Callable[[str], None]) -> None:
        """Call the observer before each request that is waited for, whatever the cluster and the role.

        :param observer: gets what is being done, as it continues "could not …"
        """
        with self._lock:
            self._observer = observer
            for cluster in self._clusters.values():
                cluster.observe(observer)

    def require_declared(self, cluster: str) -> None:
        """Raise an error unless the cluster that answers is the declared one; once seen, it is not asked again.

        :raises Unanswered: none answers, or an :class:`OtherCluster` at its address
        """
        if cluster not in self._recognised:
            found = self.cluster(cluster, "operator").topics.identity().cluster_id
            if wrong := wrong_cluster_id(self, cluster, found):
                raise OtherCluster(f"{wrong}. Nothing was changed there: fix the connection or the topology")
            self._recognised.add(cluster)

    def hurry(self, cluster: str, seconds: float) -> None:
        """Let each request to a cluster that may be dead give up after so long, and so each change of its register; for
        clients that are made from now on.

        Callers do not wait for such a cluster, but a process ends only after its last request has ended.
        """
        self._hurried.setdefault(cluster, seconds)

    def cluster(self, name: str, role: Role) -> KafkaCluster:
        """Return a cluster as the principal of a role sees it; for the audit, the operator looks topics up."""
        key = (name, role)
        topics = self.cluster(name, "operator").topics if role == "audit" else None
        with self._lock:
            self._require_open()
            if key not in self._clusters:
                connection = getattr(self.topology.cluster(name).connections, role)
                settings, seconds = self.connections.kafka(connection), self._hurried.get(name, REQUEST_SECONDS)
                made = self._clusters[key] = KafkaCluster(name, settings, request_seconds=seconds, topics=topics)
                if self._observer is not None:
                    made.observe(self._observer)
                if self._shares_reads:
                    made.acls.share_reads()
            return self._clusters[key]

    def principal(self, cluster: str, principal: str) -> KafkaCluster | None:
        """Return a cluster as an application's principal sees it; ``None`` without a connection of its own."""
        connection = self.topology.cluster(cluster).access_rules.principal_connections.get(principal)
        if connection is None:
            return None
        settings = self.connections.kafka(connection)
        key = (cluster, principal)
        with self._lock:
            self._require_open()
            if key not in self._clusters:
                seconds = self._hurried.get(cluster, REQUEST_SECONDS)
                self._clusters[key] = KafkaCluster(cluster, settings, request_seconds=seconds)
            return self._clusters[key]

    def access_rules(self, cluster: str, group: ProtectionGroup, *, at_most_seconds: float = math.inf) -> AccessRules:
        """Return the access rules of a cluster, which the fences of a protection group are made of.

        :param at_most_seconds: how long a change of rules that are kept elsewhere is waited for, if the topology allows
            more
        """
        return access_rules_of(
            self.topology.cluster(cluster).access_rules,
            self.cluster(cluster, "operator"),
            group,
            kubernetes=self.kubernetes_at,
            clock=self.clock,
            at_most_seconds=at_most_seconds,
        )

    def kubernetes_at(self, connection: str) -> KubernetesApi:
        """Return the API of Kubernetes that a connection id names."""
        return self.service(connection, KubernetesApi)

    def endpoint(self, connection: str) -> HttpEndpoint:
        """Return where the service of a connection id is, and the login for it."""
        return self.connections.http(connection)

    def service(self, connection: str, make: Callable[[HttpEndpoint], Service]) -> Service:
        """Return the client of a service that a connection id names: made once, and closed with the others.

        :param make: makes it; the same for all that ask for this connection
        """
        with self._lock:
            self._require_open()
            if connection not in self._services:
                self._services[connection] = make(self.endpoint(connection))
            return cast("Service", self._services[connection])

    def register(self, cluster: str) -> KafkaRegister:
        """Return a cluster's register, reached as the operator."""
        reached = self.cluster(cluster, "operator")
        with self._lock:
            if cluster not in self._registers:
                # The first thing that every step does is to read it.
                reached.connect_ahead()
                patience = self._hurried.get(cluster, DEADLINE_SECONDS)
                self._registers[cluster] = KafkaRegister(reached, self.clock, deadline_seconds=patience)
                self._registers[cluster].ignores_foreign = self._ignores_foreign
                if self._shares_reads:
                    self._registers[cluster].share_reads()
            return self._registers[cluster]

    def digests(self, cluster: str) -> KafkaDigests:
        """Return the digests that a cluster's register keeps in a topic of their own, reached as the operator."""
        reached = self.cluster(cluster, "operator")
        with self._lock:
            return self._digests.setdefault(cluster, KafkaDigests(reached, self.clock))

    def group(self, name: str) -> ProtectionGroup:
        """Return a protection group, with the topics that its patterns are known to match.

        :raises UnknownName: the topology declares no such group
        """
        return self.known_topics.of(self.topology.group(name))

    def replicator(self, flow: Flow, *, group: ProtectionGroup | None = None) -> Replicator:
        """Return what replicates a flow.

        :param group: with the topics that are copied, if these are not all that the group is known to have
        """
        return self.replication.replicator(flow, group or self.group(flow.group))

    def approvers(self, group: ProtectionGroup) -> tuple[Person, ...]:
        """Return the people who may approve for a group, as whatever verifies them knows them.

        :raises KafkaDrError: it cannot be asked
        """
        if self._people_of is None:
            return tuple(Person(name, name) for name in group.approvers)
        return self._people_of(group.approvers, group.approver_roles)

    def router(self, group: ProtectionGroup) -> Router:
        """Return where the group's applications look up the active cluster."""
        etcd, tsig = partial(self.service, make=EtcdApi), self.connections.tsig
        return router_of(group.route, self.clock, group=group.name, etcd=etcd, tsig=tsig)

    def learn_secrets(self) -> None:
        """Read every connection of the topology, so that no text may hold a secret of theirs from then on.

        Nobody can have used a connection that cannot be read.
        """
        specs: tuple[ClusterSpec | ProtectionGroup, ...] = (
            *self.topology.clusters.values(),
            *self.topology.protection_groups.values(),
        )
        reads: list[Callable[[], object]] = []
        reads += [partial(self.connections.kafka, each) for spec in specs for each in spec.kafka_connections]
        reads += [partial(self.connections.http, each) for spec in specs for each in spec.http_connections]
        groups = self.topology.protection_groups.values()
        reads += [partial(self.connections.tsig, each) for group in groups for each in group.route.tsig_connections]
        for read in reads:
            with suppress(KafkaDrError):
                read()

    @cached_property
    def signing_key(self) -> SigningKey | None:
        """What signs sealed runs; ``None`` if the topology names no key.

        :raises Refused: it names one that cannot be used
        """
        connection = self.topology.evidence.signing_connection
        return None if connection is None else self.connections.signing_key(connection)

    @cached_property
    def content_keys(self) -> ContentKeys | None:
        """What encrypts the content of kept stranded records; ``None`` if the topology names no connection of it.

        :raises Refused: it names one that cannot be used
        """
        connection = self.topology.evidence.encryption_connection
        return None if connection is None else self.connections.content_keys(connection)

    @cached_property
    def _declared(self) -> frozenset[str]:
        """Every name that the topology declares."""
        return frozenset(texts_of(self.topology.model_dump(mode="json")))

    def _keep_out(self, secret: str | None, *, login: str | None = None) -> None:
        self.evidence.secrets.add(secret, login=login, names=self._declared)

    def _require_open(self) -> None:
        if self._closed:
            raise ClientsClosed("the clients of this run are closed already")

    def close(self) -> None:
        """Close every connection. A background call that still asks for a client gets :class:`ClientsClosed`."""
        with self._lock:
            self._closed = True
            opened: list[KafkaCluster | Closed] = [*self._clusters.values(), *self._services.values()]
            for clients in (self._clusters, self._services, self._registers, self._digests):
                clients.clear()
        for client in opened:
            client.close()

    def __enter__(self) -> Clients:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
