"""The ACLs that this project added to a cluster, as a register keeps them: only these may ever be lifted.

A request to add an ACL can be held up and arrive after the ACL was lifted. So what was lifted is remembered as added by
this project, until a later epoch changes the record.

DENYs also have to last. If whatever else applies access rules removes them, the register knows when that was seen.

Each register has a copy of the record of the other cluster. A cluster that is given up may live while its own register
has no leader, is gone or takes no records: what is added there is recorded in the copy, which is ``ahead`` until the
cluster's own register can be written again. A register that was lost gets its record back from the copy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, TypeAlias

from kafka_dr.causes import cause
from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.codec import InForm, StoredDocument, stored
from kafka_dr.errors import NeedsPerson

UNREADABLE = "the register's record of added ACLs cannot be read"


#: How many removals by others are remembered.
_REMOVALS = 5


@dataclass(frozen=True, slots=True)
class Lasting(StoredDocument):
    """Whether what this project adds stays on the cluster; times are aware.

    :param since: when something was added last
    :param outlived: when what was added was last seen to have outlasted a comparison of all rules
    :param removed: when what was added was found to be gone although nobody here had lifted it, the newest last
    :param took_seconds: how long the newest change of rules that are kept elsewhere took, until every broker had it
    """

    since: datetime | None = field(default=None, metadata=stored(omitted=True))
    outlived: datetime | None = field(default=None, metadata=stored(omitted=True))
    removed: tuple[datetime, ...] = field(default=(), metadata=stored(omitted=True))
    took_seconds: float | None = field(default=None, metadata=stored(omitted=True))


@dataclass(frozen=True, slots=True)
class _Entry:
    """ACLs that are equal but for their names, principals and operations."""

    resource: ResourceType
    pattern: PatternType
    permission: AclPermission
    host: str
    names: tuple[str, ...]
    who: tuple[tuple[str, AclOperation], ...]

    def acls(self) -> Iterator[Acl]:
        """Yield them one by one."""
        for name in self.names:
            for principal, operation in self.who:
                yield Acl(self.resource, name, self.pattern, principal, operation, self.permission, self.host)


_Of: TypeAlias = tuple[ResourceType, PatternType, AclPermission, str]


def _entries(acls: Collection[Acl]) -> tuple[_Entry, ...]:
    """Return ACLs in a fixed order, with one entry for all names that have equal ACLs.

    A fence denies the same operations to the same principals on many names: 27,000 DENYs fit into one record of a few
    kilobytes, which is written before each change of a fence.
    """
    by_resource: dict[tuple[_Of, str], list[tuple[str, AclOperation]]] = {}
    for acl in sorted(acls):
        of = (acl.resource, acl.pattern, acl.permission, acl.host)
        by_resource.setdefault((of, acl.name), []).append((acl.principal, acl.operation))
    equal: dict[tuple[_Of, tuple[tuple[str, AclOperation], ...]], list[str]] = {}
    for (of, name), who in by_resource.items():
        equal.setdefault((of, tuple(who)), []).append(name)
    return tuple(_Entry(*of, tuple(names), who) for (of, who), names in equal.items())


_Acls: TypeAlias = Annotated[
    frozenset[Acl],
    InForm(tuple[_Entry, ...], _entries, lambda found: frozenset(acl for each in found for acl in each.acls())),
]


@dataclass(frozen=True, slots=True)
class AddedAcls(StoredDocument):
    """What this project added to one cluster for one group.

    :param current: added, or about to be added
    :param lifted: lifted in ``epoch``; a request that was held up may still add them again
    :param epoch: of the register's record at the newest change: when the newest ACLs were added or lifted
    :param lasting: whether what was added stayed on the cluster
    :param ahead: of a copy: those of ``current`` that the cluster's own register may not list yet
    :param revision: how often the cluster's own register has changed it; of a copy: which one that is
    """

    current: _Acls = field(default=frozenset(), metadata=stored("fences"))
    lifted: _Acls = field(default=frozenset(), metadata=stored(omitted=True))
    epoch: int = field(default=0, metadata=stored(omitted=True))
    lasting: Lasting = field(default_factory=Lasting, metadata=stored(omitted=True))
    ahead: _Acls = field(default=frozenset(), metadata=stored(omitted=True))
    revision: int = field(default=0, compare=False, metadata=stored(omitted=True))

    def adding(self, acls: Collection[Acl], *, epoch: int, at: datetime | None = None) -> AddedAcls:
        """Return the record before ACLs are added; lifted ones that are asked for again count as added.

        :param at: now, aware; ``None``: how long they stay is of no interest
        """
        added = frozenset(acls)
        return replace(
            self,
            current=self.current | added,
            lifted=self.remembered(epoch) - added,
            epoch=max(epoch, self.epoch),
            lasting=self.lasting if at is None else replace(self.lasting, since=at),
            ahead=self.ahead | added,
        )

    def lifting(self, acls: Collection[Acl], *, epoch: int) -> AddedAcls:
        """Return the record after ACLs were lifted."""
        gone = frozenset(acls)
        return replace(
            self, current=self.current - gone, lifted=self.remembered(epoch) | gone, epoch=max(epoch, self.epoch)
        )

    def found_removed(self, at: datetime) -> AddedAcls:
        """Return the record after others had removed what was added here; it is added again.

        :param at: now, aware
        """
        removed = (*self.lasting.removed, at)[-_REMOVALS:]
        return replace(self, lasting=replace(self.lasting, removed=removed, outlived=None))

    def found_outlived(self, at: datetime) -> AddedAcls:
        """Return the record after what was added was seen to have outlasted a comparison of all rules."""
        return replace(self, lasting=replace(self.lasting, outlived=at))

    def found_slow(self, seconds: float) -> AddedAcls:
        """Return the record after a change that took so many seconds until every broker had it."""
        return replace(self, lasting=replace(self.lasting, took_seconds=round(seconds, 3)))

    def after(self, change: Callable[[AddedAcls], AddedAcls]) -> AddedAcls:
        """Return the record of the cluster's own register after a change, which is counted."""
        changed = replace(change(self), ahead=frozenset())
        return changed if changed == self else replace(changed, revision=changed.revision + 1)

    def as_copy(self, before: AddedAcls) -> AddedAcls:
        """Return the record after a change that only the copy of another cluster's register has taken so far.

        :param before: the copy before that change
        """
        return replace(self, ahead=(self.ahead | (self.current - before.current)) & self.current)

    def with_copy(self, copy: AddedAcls) -> AddedAcls:
        """Return what this project added, by the cluster's own register and by the copy of it in another one.

        A record that holds nothing, or was changed less often than its copy, was lost: then all of the copy counts.
        What was lifted here can have been added to the copy again, in a later epoch.
        """
        lost = self == AddedAcls() or self.revision < copy.revision
        missed = (copy.current if lost else copy.ahead) - self.remembered(copy.epoch)
        lifted = self.lifted - missed
        return replace(
            self,
            current=self.current | missed,
            lifted=lifted,
            epoch=self.epoch if lifted else max(self.epoch, copy.epoch),
            lasting=copy.lasting if lost and self.lasting == Lasting() else self.lasting,
            revision=max(self.revision, copy.revision),
        )

    def remembered(self, epoch: int) -> frozenset[Acl]:
        """Return what was lifted and still counts as this project's; from the next epoch on another owner added it."""
        return self.lifted if epoch <= self.epoch else frozenset()

    def value(self) -> bytes:
        """Return the record's value."""
        return json.dumps(self.to_json(), separators=(",", ":")).encode()

    @classmethod
    def of_value(cls, value: bytes) -> AddedAcls:
        """Read what :meth:`value` returned.

        :raises NeedsPerson: it cannot be read
        """
        try:
            return cls.from_part(json.loads(value))
        except ValueError as error:
            raise NeedsPerson(f"{UNREADABLE}: {cause(error)}") from error
