"""Who may write the register is found in the ACLs, whatever their patterns, and how its topic has to be set."""

from __future__ import annotations

import pytest

from kafka_dr.checks.register_checks import judged_topic
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.fencing.register_writers import Guarded, guarded, intruders
from kafka_dr.register.digests import DIGESTS_TOPIC
from kafka_dr.register.topic_settings import settings
from kafka_dr.topology.loading import load
from lab.layout import PROJECT
from support.sentences import assert_sentence

TOPIC, ID = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ENVIRON = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "localhost:1",
    "KAFKA_DR_LAB_WEST": "localhost:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}
TOPICS = ("_kafka_dr.register", "_kafka_dr.rescued", "_kafka_dr.selftest", "orders.payments")


def _allow(who: str, kind: ResourceType, name: str, pattern: PatternType, operation: AclOperation) -> Acl:
    return Acl(kind, name, pattern, f"User:{who}", operation, AclPermission.ALLOW)


def _wanted() -> tuple[Guarded, ...]:
    return guarded(load(PROJECT / "include" / "topology.yaml", ENVIRON).protection_groups.values(), TOPICS)


def _found(*acls: Acl, everyone: bool = False) -> set[tuple[str, str]]:
    authorizer = Authorizer(acls, {"User:admin"}, allow_if_no_acl=everyone)
    return {(one.principal, one.guarded.name) for one in intruders(authorizer, _wanted(), super_users=["User:admin"])}


def test_the_projects_own_principals_may() -> None:
    assert not _found(
        _allow("dr-operator", TOPIC, "_kafka_dr.", PREFIXED, AclOperation.WRITE),
        _allow("dr-operator", ID, "*", LITERAL, AclOperation.WRITE),
        _allow("probe", TOPIC, "_kafka_dr.rescued", LITERAL, AclOperation.WRITE),
        _allow("probe", ID, "kafka-dr-rescue-", PREFIXED, AclOperation.WRITE),
        _allow("audit", TOPIC, "_kafka_dr.selftest", LITERAL, AclOperation.WRITE),
        _allow("audit", TOPIC, "_kafka_dr.", PREFIXED, AclOperation.READ),
        _allow("app", TOPIC, "orders.", PREFIXED, AclOperation.ALL),
    )


@pytest.mark.parametrize("operation", ["WRITE", "ALL", "DELETE", "ALTER", "ALTER_CONFIGS"])
@pytest.mark.parametrize(("name", "pattern"), [("*", LITERAL), ("_", PREFIXED), ("_kafka_dr.register", LITERAL)])
def test_whatever_reaches_the_register_is_named(operation: str, name: str, pattern: PatternType) -> None:
    found = _found(_allow("app", TOPIC, name, pattern, AclOperation[operation]))
    assert ("User:app", "_kafka_dr.register") in found
    assert not {name for _, name in found} & {"_kafka_dr.selftest", "orders.payments"}


def test_the_probe_may_not_write_who_is_active_and_nobody_else_may_take_the_ids_over() -> None:
    assert _found(_allow("probe", TOPIC, "*", LITERAL, AclOperation.WRITE)) == {("User:probe", "_kafka_dr.register")}
    ids = {name for _, name in _found(_allow("app", ID, "kafka-dr-", PREFIXED, AclOperation.WRITE))}
    assert ids == {f"kafka-dr-{use}-orders" for use in ("register", "config", "rescue")}


def test_without_acls_everybody_may_and_a_deny_helps() -> None:
    assert ("User:*", "_kafka_dr.register") in _found(everyone=True)
    deny = Acl(TOPIC, "_kafka_dr.", PREFIXED, "User:app", AclOperation.WRITE, AclPermission.DENY)
    assert not _found(_allow("app", TOPIC, "*", LITERAL, AclOperation.WRITE), deny)


def test_the_topic_is_judged_by_its_replicas_and_settings_and_few_brokers_are_said() -> None:
    wrong, said = judged_topic("east", settings(replicas=1), replicas=1, brokers=3)
    assert wrong
    assert_sentence(said)
    wrong, said = judged_topic("east", {**settings(replicas=3), "retention.ms": "1000"}, replicas=3, brokers=3)
    assert wrong
    assert_sentence(said)
    wrong, said = judged_topic("east", settings(replicas=1), replicas=1, brokers=1)
    assert not wrong
    assert_sentence(said)
    assert not judged_topic("east", settings(replicas=3), replicas=3, brokers=5)[0]


def test_the_topic_of_digests_is_judged_by_its_own_settings() -> None:
    good = settings(replicas=3, digests=True)
    assert not judged_topic("east", good, replicas=3, brokers=3, topic=DIGESTS_TOPIC)[0]
    sooner = {**good, "segment.ms": "60000", "min.cleanable.dirty.ratio": "0.01"}
    assert not judged_topic("east", sooner, replicas=3, brokers=3, topic=DIGESTS_TOPIC)[0]
    for key, value in (("cleanup.policy", "compact,delete"), ("retention.ms", "1"), ("segment.ms", "604800000")):
        wrong, said = judged_topic("east", {**good, key: value}, replicas=3, brokers=3, topic=DIGESTS_TOPIC)
        assert wrong
        assert_sentence(said)
    wrong, said = judged_topic("east", good, replicas=1, brokers=3, topic=DIGESTS_TOPIC)
    assert wrong
    assert_sentence(said)
