"""Access rules that are written somewhere else and applied by somebody else: the brokers' own lists show when.

The ACLs still decide. So a change is written as the whole state that is wanted, by compare-and-set, and then every
broker is asked for its own list until all of them show it. A broker decides by the list that it shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from kafka_dr.access_rules.port import BeforeEach
from kafka_dr.clock import Clock
from kafka_dr.clusters import Acl, AclPermission, ClusterUnreachable, KafkaCluster
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import TryAgain
from kafka_dr.waiting import wait_until


class RuleStore(Protocol):
    """Where the rules that are wanted are written, as far as one protection group is concerned."""

    @property
    def where(self) -> str:
        """What a person looks at: a file, or resources."""

    @property
    def pause_seconds(self) -> float:
        """How long to pause between two looks."""

    def read(self) -> frozenset[Acl]:
        """Return the rules that are written.

        :raises TryAgain: it does not answer
        :raises NeedsPerson: what is there cannot be understood
        """

    def change(self, *, adding: frozenset[Acl], removing: frozenset[Acl], before_each: BeforeEach | None) -> None:
        """Write rules, or do nothing if all is written already; what others write at the same time stays.

        :param before_each: called right before each write; returns the epoch of the record that permits it
        :raises Refused: a newer epoch has written there; nothing was changed
        """

    def apply(self, *, seconds: float) -> None:
        """Let what is written be applied, where a program has to be started for that; it may be called again.

        :param seconds: how long that may take
        :raises TryAgain: whoever applies it failed
        """

    def waits_for(self) -> str:
        """Return what has not happened yet to what is written, as far as it is known; empty if nothing is known."""


@dataclass(frozen=True, slots=True)
class DesiredRules:
    """The ACLs of a cluster, changed where they are kept.

    :param reached: the cluster, reached as the operator, which needs no ALTER
    :param seconds: how long a change may take until every broker has it
    """

    reached: KafkaCluster
    store: RuleStore
    clock: Clock
    seconds: float

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self.reached.name

    @property
    def is_direct(self) -> bool:
        """No: somebody else changes the brokers, in an order of their own."""
        return False

    def list(self) -> frozenset[Acl]:
        """Return every ACL of the cluster, as one broker shows them."""
        return self.reached.acls.list()

    def leaving(self, acls: frozenset[Acl]) -> frozenset[Acl]:
        """Return those that are not written where rules are kept."""
        return acls - self.store.read()

    def coming(self, acls: frozenset[Acl]) -> frozenset[Acl]:
        """Return those that are written where rules are kept."""
        return acls & self.store.read()

    def add(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        """Write ACLs, and wait until every broker has them."""
        self._bring_about(frozenset(acls), frozenset(), before_each)

    def remove(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        """Write that ACLs are not wanted any more, and wait until no broker has them."""
        self._bring_about(frozenset(), frozenset(acls), before_each)

    def _bring_about(self, adding: frozenset[Acl], removing: frozenset[Acl], before_each: BeforeEach | None) -> None:
        if not adding and not removing:
            return
        applied: list[bool] = []
        until = self.clock.monotonic() + self.seconds

        def look() -> str:
            written = self.store.read()
            unwritten = bool(adding - written or removing & written)
            if unwritten:
                # Also if it was written a moment ago: whoever wrote there since has not seen it.
                self.store.change(adding=adding, removing=removing, before_each=before_each)
            lacking = self._lacking(adding, removing)
            # A process that wrote it may have died before it let anybody apply it.
            if unwritten or (lacking and not applied):
                self.store.apply(seconds=max(1.0, until - self.clock.monotonic()))
                applied.append(True)
                lacking = lacking or self._lacking(adding, removing)
            return lacking or self.store.waits_for()

        left = wait_until(
            look,
            lambda lacking: not lacking,
            clock=self.clock,
            seconds=self.seconds,
            pause_seconds=self.store.pause_seconds,
            retry=ClusterUnreachable,
        )
        if left:
            raise TryAgain(
                f"{left}, {duration(self.seconds)} after {self.store.where} says so: see whether what applies it "
                "works, then run the step again"
            )

    def _lacking(self, adding: frozenset[Acl], removing: frozenset[Acl]) -> str:
        """Say which broker does not have a change yet; empty if all have it."""
        only_denies = all(acl.permission is AclPermission.DENY for acl in adding | removing)
        for broker, found in self.reached.acls_of_brokers.list(only_denies=only_denies).items():
            if missing := adding - found:
                return f"broker {broker} of {self.cluster} lacks {_counted(missing)}"
            if left := removing & found:
                return f"broker {broker} of {self.cluster} still has {_counted(left)}"
        return ""


def _counted(acls: frozenset[Acl]) -> str:
    return f"{counted(len(acls), 'rule')}, such as {min(acls)}"
