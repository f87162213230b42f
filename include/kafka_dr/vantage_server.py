"""A vantage: says over HTTP, from a machine in another network, whether Kafka clusters answer there.

This one file needs Python and nothing else, no login of Kafka and no right: before a login every broker says which
requests it understands (``ApiVersions``), and that is all it is asked. So it says that brokers answer, not that they
can be written to. ``python3 vantage_server.py --help`` shows how it is run.

It answers ``GET /CLUSTER`` with ``{"up": true}`` or ``{"up": false}``. Where it cannot know which, it answers 503 and
says why, so that a mistake of ours, or a network of its own that is gone, is not taken for a disaster.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import unquote, urlsplit

#: How long an address may take to answer, in seconds. In the middle of a failover this vantage is given 1.5 s.
ANSWER_SECONDS = 1.0
#: What a look has shown is said for so long after it, so that many who ask do not become many questions to brokers.
FRESH_SECONDS = 1.0
EVERY_SECONDS = 10.0
_MOST_BYTES = 64 * 1024
_API_VERSIONS, _CORRELATION = 18, 0x6B646C6B
#: What an operating system says of a network of its own that is not there.
_OURS = {errno.ENETUNREACH, errno.ENETDOWN, errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EPERM, errno.EADDRNOTAVAIL}

_log = logging.getLogger("vantage")


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was seen of an address, or of a whole cluster.

    :param answer: ``down``: nothing answered; ``unknown``: it cannot be known from here
    :param why: for people; empty where the answer says all
    """

    answer: Literal["up", "down", "unknown"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """Where a broker is reached."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def question() -> bytes:
    """Return the request that any broker answers to anybody, with its length."""
    body = struct.pack(">hhih", _API_VERSIONS, 0, _CORRELATION, -1)
    return struct.pack(">i", len(body)) + body


def is_answer(body: bytes) -> bool:
    """Return whether this is a broker's answer to :func:`question`. An error in it is an answer, too."""
    if len(body) < 6:
        return False
    (correlation,) = struct.unpack_from(">i", body)
    return bool(correlation == _CORRELATION)


def of_cluster(brokers: Mapping[BrokerAddress, Sighting]) -> Sighting:
    """Join what was seen of each address: one that answers is enough, and one that is unknown leaves it open."""
    for answer in ("up", "unknown"):
        said = [
            f"{address}: {seen.why}" if seen.why else "" for address, seen in brokers.items() if seen.answer == answer
        ]
        if said:
            return Sighting("up") if answer == "up" else Sighting("unknown", said[0])
    return Sighting("down", "; ".join(f"{address}: {seen.why}" for address, seen in brokers.items()))


def judged(cluster: str, looked: Mapping[str, Sighting], answered_once: frozenset[str]) -> Sighting:
    """Return what a look at all clusters says of one. Silence alone is not enough to call it down.

    :param looked: what was seen of each cluster at the same moment
    :param answered_once: the clusters that have answered since this vantage was started
    """
    seen = looked[cluster]
    if seen.answer != "down":
        return seen
    if cluster not in answered_once:
        return Sighting("unknown", f"{cluster} has never answered since this vantage was started ({seen.why})")
    if not any(other.answer == "up" for other in looked.values()):
        return Sighting("unknown", "no cluster answers, so the network of this vantage may be the reason")
    return seen


def ask(address: BrokerAddress, *, seconds: float, tls: ssl.SSLContext | None = None) -> Sighting:
    """Ask one broker which requests it understands.

    :param seconds: the time for all of it, apart from looking the name up
    """
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return Sighting("unknown", "the host name is unknown here")
    until = time.monotonic() + seconds
    try:
        with _connected([each[4] for each in found], until) as plain:
            if tls is None:
                return _asked(plain, until)
            plain.settimeout(_left(until))
            with tls.wrap_socket(plain, server_hostname=address.host) as secured:
                return _asked(secured, until)
    except TimeoutError:
        return Sighting("down", f"no answer within {seconds:g} s")
    except ConnectionError as error:
        refused = isinstance(error, ConnectionRefusedError)
        return Sighting("down", "nothing listens there" if refused else "the connection was closed")
    except ssl.SSLEOFError:
        return Sighting("down", "the connection was closed")
    except ssl.SSLCertVerificationError:
        return Sighting("unknown", "its certificate is not accepted: check --ca, and the name")
    except ssl.SSLError:
        return Sighting("unknown", "TLS could not be agreed on: check --tls, --ca and --client-certificate")
    except OSError as error:
        if error.errno in _OURS:
            return Sighting("unknown", "this machine cannot make the connection")
        return Sighting("down", "there is no way to it")


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _connected(found: Sequence[tuple[object, ...]], until: float) -> socket.socket:
    """Connect to the first address that lets us, and share the time among them."""
    for number, address in enumerate(found, start=1):
        try:
            seconds = _left(until) / (len(found) - number + 1)
            return socket.create_connection((str(address[0]), int(str(address[1]))), timeout=seconds)
        except OSError:
            if number == len(found):
                raise
    raise TimeoutError


def _asked(connection: socket.socket, until: float) -> Sighting:
    connection.settimeout(_left(until))
    connection.sendall(question())
    (size,) = struct.unpack(">i", _read(connection, 4, until))
    if 0 < size <= _MOST_BYTES and is_answer(_read(connection, size, until)):
        return Sighting("up")
    return Sighting("unknown", "something else than a broker answers")


def _read(connection: socket.socket, size: int, until: float) -> bytes:
    body = b""
    while len(body) < size:
        connection.settimeout(_left(until))
        part = connection.recv(size - len(body))
        if not part:
            raise ConnectionResetError
        body += part
    return body


class Lookout:
    """Looks at all clusters, now and then and whenever somebody asks.

    :param clusters: the brokers of each cluster
    :param ask: asks one broker
    :param clock: seconds of a clock that never goes back
    """

    def __init__(
        self,
        clusters: Mapping[str, Sequence[BrokerAddress]],
        ask: Callable[[BrokerAddress], Sighting],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clusters = clusters
        self._ask, self._clock = ask, clock
        self._one_at_a_time = threading.Lock()
        self._looked: dict[str, Sighting] = {}
        self._looked_at = float("-inf")
        self._answered_once: frozenset[str] = frozenset()

    def see(self, cluster: str) -> Sighting:
        """Return what is seen of a cluster now."""
        self.look()
        with self._one_at_a_time:
            return judged(cluster, self._looked, self._answered_once)

    def look(self) -> None:
        """Look at all clusters, unless that was done a moment ago."""
        with self._one_at_a_time:
            if self._clock() - self._looked_at >= FRESH_SECONDS:
                self._look()

    def _look(self) -> None:
        asked = [(name, address) for name, addresses in self.clusters.items() for address in addresses]
        with ThreadPoolExecutor(len(asked)) as pool:
            found = list(pool.map(self._ask, [address for _, address in asked]))
        seen = {
            name: of_cluster({address: said for (of, address), said in zip(asked, found, strict=True) if of == name})
            for name in self.clusters
        }
        for name, now in seen.items():
            before = self._looked.get(name)
            if before is None or before.answer != now.answer:
                _log.info("%s: %s%s", name, now.answer, f" ({now.why})" if now.why else "")
        self._answered_once |= {name for name, now in seen.items() if now.answer == "up"}
        self._looked, self._looked_at = seen, self._clock()


def server(lookout: Lookout, listen: BrokerAddress, *, certificate: str | None = None) -> ThreadingHTTPServer:
    """Return what answers on HTTP, or on HTTPS; it is not serving yet.

    :param certificate: a PEM file with a key and its certificate
    """

    class VantageAnswers(BaseHTTPRequestHandler):
        timeout = 10
        server_version, sys_version = "vantage", ""

        def do_GET(self) -> None:
            cluster = unquote(urlsplit(self.path).path.rpartition("/")[2])
            if cluster not in lookout.clusters:
                self._say(404, {"why": "this vantage does not know that cluster"})
                return
            seen = lookout.see(cluster)
            if seen.answer == "unknown":
                self._say(503, {"why": seen.why})
            else:
                self._say(200, {"up": seen.answer == "up"})

        def _say(self, status: int, said: dict[str, object]) -> None:
            body = json.dumps(said).encode()
            # A client that shows only the status line shows the reason, too.
            self.send_response(status, str(said.get("why", "")).encode("ascii", "replace").decode() or None)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    serving = ThreadingHTTPServer((listen.host, listen.port), VantageAnswers)
    serving.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        # A client that is slow to agree on TLS holds up only its own thread.
        serving.socket = context.wrap_socket(serving.socket, server_side=True, do_handshake_on_connect=False)
    return serving


def main(arguments: Sequence[str]) -> None:
    """Look and answer until somebody ends this process."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    tls = None
    if options.tls:
        tls = ssl.create_default_context(cafile=options.ca)
        if options.client_certificate:
            tls.load_cert_chain(options.client_certificate)
    lookout = Lookout(dict(options.clusters), lambda address: ask(address, seconds=ANSWER_SECONDS, tls=tls))
    if len(lookout.clusters) < 2:
        raise SystemExit(
            "name two clusters or more: a vantage that sees none of them does not know whose fault that is"
        )

    ended = threading.Event()

    def look_now_and_then() -> None:
        while not ended.wait(EVERY_SECONDS):
            lookout.look()

    threading.Thread(target=look_now_and_then, daemon=True).start()
    with server(lookout, options.listen, certificate=options.certificate) as serving:
        lookout.look()
        _log.info("answers at %s about %s", options.listen, ", ".join(lookout.clusters))
        serving.serve_forever()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="vantage_server.py",
        description="Say over HTTP whether Kafka clusters answer from here. GET /CLUSTER is answered by "
        '{"up": true} or {"up": false}, and by 503 where that cannot be known.',
    )
    parser.add_argument(
        "clusters",
        nargs="+",
        type=_cluster,
        metavar="CLUSTER=HOST:PORT,...",
        help="a cluster, as topology.yaml calls it, and its brokers; all clusters of a protection group",
    )
    parser.add_argument("--listen", type=address_of, required=True, metavar="HOST:PORT", help="where it answers")
    parser.add_argument("--certificate", metavar="FILE", help="answer on HTTPS: PEM, the key and its certificate")
    parser.add_argument("--tls", action="store_true", help="the brokers are reached by TLS (listeners SSL, SASL_SSL)")
    parser.add_argument("--ca", metavar="FILE", help="with --tls: PEM, the authority of the brokers' certificates")
    parser.add_argument(
        "--client-certificate", metavar="FILE", help="with --tls: PEM, a key and its certificate, for brokers that ask"
    )
    return parser


def address_of(text: str) -> BrokerAddress:
    """Return ``HOST:PORT`` as an address; brackets around an address of IPv6 are left out."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 <= int(port) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return BrokerAddress(host.removeprefix("[").removesuffix("]"), int(port))


def _cluster(text: str) -> tuple[str, tuple[BrokerAddress, ...]]:
    name, _, addresses = text.partition("=")
    if not name or not addresses:
        raise argparse.ArgumentTypeError(f"{text!r} is not CLUSTER=HOST:PORT,...")
    return name, tuple(address_of(each) for each in addresses.split(","))


if __name__ == "__main__":
    main(sys.argv[1:])
