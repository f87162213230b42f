"""Access rules in memory, of a cluster whose requests can be held up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafka_dr.access_rules.port import BeforeEach
from kafka_dr.clusters import Acl


class LateRules:
    """The access rules of west. A process is held up right before or right after one of its requests."""

    cluster, is_direct = "west", True

    def __init__(self) -> None:
        self.there: frozenset[Acl] = frozenset()
        self._held_up: tuple[int, Callable[[], object]] | None = None

    def hold_up(self, at: int, meanwhile: Callable[[], object]) -> None:
        """Let something happen at a point, counted from now: 0 before the first request, 1 after it, and so on."""
        self._held_up = at, meanwhile

    def _point(self) -> None:
        at, meanwhile = self._held_up or (0, lambda: None)
        self._held_up = (at - 1, meanwhile) if self._held_up and at else None
        if not at:
            meanwhile()

    def list(self) -> frozenset[Acl]:
        return self.there

    def leaving(self, _: frozenset[Acl]) -> frozenset[Acl]:
        return frozenset()

    coming = leaving

    def add(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        self._request(lambda: self.there | {*acls}, before_each)

    def remove(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        self._request(lambda: self.there - {*acls}, before_each)

    def _request(self, after: Callable[[], frozenset[Acl]], before_each: BeforeEach | None) -> None:
        if before_each:
            before_each()
        self._point()
        self.there = after()
        self._point()
