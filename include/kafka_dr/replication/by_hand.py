"""Requests to Connect's REST API as commands of a shell, for a person who has nothing of this project but a paper."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.replication.flow import Flow

_HIDDEN = "PASSWORD"
#: Reads the offsets of a connector, as Connect shows them, and writes ``topic:partition:next offset``.
COPIED_ROWS = (
    """tr '{}' '\\n\\n' | awk -F'[:,]' '/"topic"/ {for (i = 1; i < NF; i++) {if ($i == "\\"topic\\"") t = $(i+1); """
    """if ($i == "\\"partition\\"") p = $(i+1)} gsub("\\"", "", t)} /^"offset":[0-9]/ {print t ":" p ":" $2 + 1}'"""
)


@dataclass(frozen=True, slots=True)
class ConnectByHand:
    """The commands for one Connect cluster.

    :param cluster: the cluster that its flows write to
    """

    cluster: str
    endpoint: HttpEndpoint

    def stop(self, flow: Flow) -> str:
        """Return the request to stop a connector."""
        return self._or_say(self._request(flow, "stop", " -X PUT"), flow)

    def resume(self, flow: Flow) -> str:
        """Return the request to resume a connector."""
        return self._or_say(self._request(flow, "resume", " -X PUT"), flow)

    def positions(self, flow: Flow) -> str:
        """Return the request for the offsets of a connector, and what makes lines of the answer."""
        return f"{self._request(flow, 'offsets', '')} | {COPIED_ROWS}"

    def files(self, *, hidden: bool) -> dict[str, str]:
        """Return the file by which ``curl`` logs in."""
        endpoint = self.endpoint
        if hidden:
            endpoint = replace(
                endpoint,
                password=_HIDDEN if endpoint.password else None,
                token="TOKEN" if endpoint.token else None,
                tls=replace(endpoint.tls, key_password=_HIDDEN if endpoint.tls.key_password else None),
            )
        return {self._file: "".join(f"{name} = {_quoted(value)}\n" for name, value in _curl_options(endpoint))}

    @property
    def _file(self) -> str:
        return f"{self.cluster}-connect.curl"

    def _request(self, flow: Flow, what: str, change: str) -> str:
        url = shlex.quote(f"{self.endpoint.base_url}/connectors/{flow.name}/{what}")
        return f"curl --fail --silent --show-error --max-time 20 --config {shlex.quote(self._file)}{change} {url}"

    def _or_say(self, request: str, flow: Flow) -> str:
        said = shlex.quote(f"Connect of {self.cluster} did not do it: continue, and look at {flow.name} later")
        return f"{request} || echo {said}"


def _curl_options(endpoint: HttpEndpoint) -> Iterator[tuple[str, str]]:
    if endpoint.username:
        yield "user", f"{endpoint.username}:{endpoint.password or ''}"
    if endpoint.token:
        yield "header", f"Authorization: Bearer {endpoint.token}"
    tls = endpoint.tls
    named = {"cacert": tls.ca_file, "cert": tls.certificate_file, "key": tls.key_file, "pass": tls.key_password}
    yield from ((name, value) for name, value in named.items() if value)


def _quoted(text: str) -> str:
    """Return a value of a file that ``curl --config`` reads."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
