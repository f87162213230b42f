from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.configuration import QuotaEntity, ScramUser
from kafka_dr.config_sync.items import AddAcl, ItemKind, ItemVerdict, RemoveAcl, SetQuota
from kafka_dr.config_sync.plan import make_plan
from kafka_dr.config_sync.register_rights import REGISTER_RIGHT
from kafka_dr.fencing import plan as fences
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.fencing.closure import of_either_kind
from kafka_dr.topology.model import ProtectionGroup
from support.config_snapshots import APP, OTHER_APP, STRANGER, acl, side, topic

DENY, LITERAL = AclPermission.DENY, PatternType.LITERAL
RATE = "producer_byte_rate"


CHANGES_THE_COPY = (
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.ALTER,
    AclOperation.ALTER_CONFIGS,
)


def cluster(operation: AclOperation) -> Acl:
    return acl(name="kafka-cluster", resource=ResourceType.CLUSTER, pattern=LITERAL, operation=operation)


ALLOWED_TO_APPLICATIONS = st.builds(
    Acl,
    st.sampled_from(ResourceType),
    st.sampled_from(["orders.", "orders.payments", "*", "orders-", "billing-", "o", "kafka-cluster", ""]),
    st.sampled_from(PatternType),
    st.sampled_from([APP, OTHER_APP]),
    st.sampled_from(AclOperation),
    st.just(AclPermission.ALLOW),
)


def rows(planned: Any, here: list[Acl], there: list[Acl]) -> list[Any]:
    plan = planned(side("east", topic(), acls=frozenset(here)), side("west", topic(), acls=frozenset(there)))
    return [row for row in plan.items if row.kind is ItemKind.ACL and row.key != REGISTER_RIGHT]


@pytest.mark.parametrize(
    "needed",
    [
        acl(),
        acl(operation=AclOperation.READ),
        acl(name="orders.payments", pattern=LITERAL),
        acl(name="orders.eu-"),
        acl(name="*", pattern=LITERAL, operation=AclOperation.DESCRIBE),
        acl(name="orders-", resource=ResourceType.GROUP, operation=AclOperation.READ),
        acl(name="billing-", resource=ResourceType.TRANSACTIONAL_ID),
        cluster(AclOperation.IDEMPOTENT_WRITE),
        cluster(AclOperation.DESCRIBE),
        acl(STRANGER, AclOperation.DESCRIBE),
        acl(permission=DENY, operation=AclOperation.DELETE, name="orders.payments", pattern=LITERAL),
        # The fence stops these, too.
        *(acl(operation=operation) for operation in CHANGES_THE_COPY),
        acl(name="orders-", resource=ResourceType.GROUP, operation=AclOperation.DELETE),
    ],
    ids=str,
)
def test_an_acl_that_is_needed_after_a_switch_is_added(planned: Any, needed: Acl) -> None:
    (row,) = rows(planned, [needed], [])
    assert (row.verdict, row.change) == (ItemVerdict.SAFE, AddAcl(needed))


@pytest.mark.parametrize(
    "beyond",
    [
        acl(operation=AclOperation.ALL),
        acl(name="orders-", resource=ResourceType.GROUP, operation=AclOperation.ALTER_CONFIGS),
        acl(name="*", pattern=LITERAL, operation=AclOperation.CREATE),
        acl(name="*", pattern=LITERAL, operation=AclOperation.READ),
        acl(name="ord"),
        acl(name="*", resource=ResourceType.GROUP, pattern=LITERAL, operation=AclOperation.READ),
        acl(name="billing-", resource=ResourceType.TRANSACTIONAL_ID, operation=AclOperation.ALL),
        cluster(AclOperation.CREATE),
        cluster(AclOperation.ALTER_CONFIGS),
    ],
    ids=str,
)
def test_what_an_application_could_do_in_spite_of_the_fence_needs_an_approval(planned: Any, beyond: Acl) -> None:
    (row,) = rows(planned, [beyond], [])
    assert (row.verdict, row.change) == (ItemVerdict.APPROVAL, AddAcl(beyond))
    assert "no DENY of the standby's fence stops" in row.reason


@pytest.mark.parametrize("operation", [AclOperation.ALL, AclOperation.ALTER, AclOperation.CLUSTER_ACTION], ids=str)
def test_what_could_take_the_fence_away_is_never_added(planned: Any, operation: AclOperation) -> None:
    (row,) = rows(planned, [cluster(operation)], [])
    assert (row.verdict, row.change) == (ItemVerdict.NEVER, None)
    assert "the fence itself" in row.reason


@given(ALLOWED_TO_APPLICATIONS)
def test_what_is_added_unasked_opens_nothing_while_the_fence_is_up(group: ProtectionGroup, added: Acl) -> None:
    plan = make_plan(side("east", topic(), acls=frozenset({added})), side("west", topic()), group, epoch=1)
    safe = {row.change.acl for row in plan.of(ItemVerdict.SAFE) if isinstance(row.change, AddAcl)}
    standby = Authorizer(safe | fences.standby(group))
    for resource, name in (
        (ResourceType.TOPIC, "orders.payments"),
        (ResourceType.TOPIC, "carts.new"),
        (ResourceType.GROUP, "orders-a"),
        (ResourceType.GROUP, "carts-a"),
        (ResourceType.TRANSACTIONAL_ID, "billing-1"),
        (ResourceType.CLUSTER, "kafka-cluster"),
    ):
        may = {each for each in AclOperation if standby.allows(added.principal, each, resource, name)}
        assert may <= {AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS, AclOperation.IDEMPOTENT_WRITE}


@pytest.mark.parametrize(
    ("acl_there", "why"),
    [
        (acl(STRANGER), "no fence stops User:analyst"),
        (acl("User:*"), r"no fence stops User:\*"),
        (acl(STRANGER, AclOperation.ALL), "declare it"),
        (acl("User:*", permission=DENY), "denies everybody, replication among them"),
        (acl(STRANGER, name="*", pattern=LITERAL), "reaches beyond"),
        (acl(STRANGER, name="ord"), "reaches beyond"),
        (acl(name="somebody-elses."), "reaches beyond"),
        (acl(permission=DENY), "what the standby's fence is made of"),
        (acl(permission=DENY, operation=AclOperation.ALL), "what the standby's fence is made of"),
        (acl(permission=DENY, operation=AclOperation.DELETE), "is lifted with it: add it by hand after a switch"),
    ],
    ids=str,
)
def test_an_acl_that_would_open_or_spoil_the_standby_is_never_added(planned: Any, acl_there: Acl, why: str) -> None:
    (row,) = rows(planned, [acl_there], [])
    assert (row.verdict, row.change) == (ItemVerdict.NEVER, None)
    assert re.search(why, row.reason)


def test_a_stranger_that_would_read_on_the_standby_needs_an_approval(planned: Any) -> None:
    (row,) = rows(planned, [acl(STRANGER, AclOperation.READ)], [])
    assert row.verdict is ItemVerdict.APPROVAL


@pytest.mark.parametrize("extra", [acl(), acl(permission=DENY, operation=AclOperation.DESCRIBE)], ids=str)
def test_removing_an_acl_needs_an_approval(planned: Any, extra: Acl) -> None:
    (row,) = rows(planned, [], [extra])
    assert (row.verdict, row.change) == (ItemVerdict.APPROVAL, RemoveAcl(extra))


def test_a_deny_of_the_fence_is_never_removed_even_where_the_register_does_not_know_it(
    planned: Any, group: ProtectionGroup
) -> None:
    found = rows(planned, [], sorted(of_either_kind(fences.standby(group))))
    assert {row.verdict for row in found} == {ItemVerdict.NEVER}


def test_a_right_to_everything_needs_an_approval_as_the_fence_may_list_operations(planned: Any) -> None:
    (row,) = rows(planned, [acl(operation=AclOperation.ALL)], [])
    assert row.verdict is ItemVerdict.APPROVAL


@pytest.mark.parametrize(
    "foreign",
    [
        acl("User:replicator"),
        acl("User:dr-operator"),
        acl("User:admin"),
        acl(STRANGER, name="carts."),
        acl(name="_kafka_dr.", operation=AclOperation.READ),
    ],
    ids=str,
)
def test_what_is_no_business_of_the_group_is_no_difference(planned: Any, foreign: Acl) -> None:
    assert rows(planned, [foreign], []) == []
    assert rows(planned, [], [foreign]) == []


def test_what_belongs_to_another_group_is_left_to_it(group: ProtectionGroup) -> None:
    other = group.model_copy(update={"name": "carts", "topic_prefixes": ("carts.",), "principals": ("User:carts",)})
    theirs = frozenset({acl(APP, name="carts."), acl("User:carts", name="*", pattern=LITERAL)})
    plan = make_plan(side("east", acls=theirs), side("west"), group, epoch=1, others=[other])
    assert [row.subject for row in plan.items if row.key != REGISTER_RIGHT] == []


def test_an_application_of_two_groups_gets_what_is_about_the_names_of_one_group_alone(group: ProtectionGroup) -> None:
    other = group.model_copy(update={"name": "carts", "topic_prefixes": ("carts.",)})
    own, theirs = acl(APP, name="orders.eu-"), acl(APP, name="carts.")
    wide = [acl(APP, name="*", pattern=LITERAL), acl(APP, name="", permission=DENY), cluster(AclOperation.CREATE)]

    added = make_plan(side("east", acls={own, theirs, *wide}), side("west"), group, epoch=1, others=[other])
    removed = make_plan(side("east"), side("west", acls=frozenset(wide)), group, epoch=1, others=[other])

    found = {row.subject: row.verdict for row in added.items if row.key != REGISTER_RIGHT}
    assert found == {str(own): ItemVerdict.SAFE, **{str(each): ItemVerdict.NEVER for each in wide}}
    assert {row.verdict for row in removed.items if row.key != REGISTER_RIGHT} == {ItemVerdict.NEVER}


def test_a_quota_of_an_application_of_two_groups_is_changed_by_approval_alone(group: ProtectionGroup) -> None:
    other = group.model_copy(update={"name": "carts", "topic_prefixes": ("carts.",)})
    limited = side("east", quotas={(APP_QUOTA, RATE): 5.0})
    (row,) = make_plan(limited, side("west"), group, epoch=1, others=[other]).items
    assert (row.verdict, row.change) == (ItemVerdict.APPROVAL, SetQuota(APP_QUOTA, RATE, 5.0))
    assert "which also declare User:orders-app" in row.reason


def test_acls_that_could_not_be_read_are_unknown(planned: Any) -> None:
    plan = planned(side("east", topic(), acls=frozenset({acl()})), side("west", topic(), unknown={"ACLs": "no right"}))
    assert [(row.kind, row.verdict, row.blocks) for row in plan.items] == [(ItemKind.ACL, ItemVerdict.UNKNOWN, True)]


APP_QUOTA = QuotaEntity(user="orders-app")


@pytest.mark.parametrize(
    ("entity", "wanted", "found", "verdict"),
    [
        (APP_QUOTA, 5.0, None, ItemVerdict.SAFE),
        (APP_QUOTA, 5.0, 9.0, ItemVerdict.SAFE),
        (APP_QUOTA, 9.0, 5.0, ItemVerdict.APPROVAL),
        (APP_QUOTA, None, 5.0, ItemVerdict.APPROVAL),
        (QuotaEntity(user="orders-app", client_id="batch"), 5.0, None, ItemVerdict.SAFE),
        (QuotaEntity(client_id="batch"), 5.0, None, ItemVerdict.APPROVAL),
        (QuotaEntity(user=""), 5.0, None, ItemVerdict.APPROVAL),
        (QuotaEntity(ip=""), 5.0, None, ItemVerdict.APPROVAL),
        (QuotaEntity(user="", client_id="batch"), 5.0, None, ItemVerdict.APPROVAL),
    ],
    ids=str,
)
def test_a_quota_is_tightened_freely_and_loosened_or_spread_by_approval(
    planned: Any, entity: QuotaEntity, wanted: float | None, found: float | None, verdict: ItemVerdict
) -> None:
    limits = [{} if limit is None else {(entity, RATE): limit} for limit in (wanted, found)]
    (row,) = planned(side("east", quotas=limits[0]), side("west", quotas=limits[1])).items
    assert (row.verdict, row.change) == (verdict, SetQuota(entity, RATE, wanted))


def test_quotas_of_every_kind_are_in_one_plan_in_a_fixed_order(planned: Any) -> None:
    kinds = [APP_QUOTA, QuotaEntity(client_id="batch"), QuotaEntity(ip=""), QuotaEntity(user="", client_id="batch")]
    rows_of = planned(side("east", quotas={(entity, RATE): 5.0 for entity in kinds}), side("west")).items
    assert [row.subject for row in rows_of] == sorted(map(str, kinds))


def test_a_quota_of_somebody_else_is_no_difference(planned: Any) -> None:
    assert planned(side("east", quotas={(QuotaEntity(user="analyst"), RATE): 5.0}), side("west")).items == ()


def test_a_user_that_is_missing_is_named_and_stops_a_switch(planned: Any) -> None:
    users = frozenset({ScramUser("orders-app", "SCRAM-SHA-512"), ScramUser("orders-app", "SCRAM-SHA-256")})
    (row,) = planned(side("east", users=users), side("west")).items
    assert (row.subject, row.key, row.verdict, row.blocks) == ("orders-app", "SCRAM-SHA-256", ItemVerdict.NEVER, True)


def test_users_of_others_and_more_users_are_no_difference(planned: Any) -> None:
    more = frozenset({ScramUser("orders-app", "SCRAM-SHA-512"), ScramUser("analyst", "SCRAM-SHA-512")})
    assert planned(side("east", users=more), side("west")).items == ()
    assert planned(side("east", users=frozenset()), side("west", users=more)).items == ()


@pytest.mark.parametrize("change", ["add", "remove"])
def test_where_the_standbys_rules_are_kept_elsewhere_its_owners_change_them(planned: Any, change: str) -> None:
    right = acl(operation=AclOperation.READ)
    here, there = ([right], []) if change == "add" else ([], [right])
    active = side("east", topic(), acls=frozenset(here))
    standby = replace(side("west", topic(), acls=frozenset(there)), rules_in="/srv/rules/west.json")
    (row,) = (row for row in planned(active, standby).items if row.key != REGISTER_RIGHT)
    assert (row.verdict, row.change, row.blocks) == (ItemVerdict.NEVER, None, False)
    assert row.reason == "the access rules of west are kept in /srv/rules/west.json: change it there"


@pytest.mark.parametrize("undecided", ["east", "west"])
def test_where_acls_do_not_decide_they_are_not_compared_and_the_plan_says_so(planned: Any, undecided: str) -> None:
    sides = [side("east", topic(), acls=frozenset([acl()])), side("west", topic())]
    active, standby = (replace(each, acls_decide=each.cluster != undecided) for each in sides)
    plan = planned(active, standby)
    (row,) = plan.items
    assert (row.verdict, row.blocks) == (ItemVerdict.NOTE, False)
    assert row.reason.startswith(f"ACLs do not decide on {undecided}: see by its own rules")
    assert plan.access == plan.access_after == ()
