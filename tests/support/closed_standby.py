"""A standby whose fence is made of DENYs of every operation, as ``dr_health`` makes it."""

from __future__ import annotations

from kafka_dr.clusters import Acl, AclPermission
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import lacking, whole
from kafka_dr.health.health_check import check_health
from support import outside_view
from support.protection import Protection
from support.switched_group import SwitchedGroup

#: The first look announces it in the register, the second one replaces DENYs, the third one finds nothing left to do.
_LOOKS = 3


def fewer(protection: Protection) -> frozenset[Acl]:
    """Return all DENYs of such a fence; the probe keeps its own."""
    group = protection.group
    return whole(plan.application_denies(group)) | plan.probe_fence(group) | plan.probe_freeze(group)


def close(group: SwitchedGroup) -> None:
    """Let dr_health look until it has nothing more to replace."""
    for _ in range(_LOOKS):
        with group.protection.clients() as clients:
            watched = check_health(group.name, clients)
        assert watched.outcome in ("ok", "excused"), watched.sentences
    assert watched.outcome == "ok", watched.sentences
    assert outside_view.denies(group.protection, group.standby) == fewer(group.protection) | group.foreign_on(
        group.standby
    )


def assert_nobody_is_let_in_twice(protection: Protection) -> None:
    """No application may write to a resource on both clusters."""
    group = protection.group
    fence = plan.write_fence(group) | plan.transaction_fence(group)
    east, west = (lacking(fence, outside_view.denies(protection, cluster)) for cluster in ("east", "west"))
    assert not east & west


def rights_of_others(protection: Protection) -> dict[str, frozenset[Acl]]:
    """Return what the owners of applications have been given on each cluster: nothing of it is ever touched."""
    return {
        cluster: frozenset(
            acl for acl in outside_view.acls_of(protection, cluster) if acl.permission is AclPermission.ALLOW
        )
        for cluster in ("east", "west")
    }
