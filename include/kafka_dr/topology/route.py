"""Where applications of a protection group look up the active cluster: one section for each kind of route."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from kafka_dr.topology.fields import AbsolutePath, ConnectionId, HttpAddress, Name, Seconds, Section

#: The longest label of a name (RFC 1035, 2.3.4).
_LABEL = 63
_NAME_PATTERN = re.compile(r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")


class RouteSection(Section):
    """What all kinds of routes have in common."""

    #: The key that says where it is kept; no two groups may share its value.
    KEPT_AT: ClassVar[str]

    @property
    def http_connections(self) -> tuple[str, ...]:
        """The connection ids of HTTP services that keep it."""
        return ()

    @property
    def tsig_connections(self) -> tuple[str, ...]:
        """The connection ids of the keys that name servers ask for."""
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


def _values(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a name leads to: addresses, or one other name.

    :raises ValueError: both, or several names
    """
    if len(values) != 1 or not _NAME_PATTERN.fullmatch(values[0]):
        for each in values:
            ipaddress.ip_address(each)
    return values


def _server(server: str) -> str:
    """Return a server's address, with a port or without: its name would be asked of those that may not answer.

    :raises ValueError: it is something else
    """
    host, colon, port = server.rpartition(":")
    ipaddress.ip_address(host.strip("[]") if colon and port.isdigit() and host[-1:] != ":" else server)
    return server


def _program(line: tuple[str, ...]) -> tuple[str, ...]:
    """Return a program and its arguments; a name without a path would be looked up in PATH, which differs by worker.

    :raises ValueError: it has no whole path
    """
    if not line or not line[0].startswith("/"):
        raise ValueError(line)
    return line


_NameServer = Annotated[str, Field(pattern=r"^[0-9a-f.:\[\]]+$"), AfterValidator(_server)]
_DnsName = Annotated[str, Field(pattern=_NAME_PATTERN.pattern, max_length=240)]


class DnsRouteSpec(RouteSection):
    """A route in DNS."""

    KEPT_AT: ClassVar[str] = "name"

    kind: Literal["dns"] = Field(description="the kind of router")
    connection: ConnectionId = Field(description="the connection id of the TSIG key that signs updates")
    primary: _NameServer = Field(
        description="the address of the name server that takes updates, with its port unless that is 53"
    )
    servers: tuple[_NameServer, ...] = Field(
        default=(), description="the addresses of the other name servers of the zone, each with its port unless 53"
    )
    zone: _DnsName = Field(description="the zone in small letters, such as example.com")
    name: _DnsName = Field(
        description="the name that applications look up, below the zone and in small letters; one for each group"
    )
    ttl: Annotated[int, Field(ge=1, le=3600, strict=True)] = Field(
        default=30, description="for how many seconds resolvers and applications may keep an answer, at most 3600"
    )
    values: dict[Name, Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_values)]] = Field(
        description="for each cluster of the group a list of addresses, or of one other name in small letters"
    )

    @property
    def tsig_connections(self) -> tuple[str, ...]:
        """The connection id of the key."""
        return (self.connection,)

    def for_group(self, name: str) -> DnsRouteSpec:
        """Return a route of the same kind for another group, next to this one."""
        # Of a drill, the end of the name says when it began.
        label = name.lower().replace("_", "-")[-_LABEL:].strip("-")
        return self.model_copy(update={"name": f"{label}.{self.name.partition('.')[2]}"})


class CommandRouteSpec(RouteSection):
    """A route that a program of others keeps; groups may share the program, which gets the name of each."""

    KEPT_AT: ClassVar[str] = "program"

    kind: Literal["command"] = Field(description="the kind of router")
    program: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], AfterValidator(_program)] = Field(
        description="the program that reads and switches the route, by its whole path, and its arguments"
    )
    seconds: Seconds = Field(default=10, description="how long the program may take for one question")

    def for_group(self, name: str) -> CommandRouteSpec:
        """Return it: the program keeps the routes of groups apart."""
        return self


RouteSpec = Annotated[FileRouteSpec | EtcdRouteSpec | DnsRouteSpec | CommandRouteSpec, Field(discriminator="kind")]
#: Every kind of route, by the value of the key ``kind``.
ROUTE_KINDS: Mapping[str, type[RouteSection]] = {
    "file": FileRouteSpec,
    "etcd": EtcdRouteSpec,
    "dns": DnsRouteSpec,
    "command": CommandRouteSpec,
}
