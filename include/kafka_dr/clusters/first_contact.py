"""Why no client can use a connection: the brokers are asked, step by step, which part of it they do not accept.

Client libraries do not say it where a request fails: it ends without an answer, as if the cluster were down. So when a
request is not answered, this asks with sockets of its own: host name, certificates, protocol and login, in this order.
A broker that refuses one of them is alive, and what we connect with is wrong. A server that does not even say what it
speaks may be a proxy whose broker is dead: that is no mistake of ours.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from enum import Enum
from threading import Lock, Thread
from time import monotonic
from typing import Any

from confluent_kafka import KafkaError
from kafka.errors import KafkaError as PythonKafkaError
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from kafka_dr.clusters.settings import ClientSettings
from kafka_dr.errors import ConnectionMistake, KafkaDrError, Refused
from kafka_dr.parallel import ask_all
from kafka_dr.quoting import line
from kafka_dr.tls_files import TlsFiles

#: How many servers are asked: what is wrong with a connection is wrong for all of them.
_SERVERS = 3
#: How many are asked where each of them matters.
_MOST_SERVERS = 64
#: How long looking for a mistake takes at most, and how long what was found counts, in seconds.
_SECONDS, _COUNTS_SECONDS = 2.0, 3.0
_MOST_BYTES = 64 * 1024
#: So many characters of what a broker says about a login are shown.
_SHOWN = 200
#: Why Python's TLS refuses a server's certificate, by OpenSSL's number.
_CERTIFICATE = {
    9: "is not valid yet",
    10: "has expired",
    18: "is signed by itself, which our authorities do not include",
    19: "is signed by an authority that we do not trust",
    20: "is signed by an authority that we do not trust",
    21: "is signed by an authority that we do not trust",
    62: "is for another host name",
    64: "is for another address",
}

Server = tuple[str, int]


class _Answer(Enum):
    """What a server did: ``SILENT`` and ``UNKNOWN_HOST`` do not show whether it is alive."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN_HOST = "unknown host"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class _Contact:
    """What came of the contact with one server.

    :param problem: what is wrong with the connection, and what to correct
    :param brokers: the addresses that clients are sent to
    :param cluster_id: what the server says of itself
    """

    answer: _Answer
    problem: str = ""
    brokers: tuple[Server, ...] = ()
    cluster_id: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found when a session got no answer.

    :param mistake: what is wrong with the connection and what to correct; empty if that does not keep clients away
    :param answering: the servers that let us log in
    """

    mistake: str
    answering: tuple[Server, ...] = ()


class _Wrong(Exception):
    """A server does not accept a part of the connection."""

    def __init__(self, problem: str, answer: _Answer = _Answer.REFUSED) -> None:
        super().__init__(problem)
        self.answer = answer


class FirstContact:
    """Finds out why a session gets no answer. What was found counts for a moment: many requests end at the same time.

    :param name: the cluster's name in the topology
    :param seconds: the deadline of a request; looking for the reason takes no longer
    """

    def __init__(self, name: str, settings: ClientSettings, *, seconds: float) -> None:
        self._name, self._settings = name, settings
        self._seconds = min(_SECONDS, seconds)
        self._lock = Lock()
        self._found, self._asked = Found(""), -_COUNTS_SECONDS

    def why(self, error: KafkaDrError) -> KafkaDrError:
        """Return why there was no answer: a mistake in the connection, if it has one, else the error itself."""
        try:
            self.refuse_mistake()
        except ConnectionMistake as mistake:
            return mistake
        return error

    def refuse_mistake(self) -> None:
        """Ask the brokers whether they accept the connection.

        :raises ConnectionMistake: they do not: waiting does not help
        """
        self.answering()

    def unusable(self, cluster_id: str) -> dict[str, str]:
        """Return every address of the connection and of the brokers that clients are sent to, and what is wrong there.

        :param cluster_id: of the cluster that all of them have to lead to
        :returns: a sentence by ``host:port``; empty for an address that can be used
        """
        first = _contacts(self._settings, _servers(self._settings), self._seconds, most=_MOST_SERVERS)
        sent_to = {broker for each in first.values() for broker in each.brokers} - set(first)
        found = first | _contacts(self._settings, sorted(sent_to), self._seconds, most=_MOST_SERVERS)
        return {_shown(server): _unusable(_shown(server), each, cluster_id) for server, each in found.items()}

    def answering(self) -> list[str]:
        """Return the servers that accept the connection, ``host:port``; a client that chose a hung one needs them.

        :raises ConnectionMistake: none does: waiting does not help
        """
        with self._lock:
            if monotonic() - self._asked > _COUNTS_SECONDS:
                self._found = look(self._settings, seconds=self._seconds)
                self._asked = monotonic()
            found = self._found
        if found.mistake:
            raise ConnectionMistake(f"{self._name}: {found.mistake}")
        return [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in found.answering]


def look(settings: ClientSettings, *, seconds: float) -> Found:
    """Contact the servers of a connection, and the brokers that clients are sent to, as every client does.

    :param seconds: the deadline, of which the brokers that clients are sent to get a half
    """
    first = _contacts(settings, _servers(settings), seconds / 2)
    sent_to = next((each.brokers for each in first.values() if each.answer is _Answer.ACCEPTED), ())
    last = _contacts(settings, [each for each in sent_to if each not in first], seconds / 2)
    accepted = [server for server, each in (first | last).items() if each.answer is _Answer.ACCEPTED]
    return Found(_mistake(list((last or first).values())), tuple(accepted))


def _unusable(where: str, found: _Contact, cluster_id: str) -> str:
    if found.answer is _Answer.SILENT:
        return f"{where} does not answer: start its broker, or let this machine through to it"
    if found.answer is _Answer.ACCEPTED and found.cluster_id != cluster_id:
        return (
            f"{where} leads to the cluster {line(found.cluster_id)}, expected {cluster_id}: correct the address in the "
            "connection, advertised.listeners of the broker, or what the name servers answer"
        )
    return found.problem


def _mistake(found: Sequence[_Contact]) -> str:
    answers = {each.answer for each in found}
    if _Answer.ACCEPTED in answers:
        return ""
    # Of several names one may be gone with its broker. All names are only gone if something is wrong with them.
    counts = _Answer.REFUSED if _Answer.REFUSED in answers else _Answer.UNKNOWN_HOST
    if counts is _Answer.UNKNOWN_HOST and answers != {counts}:
        return ""
    return next(each.problem for each in found if each.answer is counts)


def _servers(settings: ClientSettings) -> list[Server]:
    pairs = (each.strip().rpartition(":") for each in settings.bootstrap_servers.split(","))
    return [(host.strip("[]"), int(port)) for host, _, port in pairs if host and port.isdigit()]


def _contacts(
    settings: ClientSettings, servers: Iterable[Server], seconds: float, *, most: int = _SERVERS
) -> dict[Server, _Contact]:
    deadline = monotonic() + seconds
    return dict(ask_all(lambda server: _contact(settings, server, deadline), list(servers)[:most]))


def _contact(settings: ClientSettings, server: Server, deadline: float) -> _Contact:
    try:
        return _logged_in(settings, server, deadline)
    except _Wrong as wrong:
        return _Contact(wrong.answer, str(wrong))
    except (OSError, PythonKafkaError, ValueError):
        return _Contact(_Answer.SILENT)


def _logged_in(settings: ClientSettings, server: Server, deadline: float) -> _Contact:
    """Connect and log in as every client does, and return what the server says of the cluster.

    :raises _Wrong: the server does not accept it
    :raises OSError: the server cannot be reached, or does not answer
    """
    where = _shown(server)
    tls = _tls_context(settings) if settings.security_protocol.endswith("SSL") else None
    addresses = _addresses(settings, server, deadline)
    try:
        with _Talk(addresses, server, deadline, tls) as talk:
            talk.ask(ApiVersionsRequest(version=0))
            offered = talk.ask(SaslHandshakeRequest(mechanism=settings.sasl_mechanism or "PLAIN", version=1))
            _log_in(talk, offered, settings, where)
            found = talk.ask(MetadataRequest(topics=[], version=2))
    except ssl.SSLCertVerificationError as error:
        why = _CERTIFICATE.get(error.verify_code, "is not accepted")
        raise _Wrong(
            f"the certificate of {where} {why}: correct ssl.ca.location or the host name in {_from(settings)}, or let "
            "the certificate be replaced"
        ) from error
    except (ssl.SSLError, ConnectionError, PythonKafkaError) as error:
        if wrong := _refused_handshake(error, settings, server, addresses, deadline):
            raise wrong from error
        raise
    brokers = tuple((each.host, each.port) for each in found.brokers)
    return _Contact(_Answer.ACCEPTED, brokers=brokers, cluster_id=found.cluster_id or "")


def _addresses(settings: ClientSettings, server: Server, deadline: float) -> Sequence[Any]:
    """Look the host name up in a thread of its own: a dead name server takes many seconds to say nothing."""
    found: Future[Any] = Future()

    def look() -> None:
        try:
            found.set_result(socket.getaddrinfo(*server, type=socket.SOCK_STREAM))
        except OSError as error:
            found.set_exception(error)

    Thread(target=look, name=f"address of {server[0]}", daemon=True).start()
    try:
        return list(found.result(max(0.1, deadline - monotonic())))
    except (socket.gaierror, FutureTimeoutError) as error:
        raise _Wrong(
            f"the host name {line(server[0])} is unknown here: correct it in {_from(settings)}, or find out why the "
            "name servers do not know it",
            _Answer.UNKNOWN_HOST,
        ) from error


def _tls_context(settings: ClientSettings) -> ssl.SSLContext:
    files = TlsFiles(settings.ca_file, settings.certificate_file, settings.key_file, settings.key_password)
    try:
        return files.context()
    except Refused as error:
        raise _Wrong(f"{error} in {_from(settings)}") from error


def _refused_handshake(
    error: Exception, settings: ClientSettings, server: Server, addresses: Sequence[Any], deadline: float
) -> _Wrong | None:
    """Return why a server ended a connection at its beginning; ``None`` if it does not show that it is alive."""
    where, reason = _shown(server), getattr(error, "reason", None) or ""
    if "ALERT" in reason:
        if "PROTOCOL_VERSION" in reason:
            return _Wrong(f"{where} refuses every TLS version that we offer: enable TLS 1.2 or 1.3 on it")
        return _Wrong(
            f"{where} refuses our client certificate ({settings.certificate_file or 'none is set'}): correct "
            f"ssl.certificate.location in {_from(settings)}, or let that certificate be replaced"
        )
    tls = settings.security_protocol.endswith("SSL")
    if not _speaks(addresses, server, deadline, tls=not tls):
        return None
    spoken, other = ("TLS", "one with SSL") if not tls else ("no TLS", "one without SSL")
    return _Wrong(
        f"{where} speaks {spoken}, and the connection says {settings.security_protocol}: correct security.protocol in "
        f"{_from(settings)} to {other}, or its port"
    )


def _speaks(addresses: Sequence[Any], server: Server, deadline: float, *, tls: bool) -> bool:
    """Return whether a server speaks TLS, or Kafka's protocol without TLS."""
    anything = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anything.check_hostname, anything.verify_mode = False, ssl.CERT_NONE
    try:
        with _Talk(addresses, server, deadline, anything if tls else None) as talk:
            if not tls:
                talk.ask(ApiVersionsRequest(version=0))
            return True
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except (OSError, PythonKafkaError, ValueError):
        return False


def _log_in(talk: _Talk, offered: Any, settings: ClientSettings, where: str) -> None:
    """Log in as the connection says.

    :param offered: the server's answer to which mechanism is used; one that wants no login refuses the question
    """
    wants_none = offered.error_code == KafkaError.ILLEGAL_SASL_STATE
    if wants_none is settings.security_protocol.startswith("SASL_"):
        wants = "takes no login" if wants_none else f"wants a login ({', '.join(offered.mechanisms)})"
        raise _Wrong(
            f"{where} {wants}, and the connection says {settings.security_protocol}: correct security.protocol in "
            f"{_from(settings)}, or its port"
        )
    if wants_none:
        return
    if settings.sasl_mechanism not in offered.mechanisms:
        raise _Wrong(
            f"{where} takes logins by {' or '.join(offered.mechanisms)}, and the connection says "
            f"{settings.sasl_mechanism}: correct sasl.mechanism in {_from(settings)}"
        )
    login = get_sasl_mechanism(settings.sasl_mechanism)(host="", **settings.kafka_python())
    while not login.is_done():
        answer = talk.ask(SaslAuthenticateRequest(login.auth_bytes(), version=0))
        if answer.error_code:
            raise _refused_login(settings, where, answer.error_message)
        try:
            login.receive(answer.auth_bytes)
        except ValueError as error:
            raise _refused_login(settings, where, "") from error


def _refused_login(settings: ClientSettings, where: str, said: str | None) -> _Wrong:
    why = f" ({line(said)[:_SHOWN]})" if said else ""
    return _Wrong(
        f"{where} refuses the login of {settings.username}{why}: correct the name or the password in {_from(settings)}"
    )


def _from(settings: ClientSettings) -> str:
    return f"connection {settings.connection}" if settings.connection else "its connection"


def _shown(server: Server) -> str:
    return line(f"{server[0]}:{server[1]}")


class _Talk:
    """One connection to a server, on which one request follows the other."""

    def __init__(self, addresses: Sequence[Any], server: Server, deadline: float, tls: ssl.SSLContext | None) -> None:
        self._deadline = deadline
        self._protocol = KafkaProtocol(client_id="kafka-dr")
        opened = _open(addresses, deadline)
        try:
            self._socket = tls.wrap_socket(opened, server_hostname=server[0]) if tls else opened
        except BaseException:
            opened.close()
            raise

    def __enter__(self) -> _Talk:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def ask(self, request: Any) -> Any:
        """Send a request and return the answer.

        :raises OSError: the server ended the connection, or did not answer in time
        """
        self._protocol.send_request(request)
        self._socket.sendall(self._protocol.send_bytes())
        while True:
            self._socket.settimeout(max(0.1, self._deadline - monotonic()))
            data = self._socket.recv(_MOST_BYTES)
            if not data:
                raise ConnectionResetError("the server ended the connection")
            for _, answer in self._protocol.receive_bytes(data):
                return answer


def _open(addresses: Sequence[Any], deadline: float) -> socket.socket:
    failed: OSError = ConnectionRefusedError("no address")
    for family, kind, protocol, _, address in addresses:
        opened = socket.socket(family, kind, protocol)
        opened.settimeout(max(0.1, deadline - monotonic()))
        try:
            opened.connect(address)
        except OSError as error:
            opened.close()
            failed = error
            continue
        return opened
    raise failed
