"""Where applications of a protection group look up the active cluster: one section for each kind of route."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from kafka_dr.topology.fields import AbsolutePath, ConnectionId, HttpAddress, Section


class RouteSection(Section):
    """What all kinds of routes have in common."""

    #: The key that says where it is kept; no two groups may share its value.
    KEPT_AT: ClassVar[str]

    @property
    def http_connections(self) -> tuple[str, ...]:
        """The connection ids of HTTP services that keep it."""
        return ()


class FileRouteSpec(RouteSection):
    """A route in a file."""

    KEPT_AT: ClassVar[str] = "path"

    kind: Literal["file"] = Field(description="the kind of router")
    path: AbsolutePath = Field(description="the absolute path of the file; one file for each protection group")

    def for_group(self, name: str) -> FileRouteSpec:
        """Return a route of the same kind for another group, kept apart from this one."""
        return self.model_copy(update={"path": str(Path(self.path).with_name(f"{name}.json"))})


class EtcdRouteSpec(RouteSection):
    """A route in etcd."""

    KEPT_AT: ClassVar[str] = "key"

    kind: Literal["etcd"] = Field(description="the kind of router")
    connection: ConnectionId = Field(
        description="the connection id, type http, of a member of etcd: its address, login and certificates"
    )
    further_endpoints: tuple[HttpAddress, ...] = Field(
        default=(), description="addresses of other members, such as https://etcd-2.example.com:2379"
    )
    key: Annotated[str, Field(pattern=r"^\S*/[^\s/]+$")] = Field(
        description="the whole key, with a / in it, such as /kafka-routes/orders; one for each protection group"
    )

    @property
    def http_connections(self) -> tuple[str, ...]:
        """The connection id of etcd."""
        return (self.connection,)

    def for_group(self, name: str) -> EtcdRouteSpec:
        """Return a route of the same kind for another group, next to this one."""
        return self.model_copy(update={"key": f"{self.key.rpartition('/')[0]}/{name}"})


RouteSpec = Annotated[FileRouteSpec | EtcdRouteSpec, Field(discriminator="kind")]
#: Every kind of route, by the value of the key ``kind``.
ROUTE_KINDS: Mapping[str, type[RouteSection]] = {"file": FileRouteSpec, "etcd": EtcdRouteSpec}
