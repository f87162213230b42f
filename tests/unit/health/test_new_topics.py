"""DENYs that were missing are expected only if all of them are for topics that a pattern has come to match."""

from __future__ import annotations

from kafka_dr.clusters import Acl
from kafka_dr.fencing import plan
from kafka_dr.health.restore_fence import new_topics, of_existing
from kafka_dr.topology import ExistingReplicationSpec
from support.pattern_group import pattern_group

GROUP = pattern_group(r"eu\.(a|b)").with_matched(["eu.a", "eu.b"])


def denies(topic: str) -> list[Acl]:
    return sorted(acl for acl in plan.standby(GROUP) if acl.name == topic)


def test_a_topic_that_never_had_a_deny_is_new_and_one_that_had_is_not() -> None:
    assert new_topics(GROUP, denies("eu.b"), denies("eu.a")) == ("eu.b",)
    assert new_topics(GROUP, denies("eu.a")[:1], denies("eu.a")) == ()
    assert new_topics(GROUP, [], denies("eu.a")) == ()


def test_where_another_deny_was_missing_as_well_somebody_removed_a_part_of_the_fence() -> None:
    assert new_topics(GROUP, [*denies("eu.b"), *denies("payments")], denies("eu.a")) == ()


def test_a_new_topic_is_closed_to_the_replication_that_was_taken_over_only_where_it_was_closed_out() -> None:
    existing = ExistingReplicationSpec(replicator="external", principal="User:old", stop_command=("/bin/true",))
    group = pattern_group(r"eu\.(a|b)", existing_replication=existing)
    first, now = group.with_matched(["eu.a"]), group.with_matched(["eu.a", "eu.b"])
    taken_over = plan.existing_fence(first) | plan.existing_change_fence(first)
    added = of_existing(now, taken_over) - taken_over
    assert {acl.name for acl in added} == {"eu.b"}
    assert {acl.principal for acl in added} == {"User:old"}
    assert of_existing(now, plan.standby(first)) == frozenset()
