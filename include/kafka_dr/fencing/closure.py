"""One DENY of every operation instead of those of single ones: what it covers, and what of a fence is there.

A fence lists operations. On a cluster that has no business with an application, one DENY of the operation ALL for each
principal and resource says at least as much, and brokers look at fewer of them. So whoever asks whether a fence is
there, or lifts one, counts both kinds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission


def closing(deny: Acl) -> Acl:
    """Return the DENY of every operation that covers a DENY: for the same principal, resource and address."""
    return replace(deny, operation=AclOperation.ALL)


def whole(denies: Iterable[Acl]) -> frozenset[Acl]:
    """Return DENYs of every operation in place of some DENYs: one for each principal, resource and address."""
    return frozenset(map(closing, denies))


def of_either_kind(denies: Collection[Acl]) -> frozenset[Acl]:
    """Return DENYs, and those of every operation that cover them."""
    return frozenset(denies) | whole(denies)


def found_in(acls: Collection[Acl], denies: Collection[Acl]) -> frozenset[Acl]:
    """Return those of some ACLs that are among DENYs, or cover one of them."""
    among, there = frozenset(denies), frozenset(acls)
    # Thousands are looked at while applications wait, and mostly no DENY is of every operation.
    if not (covering := [acl for acl in there if _is_whole(acl)]):
        return among & there
    covered = {_about(deny) for deny in among}
    return (among & there).union(acl for acl in covering if _about(acl) in covered)


def lacking(wanted: Collection[Acl], present: Collection[Acl]) -> frozenset[Acl]:
    """Return the DENYs that are not there, neither themselves nor by one of every operation."""
    missing = frozenset(wanted) - frozenset(present)
    covered = {_about(acl) for acl in present if _is_whole(acl)} if missing else ()
    return frozenset(deny for deny in missing if _about(deny) not in covered)


def held(wanted: Collection[Acl], present: Collection[Acl]) -> frozenset[Acl]:
    """Return the DENYs that are there, by either kind."""
    return frozenset(wanted) - lacking(wanted, present)


def _is_whole(acl: Acl) -> bool:
    return acl.operation is AclOperation.ALL and acl.permission is AclPermission.DENY


def _about(acl: Acl) -> tuple[str, ...]:
    return (acl.resource, acl.name, acl.pattern, acl.principal, acl.host)
