"""One declared cluster: who reaches it by which connection, and its Connect cluster."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from kafka_dr.topology.access_rules import AccessRulesSpec
from kafka_dr.topology.fields import (
    BootstrapServers,
    ConnectionId,
    Count,
    ResourceName,
    Section,
    TopicName,
    WorkersPath,
)


class ConnectionIds(Section):
    """One Airflow connection for each role, so that every role can be given, denied and audited by itself."""

    operator: ConnectionId = Field(description="the connection id that moves traffic: ACLs, offsets, register")
    probe: ConnectionId = Field(description="the connection id that asks as an application would; it is fenced too")
    audit: ConnectionId = Field(description="the connection id that only reads")
    replicator: ConnectionId = Field(description="the connection id of the principal that replication writes as")


#: The first day on which a password does not work any more, UTC.
PasswordEnd = date | Literal["never"]


class PasswordEnds(Section):
    """When the password of each role's connection ends, which no cluster says."""

    operator: PasswordEnd | None = Field(default=None, description="the day on which the operator's password ends")
    probe: PasswordEnd | None = Field(default=None, description="the day on which the probe's password ends")
    audit: PasswordEnd | None = Field(default=None, description="the day on which the audit's password ends")
    replicator: PasswordEnd | None = Field(default=None, description="the day on which the replicator's password ends")

    def of(self, role: str) -> PasswordEnd | None:
        """Return when the password of a role ends; ``None`` if it is not declared."""
        found: PasswordEnd | None = getattr(self, role)
        return found


class ReplicatorEndpoint(Section):
    """How the Connect cluster of another cluster reaches this one."""

    bootstrap_servers: BootstrapServers = Field(description="host:port, several with commas, as seen from Connect")
    security_protocol: Literal["SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        description="the protocol of that listener; it must authenticate principals, or no flow could be fenced"
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = Field(
        default=None,
        description="the SASL mechanism; needed with SASL_PLAINTEXT and SASL_SSL, absent with SSL; logins by tokens "
        "(OAUTHBEARER) and by Kerberos are not supported",
    )
    ca_file: WorkersPath | None = Field(
        default=None,
        description="the absolute path, on the Connect workers, of a PEM file with the authorities that they trust",
    )
    keystore_file: WorkersPath | None = Field(
        default=None,
        description="the absolute path, on the Connect workers, of a PEM file with their key and its certificates",
    )
    keystore_is_encrypted: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="whether that key needs a password, which replicator_secrets holds: true or false"
    )


class ClusterSpec(Section):
    """One Kafka cluster in one datacenter, and its Connect cluster."""

    cluster_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] = Field(
        description="the id that the cluster itself reports; a cluster with another id is never touched"
    )
    connections: ConnectionIds = Field(description="an Airflow connection for each role")
    connect: ConnectionId = Field(description="the connection id of the REST API of this cluster's Connect workers")
    connect_group_id: ResourceName = Field(description="the group.id of this cluster's Connect workers")
    connect_offsets_topic: TopicName | None = Field(
        default=None,
        description="the offset.storage.topic of those Connect workers; <connect_group_id>-offsets if left out",
    )
    connect_status_topic: TopicName | None = Field(
        default=None,
        description="the status.storage.topic of those Connect workers; <connect_group_id>-status if left out",
    )
    allow_everyone_if_no_acl: Annotated[bool, Field(strict=True)] | None = Field(
        default=None,
        description="what allow.everyone.if.no.acl.found is on its brokers, which do not show it: true or false",
    )
    authorizer: Literal["StandardAuthorizer", "AclAuthorizer"] | None = Field(
        default=None,
        description="which authorizer its brokers use, where they do not show authorizer.class.name: "
        "StandardAuthorizer (KRaft) or AclAuthorizer (ZooKeeper)",
    )
    access_rules: AccessRulesSpec = Field(
        default_factory=AccessRulesSpec, description="where the access rules of the cluster are kept"
    )
    replicator: ReplicatorEndpoint = Field(description="how the Connect workers of another cluster reach this one")
    replicator_secrets: WorkersPath = Field(
        description="the absolute path of the properties file on this cluster's Connect workers; it holds "
        "<cluster>.sasl.jaas.config for each cluster that they reach"
    )
    max_partitions_per_broker: Count | None = Field(
        default=None, description="how many partition replicas one of its brokers may hold"
    )
    passwords_end: PasswordEnds = Field(
        default_factory=PasswordEnds,
        description="the first day on which the password of a role's connection does not work any more, or never",
    )
    application_bootstrap_servers: BootstrapServers | None = Field(
        default=None, description="host:port that a route hands to applications; the replicator's if left out"
    )

    @property
    def kafka_connections(self) -> tuple[str, ...]:
        """The connection ids by which anything reaches this cluster: of the roles, and of single principals."""
        return (*self.connections.model_dump().values(), *self.access_rules.principal_connections.values())

    @property
    def http_connections(self) -> tuple[str, ...]:
        """The connection ids of the services that belong to this cluster: Connect, and the API of Kubernetes."""
        return tuple(filter(None, (self.connect, self.access_rules.connection)))

    @property
    def route_bootstrap_servers(self) -> str:
        """Where applications are sent when this cluster is active."""
        return self.application_bootstrap_servers or self.replicator.bootstrap_servers

    @property
    def connect_positions_topic(self) -> str:
        """The topic in which this cluster's Connect workers store what their flows have copied."""
        return self.connect_offsets_topic or f"{self.connect_group_id}-offsets"

    @property
    def connect_states_topic(self) -> str:
        """The topic in which this cluster's Connect workers store what their connectors do."""
        return self.connect_status_topic or f"{self.connect_group_id}-status"

    def jaas_reference(self, cluster: str) -> str:
        """Return what a connector on this cluster's Connect writes instead of its login at ``cluster``."""
        return self.secret_reference(cluster, "sasl.jaas.config")

    def secret_reference(self, cluster: str, key: str) -> str:
        """Return what a connector on this cluster's Connect writes instead of a secret about ``cluster``."""
        return f"${{file:{self.replicator_secrets}:{cluster}.{key}}}"
