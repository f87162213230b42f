"""DENYs that were missing are expected only if all of them are for topics that a pattern has come to match."""

from __future__ import annotations

from kafka_dr.clusters import Acl
from kafka_dr.fencing import plan
from kafka_dr.fencing.required import denies_of
from kafka_dr.health.restore_fence import new_topics
from kafka_dr.topology.existing import ExistingReplicationSpec
from support.pattern_group import pattern_group
from support.register_states import a_state

GROUP = pattern_group(r"eu\.(a|b)").with_matched(["eu.a", "eu.b"])


def denies(topic: str) -> list[Acl]:
    return sorted(acl for acl in plan.standby(GROUP) if acl.name == topic)


def test_a_topic_that_never_had_a_deny_is_new_and_one_that_had_is_not() -> None:
    assert new_topics(GROUP, denies("eu.b"), denies("eu.a")) == ("eu.b",)
    assert new_topics(GROUP, denies("eu.a")[:1], denies("eu.a")) == ()
    assert new_topics(GROUP, [], denies("eu.a")) == ()


def test_where_another_deny_was_missing_as_well_somebody_removed_a_part_of_the_fence() -> None:
    assert new_topics(GROUP, [*denies("eu.b"), *denies("payments")], denies("eu.a")) == ()


def test_a_new_topic_is_closed_to_the_replication_that_was_taken_over_only_where_it_was_replaced() -> None:
    existing = ExistingReplicationSpec(replicator="external", principal="User:old", stop_command=("/bin/true",))
    group = pattern_group(r"eu\.(a|b)", existing_replication=existing)
    first, now = group.with_matched(["eu.a"]), group.with_matched(["eu.a", "eu.b"])
    before, wanted = (denies_of(each, a_state(), "west", replaced=True) for each in (first, now))
    assert new_topics(now, wanted - before, before) == ("eu.b",)
    assert {acl.name for acl in wanted - before if acl.principal == "User:old"} == {"eu.b"}
    assert denies_of(now, a_state(), "west", replaced=False) == plan.standby(now)
