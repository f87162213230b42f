"""A route in one key of etcd, as the JSON that a file would hold.

A switch is one transaction that puts the new value only if ``mod_revision`` of the key is the one that was read (etcd's
API reference, ``KV.Txn`` and ``Compare``). Requests go to the JSON gateway of API version 3, where keys and values are
base64.
"""

from __future__ import annotations

import json
import shlex
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.clock import Clock, SystemClock
from kafka_dr.json_documents import parsed
from kafka_dr.routing.compare_and_set import DEADLINE_SECONDS, AnswerLost, switch_in
from kafka_dr.routing.etcd_api import EtcdApi, EtcdRefused, EtcdUnanswered
from kafka_dr.routing.route import SCHEMA_VERSION, Route, RouteSilent, RouteUnreadable, RouteUnwritable


@dataclass(frozen=True, slots=True)
class EtcdRouter:
    """A route kept in etcd, which applications watch.

    :param key: the whole key
    :param api: returns how etcd is asked; it may raise :class:`Refused`
    :param further: addresses of members in addition to that of the connection
    :param seconds: the deadline of a look, over all members, and of all tries of a switch
    """

    key: str
    api: Callable[[], EtcdApi]
    further: tuple[str, ...] = ()
    clock: Clock = field(default_factory=SystemClock)
    seconds: float = DEADLINE_SECONDS

    def read(self) -> Route | None:
        """Return the stored route, or None if there is no key."""
        return self.look()[0]

    def switch(self, *, expected_epoch: int | None, route: Route) -> None:
        """Store a route by compare-and-set on the epoch."""
        switch_in(self, route, expected_epoch=expected_epoch, clock=self.clock, seconds=self.seconds)

    def look(self) -> tuple[Route | None, int]:
        """Return the stored route and the revision at which its key was changed; 0: there is no key."""
        found = self._found()
        if found is None:
            return None, 0
        try:
            return parsed(b64decode(found.get("value", "")), Route.from_part, schema=SCHEMA_VERSION), _revision(found)
        except ValueError as error:
            raise RouteUnreadable(
                f"The key {self.key} of etcd holds no route: expected one JSON object as this tool writes it; compare "
                "it with the DR register, and correct or delete the key by hand."
            ) from error

    def put(self, seen: int, route: Route) -> None:
        """Put the route if the key was not changed since."""
        self._change(seen, {"request_put": {"key": _sent(self.key), "value": _sent(_text(route))}})

    def try_out(self) -> None:
        """Send a transaction whose comparison never holds: etcd checks the right to write all the same."""
        try:
            self._change(-1, {"request_put": {"key": _sent(self.key), "value": ""}})
        except AnswerLost as error:
            raise RouteUnwritable(str(error)) from error

    def shown_by(self) -> tuple[str, ...]:
        """Return the commands that show the key and the members."""
        return (f"{self._etcdctl} get {shlex.quote(self.key)}", f"{self._etcdctl} endpoint status")

    def by_hand(self, route: Route) -> tuple[str, ...]:
        """Return the command that puts the key; the login comes by the environment."""
        stored = shlex.quote(_text(route))
        return (f"{self._etcdctl} put {shlex.quote(self.key)} {stored}",)

    def remove(self) -> None:
        """Delete the key."""
        try:
            self._ask("kv/deleterange", {"key": _sent(self.key)})
        except (EtcdRefused, EtcdUnanswered) as error:
            raise RouteUnwritable(f"The key {self.key} cannot be deleted: {error}") from error

    def remains(self) -> tuple[str, ...]:
        """Return the key, if it exists."""
        return () if self._found() is None else (f"the key {self.key} of etcd",)

    def _found(self) -> Mapping[str, Any] | None:
        try:
            rows = self._ask("kv/range", {"key": _sent(self.key)}).get("kvs", [])
        except EtcdUnanswered as error:
            raise RouteSilent(f"The route in the key {self.key} cannot be read: {error}") from error
        except EtcdRefused as error:
            raise RouteUnreadable(f"The route in the key {self.key} cannot be read: {error}") from error
        return rows[0] if rows else None

    def _change(self, seen: int, change: Mapping[str, Any]) -> None:
        same = {"key": _sent(self.key), "target": "MOD", "result": "EQUAL", "mod_revision": str(seen)}
        try:
            self._ask("kv/txn", {"compare": [same], "success": [change]})
        except EtcdRefused as error:
            raise RouteUnwritable(f"The route in the key {self.key} cannot be written: {error}") from error
        except EtcdUnanswered as error:
            said = f"The route in the key {self.key} cannot be written: {error}"
            raise (AnswerLost if error.sent else RouteUnwritable)(said) from error

    def _ask(self, what: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.api().ask(what, body, further=self.further, seconds=self.seconds, clock=self.clock)

    @property
    def _etcdctl(self) -> str:
        """The program, and what it needs of the connection but the password."""
        endpoint = self.api().endpoint
        options = [f"--endpoints={','.join((endpoint.base_url, *self.further))}"]
        tls = endpoint.tls
        files = {"cacert": tls.ca_file, "cert": tls.certificate_file, "key": tls.key_file or tls.certificate_file}
        options += [f"--{name}={path}" for name, path in files.items() if path]
        # etcdctl takes a login from this variable; as an argument, everybody on the machine could see it.
        login = ': "${ETCDCTL_USER:?set it to NAME:PASSWORD and export it}"; ' if endpoint.username else ""
        return f"{login}ETCDCTL_API=3 {shlex.join(['etcdctl', *options])}"


def _text(route: Route) -> str:
    return json.dumps(route.to_json(), sort_keys=True)


def _sent(text: str) -> str:
    return b64encode(text.encode()).decode()


def _revision(found: Mapping[str, Any]) -> int:
    # Numbers of 64 bits are texts in the JSON of protocol buffers.
    return int(found["mod_revision"])
