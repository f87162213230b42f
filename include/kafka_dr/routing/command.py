"""A route that a declared program reads and switches: for gateways, load balancers and name services of providers.

The program gets one JSON document on its standard input and answers with one on its standard output::

    {"schema_version": 1, "action": "switch", "group": "orders", "expected": null,
     "route": {"schema_version": 1, "group": "orders", "active": "east", …}}

``action`` is ``read``, ``switch``, ``try_out`` or ``remove``. The answer to ``read`` is ``{"route": …}``, the route as
it was given, or null. ``switch`` stores the route if the stored one is ``expected``, and changes nothing otherwise. The
answer to all but ``read`` is ``{}``. An exit code other than 0 is a failure; the end of its standard error says why.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.clock import Clock, SystemClock
from kafka_dr.declared_program import run_program, said_by
from kafka_dr.errors import KafkaDrError, OutcomeUnknown, Refused
from kafka_dr.json_documents import parsed
from kafka_dr.routing.compare_and_set import AnswerLost, switch_in
from kafka_dr.routing.route import SCHEMA_VERSION, Route, RouteSilent, RouteUnreadable, RouteUnwritable


class RouteProgramFailed(KafkaDrError):
    """The program ended with another code than 0, or not in time; what it was asked for may be done."""


@dataclass(frozen=True, slots=True)
class CommandRouter:
    """A route that a program keeps.

    :param program: its path and its arguments
    :param group: the protection group, by which the program finds the route
    :param seconds: how long it may take for one question, and all tries of a switch
    """

    program: tuple[str, ...]
    group: str
    clock: Clock = field(default_factory=SystemClock)
    seconds: float = 10.0

    def read(self) -> Route | None:
        """Return the route that the program reads."""
        return self.look()[0]

    def switch(self, *, expected_epoch: int | None, route: Route) -> None:
        """Let the program store a route by compare-and-set on what was read."""
        switch_in(self, route, expected_epoch=expected_epoch, clock=self.clock, seconds=self.seconds)

    def look(self) -> tuple[Route | None, Any]:
        """Return the route, and what the program says."""
        try:
            found = self._ask("read")["route"]
            stored = json.dumps(found).encode()
            return None if found is None else parsed(stored, Route.from_part, schema=SCHEMA_VERSION), found
        except RouteProgramFailed as error:
            raise RouteSilent(f"The route of {self.group} cannot be read: {error}") from error
        except (ValueError, LookupError, TypeError) as error:
            raise RouteUnreadable(
                f"The answer of {self.program[0]} to read is no route: expected the JSON of include/guide/routes.md, "
                "as it was given to the program; compare it with the DR register, and correct what the program reads."
            ) from error

    def put(self, seen: Any, route: Route) -> None:
        """Let the program store a route in the stead of the one that it has read."""
        try:
            self._ask("switch", expected=seen, route=route.to_json())
        except RouteProgramFailed as error:
            raise AnswerLost(str(error)) from error
        except Refused as error:
            raise RouteUnwritable(f"The route of {self.group} cannot be written: {error}") from error

    def try_out(self) -> None:
        """Let the program say whether it could switch the route now."""
        self._change("try_out")

    def shown_by(self) -> tuple[str, ...]:
        """Return the command that shows what the program reads."""
        return (f"printf %s {shlex.quote(self._question('read'))} | {shlex.join(self.program)}",)

    def by_hand(self, route: Route) -> tuple[str, ...]:
        """Return none: what the program changes is known to its owners."""
        return ()

    def remove(self) -> None:
        """Let the program remove the route."""
        self._change("remove")

    def remains(self) -> tuple[str, ...]:
        """Return the route by its group, if the program reads one."""
        return () if self.look()[1] is None else (f"the route of {self.group} that {self.program[0]} reads",)

    def _change(self, action: str) -> None:
        try:
            self._ask(action)
        except (RouteProgramFailed, Refused) as error:
            raise RouteUnwritable(f"The route of {self.group} cannot be written: {error}") from error

    def _question(self, action: str, **more: Any) -> str:
        return json.dumps({"schema_version": SCHEMA_VERSION, "action": action, "group": self.group, **more})

    def _ask(self, action: str, **more: Any) -> Any:
        """Return what the program answers; anything but JSON is a failure as well.

        :raises RouteProgramFailed: it failed, or did not end in time
        """
        try:
            end = run_program(self.program, seconds=self.seconds, stdin=self._question(action, **more).encode())
        except OutcomeUnknown as error:
            raise RouteProgramFailed(str(error)) from error
        if end.code:
            raise RouteProgramFailed(f"{self.program[0]} ended {action} with code {end.code}: {said_by(end)}")
        return json.loads(end.stdout) if action == "read" else {}
