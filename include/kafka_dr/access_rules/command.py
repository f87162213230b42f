"""Access rules that a declared program lists, adds and removes: for clusters whose ACLs do not decide (IAM, RBAC).

The program gets one JSON document on its standard input and answers with one on its standard output::

    {"schema_version": 1, "action": "add", "cluster": "north", "group": "orders", "epoch": 4,
     "denies": [{"principal": "User:orders-app", "permission": "DENY", "resource_type": "topic", "name": "orders.",
                 "pattern": "prefixed", "operations": ["READ", "WRITE"], "host": "*"}]}

``action`` is ``list``, ``add`` or ``remove``. The answer to ``list`` is ``{"denies": […]}``, rows as above: what is
denied now for this group. The answer to the others is ``{}`` once they are done or under way. What is denied already,
or is not denied any more, is no error. An exit code other than 0 is a failure; the end of its standard error says why.

What the program says proves nothing: only writes that are refused to each principal do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.access_rules.port import BeforeEach
from kafka_dr.access_rules.rows import rows_of_rules, rules_of_row
from kafka_dr.clock import Clock
from kafka_dr.clusters import Acl, AclPermission
from kafka_dr.declared_program import run_program, said_by
from kafka_dr.durations import duration
from kafka_dr.errors import NeedsPerson, Refused, TryAgain
from kafka_dr.waiting import wait_until

SCHEMA_VERSION = 1
#: Between two starts of the program.
_PAUSE_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class CommandRules:
    """The DENYs of one protection group on one cluster, as a program lists and changes them.

    :param command: its path and its arguments
    :param seconds: how long a change may take until the program lists it
    """

    cluster: str
    group: str
    command: tuple[str, ...]
    clock: Clock
    seconds: float

    @property
    def is_direct(self) -> bool:
        """No: each change starts a program."""
        return False

    def list(self) -> frozenset[Acl]:
        """Return what the program says is denied now."""
        answer = self._ask("list", frozenset(), None)
        try:
            return frozenset(acl for row in answer["denies"] for acl in rules_of_row(row).values())
        except (KeyError, TypeError, ValueError) as error:
            raise self._senseless("list", error) from error

    def leaving(self, acls: frozenset[Acl]) -> frozenset[Acl]:
        """Return none: nothing else is known than what the program lists."""
        return frozenset()

    def coming(self, acls: frozenset[Acl]) -> frozenset[Acl]:
        """Return none, for the same reason."""
        return frozenset()

    def add(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        """Let the program add DENYs, and wait until it lists them."""
        wanted = frozenset(acls)
        if given := sorted(acl for acl in wanted if acl.permission is AclPermission.ALLOW):
            raise Refused(
                f"the program of {self.cluster} adds and removes DENYs alone, and {given[0]} was to be added: give it "
                "by the rules of the cluster itself"
            )
        if wanted:
            self._ask("add", wanted, before_each)
            self._wait("lists", lambda: wanted - self.list())

    def remove(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        """Let the program remove DENYs, and wait until it lists them no more."""
        gone = frozenset(acls)
        if gone:
            self._ask("remove", gone, before_each)
            self._wait("no longer lists", lambda: gone & self.list())

    def _wait(self, expected: str, left: Any) -> None:
        found: frozenset[Acl] = wait_until(
            left, lambda rest: not rest, clock=self.clock, seconds=self.seconds, pause_seconds=_PAUSE_SECONDS
        )
        if found:
            raise TryAgain(
                f"{self.command[0]} was to see to it that it {expected} {len(found)} DENYs on {self.cluster}, such as "
                f"{min(found)}, and that is not so after {duration(self.seconds)}: see what it waits for, then run the "
                "step again"
            )

    def _ask(self, action: str, denies: frozenset[Acl], before_each: BeforeEach | None) -> Mapping[str, Any]:
        document = {
            "schema_version": SCHEMA_VERSION,
            "action": action,
            "cluster": self.cluster,
            "group": self.group,
            "epoch": None if before_each is None else before_each(),
            "denies": rows_of_rules(denies),
        }
        answer = run_program(self.command, seconds=self.seconds, stdin=json.dumps(document).encode())
        if answer.code:
            raise TryAgain(
                f"{self.command[0]} was asked to {action} DENYs on {self.cluster} and ended with code {answer.code}: "
                f"{said_by(answer)}"
            )
        try:
            found = json.loads(answer.stdout)
        except ValueError as error:
            raise self._senseless(action, error) from error
        if not isinstance(found, dict):
            raise self._senseless(action, "no JSON object")
        return found

    def _senseless(self, action: str, why: object) -> NeedsPerson:
        return NeedsPerson(
            f"the answer of {self.command[0]} to {action} cannot be understood ({why}): expected the JSON document of "
            "include/guide/access-rules.md"
        )
