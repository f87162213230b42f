"""Where an HTTP service is and how to show it who asks: over HTTPS its certificate is always checked."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import httpx

from kafka_dr.errors import Refused
from kafka_dr.quoting import address
from kafka_dr.tls_files import TlsFiles

_log = logging.getLogger(__name__)


def connection_problem(error: BaseException) -> str:
    """Return what is wrong with how a service is reached, and what to correct; empty if it only did not answer.

    :param error: of an HTTP client, whose causes say what it was
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not accepted ({cause.verify_message}): check that it is for this host, and that "
                "an authority in ca_file of its connection signed it"
            )
        if isinstance(cause, ssl.SSLError):
            return "TLS could not be agreed on: check whether it wants https, and the client certificate"
        if isinstance(cause, socket.gaierror):
            return "its host name is unknown here: correct the host in its connection"
        cause = cause.__cause__ or cause.__context__
    return ""


def unanswered(error: httpx.HTTPError) -> str:
    """Return why a service did not answer, as it continues "…, because". What the library said goes to the log."""
    _log.info("%r", error)
    if isinstance(error, httpx.TimeoutException):
        return "no answer came in time"
    if isinstance(error, httpx.ConnectError):
        return "nothing that listens there answers"
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return "the connection was lost"
    return "what it answered cannot be understood"


#: The authorities that every HTTP client here trusts; variables of the environment do not change them.
_PUBLIC = partial(httpx.create_ssl_context, trust_env=False)
_LOOPBACK = ("127.", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """The address of an HTTP service, and the login for it.

    :param username: with ``password``, for basic authentication
    :param token: a bearer token instead of a login
    """

    base_url: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    tls: TlsFiles = field(default_factory=TlsFiles)

    def __post_init__(self) -> None:
        scheme, _, host = self.base_url.partition("://")
        shown = address(self.base_url)
        if scheme not in ("http", "https") or not host or any(each in host for each in "@?#"):
            raise Refused(
                f"its address is {shown!r}: write http://host:port or https://host:port, "
                "and keep logins and tokens out of it, in the connection's login, password or extra"
            )
        if scheme == "http" and self.tls != TlsFiles():
            raise Refused(f"{shown} is no HTTPS address, and certificates are given for it: write https://")
        if scheme == "http" and self.token and not host.startswith(_LOOPBACK):
            raise Refused(f"a bearer token would be sent to {shown} unencrypted: write https://")
        if self.token and self.username:
            raise Refused(f"a login and a bearer token are given for {shown}: remove one of them")

    @property
    def secrets(self) -> Mapping[str, str | None]:
        """What nothing may show, each with the login that it belongs to; ``None`` if it belongs to none."""
        found = {self.password: self.username, self.token: None, self.tls.key_password: None}
        return {secret: login for secret, login in found.items() if secret}

    @property
    def headers(self) -> dict[str, str]:
        """What shows who asks, if a token does."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def tls_context(self) -> ssl.SSLContext | None:
        """Return how the server's certificate is checked; ``None`` if the address is not HTTPS.

        :raises Refused: a file cannot be read or used
        """
        return self.tls.context(public=_PUBLIC) if self.base_url.startswith("https://") else None
