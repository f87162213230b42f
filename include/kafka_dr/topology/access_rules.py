"""Where the access rules of a cluster are kept, and how this project's DENYs get there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from kafka_dr.topology.fields import AbsolutePath, ConnectionId, Principal, Seconds, Section

KeptBy = Literal["broker", "file", "kafka_user", "command"]
#: A program by its path, then its arguments; no shell reads them.
ProgramLine = tuple[Annotated[str, Field(min_length=1)], ...]
_KubernetesName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]


class AccessRulesSpec(Section):
    """Where the access rules of a cluster are kept."""

    kept_by: KeptBy = Field(
        default="broker",
        description="broker: this project changes the brokers' ACLs itself; file: a file that a pipeline of their "
        "owners applies; kafka_user: KafkaUser resources of Strimzi; command: a program, where ACLs do not decide",
    )
    path: AbsolutePath | None = Field(
        default=None, description="with file: the absolute path of the file, on a disk that all workers share"
    )
    apply: ProgramLine = Field(
        default=(),
        description="with file: the program that commits and applies the file, or triggers that, and its arguments",
    )
    connection: ConnectionId | None = Field(
        default=None, description="with kafka_user: the connection id, type http, of the API of Kubernetes"
    )
    namespace: _KubernetesName | None = Field(
        default=None, description="with kafka_user: the namespace of the KafkaUser resources"
    )
    api_version: Literal["v1", "v1beta2"] = Field(
        default="v1", description="with kafka_user: the version of kafka.strimzi.io that the API serves"
    )
    users: dict[Principal, _KubernetesName] = Field(
        default_factory=dict,
        description="with kafka_user: the KafkaUser of a principal, such as User:orders-app, if its name differs from "
        "the principal's",
    )
    program: ProgramLine = Field(
        default=(), description="with command: the program that lists, adds and removes DENYs, and its arguments"
    )
    principal_connections: dict[Principal, ConnectionId] = Field(
        default_factory=dict,
        description="with command: the connection id of each application principal, such as User:orders-app; only "
        "writes that are refused to it prove that it is fenced",
    )
    applied_within_seconds: Seconds = Field(
        default=60, description="how long a change may take until the brokers act on it; writes are refused meanwhile"
    )
    reconciles_every_seconds: Seconds | None = Field(
        default=None,
        description="with file and kafka_user: after how long all rules have been compared with the brokers again",
    )

    @property
    def acls_decide(self) -> bool:
        """Whether the brokers' ACLs decide who may do what, wherever they are kept."""
        return self.kept_by != "command"

    @property
    def is_direct(self) -> bool:
        """Whether this project changes the brokers' ACLs itself."""
        return self.kept_by == "broker"

    @property
    def where(self) -> str:
        """What a person looks at, as it continues "kept in"."""
        names: Mapping[KeptBy, str] = {
            "broker": "the brokers",
            "file": str(self.path),
            "kafka_user": f"KafkaUser resources of {self.namespace}",
            "command": f"what {self.program[0] if self.program else 'a program'} changes",
        }
        return names[self.kept_by]
