"""How ACLs, quotas and users differ, and what may be done about it.

The standby holds the applications' rights *and* the fence's DENYs on top of them: what the fence does not stop must
never be allowed there, and nothing that is part of a fence is ever added or removed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kafka_dr.clusters.configuration import QuotaEntity
from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.config_sync.items import AddAcl, Item, ItemKind, ItemVerdict, RemoveAcl, SetQuota
from kafka_dr.config_sync.register_rights import RegisterRights
from kafka_dr.config_sync.scope import Belongs, Scope
from kafka_dr.config_sync.snapshot import ACLS, QUOTAS, USERS, Snapshot
from kafka_dr.fencing.authorizer import EVERYONE

#: What looks without changing anything, and shows no record's content.
_LOOKS = frozenset({AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS})
_CHANGES = frozenset(AclOperation) - _LOOKS - {AclOperation.READ}
_WRITTEN = (ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID)
#: What a fence denies so that nobody works; what else it denies keeps the copy as it is.
_WORK = frozenset({AclOperation.READ, AclOperation.WRITE, AclOperation.ALL})
#: What opens nothing by itself, whoever may do it: to write, a topic has to be allowed as well.
_HARMLESS = _LOOKS | {AclOperation.IDEMPOTENT_WRITE}
#: On the cluster, what adds and removes ACLs, or speaks as a broker does.
_RULES = frozenset({AclOperation.ALL, AclOperation.ALTER, AclOperation.CLUSTER_ACTION})


def compare_acls(
    active: Snapshot, standby: Snapshot, scope: Scope, fence: Collection[Acl], reaching: RegisterRights
) -> Iterator[Item]:
    """Yield each ACL that one cluster has and the other has not.

    :param fence: every DENY that can make the standby's fence, whether or not it is known who added it
    :param reaching: knows which rights reach the register
    """
    if (unknown := _unknown(ItemKind.ACL, ACLS, active, standby)) is not None:
        yield unknown
        return
    if (undecided := _not_by_acls(active, standby)) is not None:
        yield undecided
        return
    for acl in sorted(active.acls - standby.acls):
        if (belongs := scope.acl(acl)) is not Belongs.OTHERS:
            verdict, reason = _adding(acl, belongs, scope, fence)
            if verdict is not ItemVerdict.NEVER and (opened := reaching.opened_by(acl)):
                verdict, reason = ItemVerdict.NEVER, f"added here, it would open the register: {opened}"
            verdict, reason = _by_their_owners(verdict, reason, standby)
            change = None if verdict is ItemVerdict.NEVER else AddAcl(acl)
            yield Item(ItemKind.ACL, str(acl), acl_host(acl), "there", None, verdict, reason, change=change)
    for acl in sorted(standby.acls - active.acls):
        if (belongs := scope.acl(acl)) is not Belongs.OTHERS:
            verdict, reason = _by_their_owners(*_removing(acl, belongs, fence), standby)
            removal = None if verdict is ItemVerdict.NEVER else RemoveAcl(acl)
            yield Item(ItemKind.ACL, str(acl), acl_host(acl), None, "there", verdict, reason, change=removal)


def _not_by_acls(active: Snapshot, standby: Snapshot) -> Item | None:
    """Return the row of clusters whose ACLs cannot be compared, as those of one decide nothing."""
    names = " and ".join(snapshot.cluster for snapshot in (active, standby) if not snapshot.acls_decide)
    if not names:
        return None
    reason = f"ACLs do not decide on {names}: see by its own rules that applications may do the same on both clusters"
    return Item(ItemKind.ACL, "ACLs", "", None, None, ItemVerdict.NOTE, reason)


def _by_their_owners(verdict: ItemVerdict, reason: str, standby: Snapshot) -> tuple[ItemVerdict, str]:
    """Return who may change it: whoever keeps the rules of the standby somewhere else would undo a change here."""
    if verdict is ItemVerdict.NEVER or not standby.rules_in:
        return verdict, reason
    return ItemVerdict.NEVER, f"the access rules of {standby.cluster} are kept in {standby.rules_in}: change it there"


def acl_host(acl: Acl) -> str:
    """Return what an ACL says about addresses, where it says anything."""
    return "" if acl.host == "*" else f"from {acl.host}"


def _adding(acl: Acl, belongs: Belongs, scope: Scope, fence: Collection[Acl]) -> tuple[ItemVerdict, str]:
    if acl in fence and acl.operation in _WORK:
        return ItemVerdict.NEVER, "it is what the standby's fence is made of: added here, it would never be lifted"
    if acl in fence:
        return ItemVerdict.NEVER, "the standby's fence holds it, and is lifted with it: add it by hand after a switch"
    if belongs is Belongs.REACHES_FURTHER:
        return ItemVerdict.NEVER, "it reaches beyond this protection group: add it by hand if the standby is to have it"
    if acl.permission is AclPermission.DENY:
        if acl.principal == EVERYONE:
            return ItemVerdict.NEVER, "it denies everybody, replication among them: name the principals that are meant"
        return ItemVerdict.SAFE, "what the active cluster refuses, the standby refuses too"
    if scope.is_application(acl.principal):
        return _allowing(acl, fence)
    if acl.operation in _LOOKS:
        return ItemVerdict.SAFE, "it only looks"
    if acl.operation in _CHANGES and acl.resource in _WRITTEN:
        return ItemVerdict.NEVER, f"no fence stops {acl.principal}: declare it among the group's principals first"
    return ItemVerdict.APPROVAL, f"{acl.principal} is not declared, so it could do this on the standby at once"


def _allowing(acl: Acl, fence: Collection[Acl]) -> tuple[ItemVerdict, str]:
    """Judge a right of one of the group's applications: unasked, only what the fence stops until it is lifted."""
    if acl.resource is ResourceType.CLUSTER and acl.operation in _RULES:
        return (
            ItemVerdict.NEVER,
            f"with it {acl.principal} could take away the fence itself: take it away, or give it by hand",
        )
    if acl.operation in _HARMLESS or any(_stops(deny, acl) for deny in fence):
        return ItemVerdict.SAFE, "needed after a switch; until then the standby's fence lies on top"
    return (
        ItemVerdict.APPROVAL,
        f"no DENY of the standby's fence stops this, so {acl.principal} could do it there at once",
    )


def _stops(deny: Acl, allow: Acl) -> bool:
    """Return whether a DENY refuses all that an ALLOW permits; one of ALL permits more than any single DENY refuses.

    Whether the fence has a DENY of ALL is not known here: it may be made of single ones.
    """
    about = (deny.resource, deny.principal, deny.operation) == (allow.resource, allow.principal, allow.operation)
    if not about or deny.operation is AclOperation.ALL or deny.host not in ("*", allow.host):
        return False
    if deny.pattern is PatternType.PREFIXED:
        return allow.name.startswith(deny.name)
    return (deny.pattern, deny.name) == (allow.pattern, allow.name)


def _removing(acl: Acl, belongs: Belongs, fence: Collection[Acl]) -> tuple[ItemVerdict, str]:
    if acl in fence:
        return ItemVerdict.NEVER, "it is part of the standby's fence, though the register does not know who added it"
    if belongs is Belongs.REACHES_FURTHER:
        return ItemVerdict.NEVER, "it reaches beyond this protection group: remove it by hand if nobody needs it"
    if acl.permission is AclPermission.DENY:
        return ItemVerdict.APPROVAL, "removing a DENY loosens the standby"
    return ItemVerdict.APPROVAL, "the active cluster does not allow this; removing a right may stop somebody"


def compare_quotas(active: Snapshot, standby: Snapshot, scope: Scope) -> Iterator[Item]:
    """Yield each client quota that differs."""
    if (unknown := _unknown(ItemKind.QUOTA, QUOTAS, active, standby)) is not None:
        yield unknown
        return
    limited = active.quotas.keys() | standby.quotas.keys()
    for entity, key in sorted(limited, key=lambda limit: (str(limit[0]), limit[1])):
        wanted, found = active.quotas.get((entity, key)), standby.quotas.get((entity, key))
        belongs = scope.quota(entity)
        if wanted == found or belongs is Belongs.OTHERS:
            continue
        verdict, reason = _limiting(entity, belongs, wanted, found)
        change = SetQuota(entity, key, wanted)
        shown = (_number(wanted), _number(found))
        yield Item(ItemKind.QUOTA, str(entity), key, *shown, verdict, reason, change=change)


def _limiting(
    entity: QuotaEntity, belongs: Belongs, wanted: float | None, found: float | None
) -> tuple[ItemVerdict, str]:
    if belongs is Belongs.REACHES_FURTHER and entity.user:
        return ItemVerdict.APPROVAL, f"it counts in other protection groups, too, which also declare User:{entity.user}"
    if belongs is Belongs.REACHES_FURTHER:
        return ItemVerdict.APPROVAL, f"it counts for everybody's clients ({entity}), replication's among them"
    if wanted is None:
        return ItemVerdict.APPROVAL, "removing a limit loosens the standby"
    if found is not None and wanted > found:
        return ItemVerdict.APPROVAL, "raising a limit loosens the standby"
    return ItemVerdict.SAFE, "the application would meet the same limit after a switch"


def compare_users(active: Snapshot, standby: Snapshot, scope: Scope) -> Iterator[Item]:
    """Yield each application that could not log in on the standby as it does on the active cluster."""
    if (unknown := _unknown(ItemKind.USER, USERS, active, standby)) is not None:
        yield unknown
        return
    for user in sorted(active.users - standby.users):
        if scope.user(user.name):
            reason = "secrets cannot be copied: create it on the standby with kafka-configs"
            yield Item(ItemKind.USER, user.name, user.mechanism, "there", None, ItemVerdict.NEVER, reason, blocks=True)


def _unknown(kind: ItemKind, section: str, active: Snapshot, standby: Snapshot) -> Item | None:
    reasons = [snapshot.unknown[section] for snapshot in (active, standby) if section in snapshot.unknown]
    if not reasons:
        return None
    return Item(kind, section, "", None, None, ItemVerdict.UNKNOWN, "; ".join(reasons), blocks=True)


def _number(limit: float | None) -> str | None:
    return None if limit is None else f"{limit:.15g}"
