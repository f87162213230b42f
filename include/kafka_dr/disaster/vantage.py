"""Vantages: HTTP addresses in other networks that answer whether they see a cluster up.

A vantage answers ``{"up": true}`` or ``{"up": false}``. Any other answer says nothing about the cluster.
"""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from collections.abc import Callable
from http.client import HTTPException, InvalidURL
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from kafka_dr.causes import cause
from kafka_dr.disaster.disaster_rule import VANTAGE
from kafka_dr.errors import KafkaDrError, Refused, TryAgain
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.outcomes import Probe
from kafka_dr.quoting import address as shown
from kafka_dr.quoting import line

_MAX_BYTES = 64 * 1024
_PORTS = {"http": 80, "https": 443}


def probe_vantage(
    name: str, address: str, cluster: str, seconds: float, *, login: Callable[[], HttpEndpoint] | None = None
) -> Probe:
    """Return what a vantage says about a cluster; ``unknown`` if it gives no usable answer.

    :param name: of the vantage, as the topology declares it
    :param address: see :func:`sees_up`
    :param login: reads what its connection holds; ``None`` if it has none
    """
    try:
        up = sees_up(address, cluster, seconds=seconds, login=None if login is None else login())
    except KafkaDrError as error:
        return Probe(f"{VANTAGE} {name}", "unknown", str(error))
    said = f"{name} sees {cluster} {'up' if up else 'down'}"
    return Probe(f"{VANTAGE} {name}", "ok" if up else "failed", said)


def sees_up(address: str, cluster: str, *, seconds: float, login: HttpEndpoint | None = None) -> bool:
    """Ask a vantage whether it sees a cluster up.

    :param address: as the topology declares it; ``{cluster}`` in it is replaced by the cluster's name
    :param seconds: the timeout of connecting, and of each read of the answer
    :param login: what it asks for, and the server that this may be sent to
    :raises TryAgain: it does not answer, or its answer is not one of the two that are agreed
    :raises Refused: the login is for another server, or cannot be used
    """
    url = address.replace("{cluster}", quote(cluster, safe=""))
    headers = {"Accept": "application/json"} | _authorization(login)
    try:
        # The topology allows http and https alone.
        with _opener(url, login).open(Request(url, headers=headers), timeout=seconds) as answer:  # noqa: S310
            body = answer.read(_MAX_BYTES)
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise TryAgain(f"{shown(url)} did not say whether {cluster} is up ({_why(error, login)})") from None
    up = _up(body)
    if up is None:
        agreed = '{"up": true} or {"up": false}'
        raise TryAgain(f"{shown(url)} did not answer {agreed} about {cluster}: check that vantage")
    return up


def _up(body: bytes) -> bool | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    up = found.get("up") if isinstance(found, dict) else None
    return up if isinstance(up, bool) else None


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect: the login would be sent to whatever server it names."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _opener(url: str, login: HttpEndpoint | None) -> OpenerDirector:
    """Return what opens the address; with a login only if it is on the server that the login is for.

    Addresses are in Git and logins are not, so that a change of an address must not send a login to another server.
    """
    if login is None:
        return build_opener()
    if (server := _server(url)) is None or server != _server(login.base_url):
        raise Refused(
            f"{shown(url)} is not on the server of its connection, {shown(login.base_url)}, so the login was not sent: "
            "correct the address in the topology, or the host and port of the connection"
        )
    context = login.tls_context()
    return build_opener(_NoRedirect(), *(() if context is None else (HTTPSHandler(context=context),)))


def _server(url: str) -> tuple[str, str, int | None] | None:
    """Return scheme, host and port; ``None`` if the address cannot be read, which is no server."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None


def _authorization(login: HttpEndpoint | None) -> dict[str, str]:
    if login is None:
        return {}
    if login.username is None:
        return login.headers
    pair = f"{login.username}:{login.password or ''}".encode()
    return {"Authorization": f"Basic {b64encode(pair).decode()}"}


def _why(error: Exception, login: HttpEndpoint | None) -> str:
    """Return what went wrong. The texts of some errors hold the query of the address, or the login."""
    if isinstance(error, InvalidURL):
        return "its address cannot be used"
    if isinstance(error, ValueError) and not isinstance(error, OSError):
        return "the request cannot be written: check its address, and the characters of its login or token"
    said = line(cause(error))
    if isinstance(error, HTTPError) and error.code in (401, 403):
        return f"{said}: check {'its vantage_connections' if login is None else 'the login or token in its connection'}"
    if isinstance(error, HTTPError) and error.code in (301, 302, 303, 307, 308):
        return f"{said}: a login is not sent on to another address, so declare that one"
    if isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError):
        return f"{said}: check that its certificate is for this host, and ca_file of its connection"
    return said
