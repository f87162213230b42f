"""Which DENYs of writes stay as long as groups have not read their copies, and since when writes are admitted."""

from __future__ import annotations

from datetime import UTC, datetime

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.failover.planned.copy_first import closed_for
from kafka_dr.runs.admitted_writes import admitted_at


def deny(name: str, pattern: PatternType = PatternType.LITERAL) -> Acl:
    return Acl(ResourceType.TOPIC, name, pattern, "User:app", AclOperation.WRITE, AclPermission.DENY)


def test_a_topic_stays_closed_while_its_copy_is_unread_and_a_prefix_while_one_of_its_topics_is() -> None:
    payments, refunds = deny("payments"), deny("refunds")
    shop = deny("shop.", PatternType.PREFIXED)
    every = {payments, refunds, shop}
    assert closed_for(every, {"payments"}) == {payments}
    assert closed_for(every, {"shop.carts", "refunds"}) == {refunds, shop}
    assert closed_for(every, {"payments.eu"}) == frozenset()
    assert closed_for(every, frozenset()) == frozenset()


def test_writes_are_admitted_as_the_target_opens_or_when_the_readers_are_done() -> None:
    opened, later = "2026-03-14T15:09:26+00:00", "2026-03-14T15:10:26+00:00"
    at = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
    assert admitted_at({}) is None
    assert admitted_at({"opened": {"at": opened}}) == at
    assert admitted_at({"opened": {"at": opened, "readers_first": True}}) is None
    found = admitted_at({"opened": {"at": opened, "readers_first": True}, "writes_admitted": {"at": later}})
    assert found == at.replace(minute=10)
