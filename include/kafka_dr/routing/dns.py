"""A route in DNS: a name that leads to the active cluster, and a TXT record next to it with the route and its epoch.

A switch is one update (RFC 2136), signed with TSIG (RFC 8945). Its prerequisites are the records that were read, so the
primary server changes all of them or none. A CNAME permits no other record at its name (RFC 1034, 3.6.2); therefore the
TXT record has a name of its own.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import shlex
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rdtypes.ANY.TXT
import dns.tsig
import dns.update

from kafka_dr.clock import Clock, SystemClock
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.json_documents import parsed
from kafka_dr.parallel import ask_each
from kafka_dr.routing.compare_and_set import DEADLINE_SECONDS, AnswerLost, switch_in
from kafka_dr.routing.route import (
    SCHEMA_VERSION,
    Route,
    RouteConflict,
    RouteSilent,
    RouteUncertain,
    RouteUnreadable,
    RouteUnwritable,
)
from kafka_dr.routing.tsig_key import TsigKey
from kafka_dr.waiting import wait_until

_log = logging.getLogger(__name__)
#: Types and texts of the records of a route, such as ``("A", "10.0.0.1")``.
Records = frozenset[tuple[str, str]]
_ADDRESSES = ("A", "AAAA", "CNAME")
#: Records that no zone holds: whoever may delete them may replace those of a route.
_TRIAL = {"TXT": '"a trial"', "A": "0.0.0.0", "AAAA": "::", "CNAME": "trial.invalid."}  # noqa: S104 - nobody listens there
_SERVER_SECONDS = 1.0
#: The answers that mean that a prerequisite does not hold (RFC 2136, 2.4).
_OTHERWISE = (dns.rcode.NXDOMAIN, dns.rcode.YXDOMAIN, dns.rcode.NXRRSET, dns.rcode.YXRRSET)


class ServerUnanswered(KafkaDrError):
    """A server gave no usable answer.

    :ivar sent: whether it may have got what was sent
    """

    def __init__(self, sentence: str, *, sent: bool) -> None:
        super().__init__(sentence)
        self.sent = sent


class KeyRefused(KafkaDrError):
    """A server does not accept the key; nothing was changed."""


@dataclass(frozen=True, slots=True)
class DnsRouter:
    """A route kept in a zone.

    :param name: the name that applications look up, without a dot at its end
    :param primary: address and port of the server that takes updates
    :param servers: the other servers of the zone, which copy it
    :param values: for each cluster its addresses, or one other name
    :param ttl: for how many seconds resolvers may keep an answer
    :param key: returns what signs updates; it may raise :class:`Refused`
    :param seconds: the deadline of a look, of all tries of a switch, and of the other servers to follow
    """

    name: str
    zone: str
    primary: str
    servers: tuple[str, ...]
    values: Mapping[str, Collection[str]]
    ttl: int
    key: Callable[[], TsigKey]
    clock: Clock = field(default_factory=SystemClock)
    seconds: float = DEADLINE_SECONDS

    def read(self) -> Route | None:
        """Return the stored route; if its name leads elsewhere, with what it leads to as the active cluster."""
        return self.look()[0]

    def switch(self, *, expected_epoch: int | None, route: Route) -> None:
        """Store a route by compare-and-set on the epoch, and wait until every server that answers shows it."""
        if route.active not in self.values:
            raise RouteConflict(f"The route of {route.group} has no value for {route.active}: add it to its values.")
        switch_in(self, route, expected_epoch=expected_epoch, clock=self.clock, seconds=self.seconds)
        stored = self._seen()
        late = wait_until(lambda: self._late(stored), lambda found: not found, clock=self.clock, seconds=self.seconds)
        if late:
            raise RouteUncertain(
                f"The route leads to {route.active} on {self.primary}, and after {duration(self.seconds)} "
                f"{' and '.join(late)} still shows the former records of {self.name}: see why the zone is not "
                "transferred there; who asks these servers does not follow."
            )

    def look(self) -> tuple[Route | None, Records]:
        """Return the stored route and the records; of several looks during a switch the last."""
        seen = self._seen()
        for _ in range(3):
            route = self._route(seen)
            if route is None or self._wanted(route) == seen:
                break
            # Records are read one after the other: those of two moments differ as if somebody had changed one.
            before, seen = seen, self._seen()
            if before == seen:
                break
        return self._route(seen), seen

    def put(self, seen: Records, route: Route) -> None:
        """Replace all records if they are as they were seen."""
        update = self._update()
        for owner, kind in self._owners:
            texts = [text for found, text in sorted(seen) if found == kind]
            if texts:
                update.present(owner, kind, *texts)
            else:
                update.absent(owner, kind)
        self._fill(update, self._wanted(route))
        self._change(update)

    def try_out(self) -> None:
        """Ask every server, and delete records that are not there: the primary checks the right all the same."""
        answers = ask_each(self._records, (self.primary, *self.servers))
        for found in answers.values():
            if isinstance(found, KafkaDrError):
                raise RouteUnwritable(f"The route {self.name} would not be seen everywhere: {found}") from found
        update = self._update()
        for owner, kind in self._owners:
            update.delete(owner, kind, _TRIAL[kind])
        self._change_surely(update)

    def shown_by(self) -> tuple[str, ...]:
        """Return for each server the command that shows its records, with the seconds that they may be kept."""
        asked = [part for owner, kind in self._owners[:3] for part in (owner.to_text(), kind)]
        options = ("+norecurse", "+noall", "+answer")
        return tuple(
            shlex.join(["dig", f"@{host}", "-p", port, *options, *asked])
            for host, port in map(_host_and_port, (self.primary, *self.servers))
        )

    def by_hand(self, route: Route) -> tuple[str, ...]:
        """Return the command that replaces the records; the key comes from a file."""
        lines = [f"server {' '.join(_host_and_port(self.primary))}", f"zone {self.zone}."]
        lines += [f"update delete {owner} {kind}" for owner, kind in self._owners]
        lines += [f"update add {self._owner(kind)} {self.ttl} {kind} {text}" for kind, text in self._wanted(route)]
        key = '"${KAFKA_DR_TSIG_FILE:?set it to a file with the TSIG key, as tsig-keygen writes it}"'
        return (f"printf '%s\\n' {shlex.join([*lines, 'send'])} | nsupdate -v -k {key}",)

    def remove(self) -> None:
        """Remove the records."""
        update = self._update()
        self._fill(update, frozenset())
        self._change_surely(update)

    def remains(self) -> tuple[str, ...]:
        """Return the records by their types, if there are any."""
        kinds = ", ".join(sorted({kind for kind, _ in self._seen()}))
        return (f"the name {self.name} ({kinds})",) if kinds else ()

    @property
    def _owners(self) -> tuple[tuple[dns.name.Name, str], ...]:
        """The names of all records, by type; a question for A is answered with a CNAME as well."""
        return tuple((self._owner(kind), kind) for kind in ("TXT", *_ADDRESSES))

    def _owner(self, kind: str) -> dns.name.Name:
        return dns.name.from_text(f"_kafka-dr.{self.name}" if kind == "TXT" else self.name)

    def _wanted(self, route: Route) -> Records:
        stored = json.dumps(route.to_json(), sort_keys=True).encode()
        # A string of a TXT record has at most 255 bytes (RFC 1035, 3.3).
        strings = [stored[begin : begin + 255] for begin in range(0, len(stored), 255)]
        text = dns.rdtypes.ANY.TXT.TXT(dns.rdataclass.IN, dns.rdatatype.TXT, strings)
        return frozenset({("TXT", text.to_text()), *self._addresses(route.active)})

    def _addresses(self, cluster: str) -> Records:
        return frozenset(map(_record, self.values.get(cluster, ())))

    def _route(self, seen: Records) -> Route | None:
        texts = [text for kind, text in seen if kind == "TXT"]
        found = frozenset((kind, text) for kind, text in seen if kind != "TXT")
        leads_to = [cluster for cluster in self.values if self._addresses(cluster) == found]
        shown = ", ".join(" ".join(each) for each in sorted(found)) or "nothing"
        if not texts:
            if found and not leads_to:
                raise RouteUnreadable(
                    f"The name {self.name} holds {shown}, which is no route and the value of no cluster: if "
                    "applications use it, name it as the value of the active cluster; else remove it by hand."
                )
            return None
        try:
            (text,) = texts
            rdata = dns.rdata.from_text("IN", "TXT", text)
            route = parsed(b"".join(rdata.strings), Route.from_part, schema=SCHEMA_VERSION)  # type: ignore[attr-defined]
        except ValueError as error:
            raise RouteUnreadable(
                f"The TXT record of {self._owner('TXT')} holds no route: compare it with the DR register, and correct "
                "or remove it by hand."
            ) from error
        if route.active in leads_to:
            return route
        return replace(route, active=leads_to[0] if leads_to else shown)

    def _seen(self) -> Records:
        """Return the records of the primary server."""
        try:
            return self._records(self.primary, self._key())
        except ServerUnanswered as error:
            raise RouteSilent(f"The route {self.name} cannot be read: {error}") from error
        except KeyRefused as error:
            raise RouteUnreadable(f"The route {self.name} cannot be read: {error}") from error

    def _late(self, stored: Records) -> list[str]:
        """Return the servers that show something else than is stored. One that does not answer misleads nobody."""
        answers = ask_each(self._records, self.servers)
        for found in answers.values():
            if isinstance(found, KafkaDrError):
                _log.warning("%s", found)
        return [each for each, found in answers.items() if not isinstance(found, KafkaDrError) and found != stored]

    def _records(self, server: str, key: dns.tsig.Key | None = None) -> Records:
        questions = [dns.message.make_query(owner, kind, flags=0) for owner, kind in self._owners[:3]]
        found: set[tuple[str, str]] = set()
        seconds = self.seconds if key else min(_SERVER_SECONDS, self.seconds)
        for (owner, kind), answer in zip(self._owners, self._answers(server, questions, key, seconds), strict=False):
            if not answer.flags & dns.flags.AA or answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
                raise ServerUnanswered(
                    f"{server} does not answer for the zone {self.zone}: see that it serves the zone", sent=False
                )
            kinds = (kind,) if kind == "TXT" else _ADDRESSES
            rows = [(dns.rdatatype.to_text(each.rdtype), each) for each in answer.answer if each.name == owner]
            found |= {(name, rdata.to_text()) for name, rows_of in rows if name in kinds for rdata in rows_of}
        return frozenset(found)

    def _update(self) -> dns.update.UpdateMessage:
        return dns.update.UpdateMessage(dns.name.from_text(self.zone))

    def _fill(self, update: dns.update.UpdateMessage, records: Records) -> None:
        for owner, kind in self._owners:
            update.delete(owner, kind)
        for kind, text in sorted(records):
            update.add(self._owner(kind), self.ttl, kind, text)

    def _change_surely(self, update: dns.update.UpdateMessage) -> None:
        try:
            self._change(update)
        except AnswerLost as error:
            raise RouteUnwritable(str(error)) from error

    def _change(self, update: dns.update.UpdateMessage) -> None:
        said = f"The route {self.name} cannot be written"
        try:
            (answer,) = self._answers(self.primary, [update], self._key(), self.seconds)
        except ServerUnanswered as error:
            raise (AnswerLost if error.sent else RouteUnwritable)(f"{said}: {error}") from error
        except KeyRefused as error:
            raise RouteUnwritable(f"{said}: {error}") from error
        code = answer.rcode()
        if code == dns.rcode.SERVFAIL:
            raise AnswerLost(f"{said}: {self.primary} failed")
        if code != dns.rcode.NOERROR and code not in _OTHERWISE:
            raise RouteUnwritable(
                f"{said}: {self.primary} refuses updates of {self.zone} by this key ({dns.rcode.to_text(code)}): "
                f"permit it TXT, A, AAAA and CNAME of {self.name} and below, and name the primary server."
            )

    def _key(self) -> dns.tsig.Key:
        key = self.key()
        return dns.tsig.Key(key.name, key.secret, key.algorithm)

    def _answers(
        self, server: str, messages: Sequence[dns.message.Message], key: dns.tsig.Key | None, seconds: float
    ) -> list[dns.message.Message]:
        """Send messages to a server one after the other, by one connection."""
        ends, sent, answers = self.clock.monotonic() + seconds, False, []
        host, port = _host_and_port(server)
        try:
            with socket.create_connection((host, int(port)), timeout=seconds) as connection:
                connection.setblocking(False)
                for message in messages:
                    if key:
                        message.use_tsig(key)
                    sent = True
                    left = max(0.05, ends - self.clock.monotonic())
                    answers.append(dns.query.tcp(message, host, timeout=left, sock=connection))
        except (dns.tsig.PeerError, dns.tsig.BadSignature, dns.message.UnknownTSIGKey) as error:
            raise KeyRefused(
                f"{server} does not accept the TSIG key: check its name, secret and algorithm in the connection and on "
                "the server, and that both clocks agree within 5 minutes"
            ) from error
        except (dns.exception.Timeout, TimeoutError) as error:
            raise ServerUnanswered(_silent(server, "no answer came in time"), sent=sent) from error
        except ConnectionRefusedError as error:
            raise ServerUnanswered(_silent(server, "nothing that listens there answers"), sent=sent) from error
        except (OSError, EOFError, dns.exception.DNSException) as error:
            raise ServerUnanswered(_silent(server, "the connection was lost"), sent=sent) from error
        # RFC 8945, 5.4: an answer that is not signed may be anybody's.
        if key and not all(answer.had_tsig for answer in answers):
            raise KeyRefused(f"{server} answers without a signature: give it the TSIG key")
        return answers


def _silent(server: str, why: str) -> str:
    return f"the name server {server} gave no answer, because {why}: check its address, and that it runs"


def _host_and_port(server: str) -> tuple[str, str]:
    host, _, port = server.rpartition(":")
    if server.startswith("["):
        return host.strip("[]"), port
    return (host, port) if host and ":" not in host else (server, "53")


def _record(value: str) -> tuple[str, str]:
    try:
        return ("A" if ipaddress.ip_address(value).version == 4 else "AAAA"), ipaddress.ip_address(value).compressed
    except ValueError:
        return "CNAME", f"{value}."
