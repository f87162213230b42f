"""The interface of a cluster's access rules, as far as the fences of one protection group are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from kafka_dr.clusters import Acl

#: Called right before each change. It raises an error if the change may not be made any more, and returns the epoch of
#: the record that permits it.
BeforeEach = Callable[[], int]


class AccessRules(Protocol):
    """The access rules of one cluster.

    A call returns when what it changed is in force; until then it waits, for a limited time. A call that was
    interrupted anywhere can be made again.
    """

    @property
    def cluster(self) -> str:
        """The cluster's name in the topology."""

    @property
    def is_direct(self) -> bool:
        """Whether the brokers themselves are changed, so that each gets what is added first before what follows.

        If not, one change carries everything: two changes would take twice as long and prove no more.
        """

    def list(self) -> frozenset[Acl]:
        """Return the rules that are in force now.

        :raises TryAgain: they could not be read
        """

    def leaving(self, acls: frozenset[Acl]) -> frozenset[Acl]:
        """Return those of these rules in force that will not stay, as they are not written where rules are kept.

        :raises TryAgain: that could not be read
        """

    def coming(self, acls: frozenset[Acl]) -> frozenset[Acl]:
        """Return those of these rules that are written where rules are kept, and so will be in force.

        :raises TryAgain: that could not be read
        """

    def add(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        """Add rules. One that is there stays as it is.

        :param before_each: called right before each change; an error that it raises stops the call
        :raises TryAgain: they are not in force before the deadline
        """

    def remove(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        """Remove exactly these rules. A missing one is no error.

        :param before_each: called right before each change; an error that it raises stops the call
        :raises TryAgain: they are still in force at the deadline
        """
