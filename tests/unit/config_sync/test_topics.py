from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.clusters.configuration import ConfigValue, NewTopic, Origin
from kafka_dr.config_sync.items import AddPartitions, CreateTopic, ItemKind, ItemVerdict, SetConfig
from kafka_dr.config_sync.plan import Plan, make_plan
from kafka_dr.config_sync.policy import KeyClass, Policy
from kafka_dr.config_sync.snapshot import NAMES, TOPICS
from kafka_dr.topology.model import ProtectionGroup
from support.config_snapshots import APP, DEFAULTS, acl, side, topic

INHERITED = ConfigValue("5", Origin.STATIC)
DAY, WEEK = "86400000", "604800000"


def test_clusters_that_are_alike_need_no_plan(planned: Callable[..., Plan]) -> None:
    plan = planned(side("east", topic()), side("west", topic()))
    assert plan.items == ()
    assert plan.changes == ()


def test_a_missing_topic_is_created_with_what_it_sets_and_stops_a_switch(one: Any) -> None:
    row = one(topic(retention_ms=DAY), None)
    assert (row.kind, row.verdict, row.blocks) == (ItemKind.TOPIC, ItemVerdict.SAFE, True)
    assert row.change == CreateTopic(NewTopic("orders.payments", 6, 3, (("retention.ms", DAY),)))


def test_a_topic_is_created_with_what_the_standby_would_otherwise_inherit_differently(one: Any) -> None:
    inherited = {k: ConfigValue(v, Origin.DEFAULT) for k, v in DEFAULTS.items()}
    standby = {"inherited": {**inherited, "max.message.bytes": ConfigValue("500", Origin.STATIC)}}
    assert one(topic(), None, standby).change.topic.configs == (("max.message.bytes", "1048588"),)


def test_what_is_site_specific_is_not_copied_to_a_new_topic(one: Any) -> None:
    row = one(topic(follower_replication_throttled_replicas="*"), None)
    assert row.change.topic.configs == ()


def test_a_standby_with_fewer_brokers_gets_fewer_copies_and_it_is_said(one: Any) -> None:
    row = one(topic(min_insync_replicas="2"), None, {"brokers": 1})
    assert row.change.topic == NewTopic("orders.payments", 6, 1, (("min.insync.replicas", "1"),))
    assert "with 1 copies for the active cluster's 3" in row.reason


def test_a_topic_on_the_standby_alone_is_reported_and_never_deleted(one: Any) -> None:
    row = one(None, topic())
    assert (row.verdict, row.change, row.blocks) == (ItemVerdict.NEVER, None, False)


def test_partitions_of_a_topic_that_only_replication_writes_to_are_added(one: Any) -> None:
    row = one(topic(partitions=8), topic())
    assert (row.verdict, row.change, row.blocks) == (ItemVerdict.SAFE, AddPartitions("orders.payments", 8), True)


@pytest.mark.parametrize(
    ("here", "standby", "settings"),
    [
        pytest.param(topic(partitions=8), {}, {"keyed_topics": ("orders.payments",)}, id="the topology calls it keyed"),
        pytest.param(topic(partitions=8), {}, {"keyed_topic_prefixes": ("orders.",)}, id="by its beginning"),
        pytest.param(topic(partitions=8), {"unknown": {"ACLs": "no right"}}, {}, id="nobody knows who may write"),
    ],
)
def test_partitions_of_a_topic_that_may_be_keyed_need_an_approval(
    planned: Callable[..., Plan], here: Any, standby: dict[str, Any], settings: dict[str, Any]
) -> None:
    rows = planned(side("east", here), side("west", topic(), **standby), **settings).items
    (row,) = [each for each in rows if each.kind is ItemKind.PARTITIONS]
    assert (row.verdict, row.change) == (ItemVerdict.APPROVAL, AddPartitions("orders.payments", 8))


def test_partitions_of_a_compacted_topic_need_an_approval(one: Any) -> None:
    compacted: dict[str, Any] = {"cleanup_policy": "compact"}
    assert one(topic(partitions=8, **compacted), topic(**compacted)).verdict is ItemVerdict.APPROVAL


def test_partitions_of_a_topic_that_an_application_could_write_to_need_an_approval(planned: Any) -> None:
    open_to_app = frozenset({acl(APP)})
    plan = planned(side("east", topic(partitions=8), acls=open_to_app), side("west", topic(), acls=open_to_app))
    assert [row.verdict for row in plan.items] == [ItemVerdict.APPROVAL]


def test_partitions_are_never_taken_away(one: Any) -> None:
    row = one(topic(partitions=4), topic())
    assert (row.verdict, row.change, row.blocks) == (ItemVerdict.NEVER, None, True)


@pytest.mark.parametrize(
    ("here", "there", "verdict", "blocks", "value"),
    [
        ({"max_message_bytes": "5"}, {}, ItemVerdict.SAFE, True, "5"),
        ({}, {"max_message_bytes": "5"}, ItemVerdict.SAFE, True, "1048588"),
        ({"cleanup_policy": "compact"}, {}, ItemVerdict.NEVER, True, None),
        ({}, {"cleanup_policy": "compact,delete"}, ItemVerdict.SAFE, True, "delete"),
        ({"retention_ms": "-1"}, {}, ItemVerdict.SAFE, False, "-1"),
        ({"retention_ms": DAY}, {}, ItemVerdict.NOTE, False, None),
        ({}, {"retention_ms": "-1"}, ItemVerdict.NOTE, False, None),
        ({}, {"retention_ms": DAY}, ItemVerdict.SAFE, False, WEEK),
        ({"segment_ms": "5"}, {}, ItemVerdict.NEVER, False, None),
        ({"segment_ms": "999999999"}, {}, ItemVerdict.SAFE, False, "999999999"),
        ({}, {"segment_ms": "5"}, ItemVerdict.NOTE, False, None),
        ({"segment_ms": "6"}, {"segment_ms": "5"}, ItemVerdict.NOTE, False, None),
        ({"min_insync_replicas": "2"}, {}, ItemVerdict.SAFE, False, "2"),
        ({"min_insync_replicas": "5"}, {"min_insync_replicas": "3"}, ItemVerdict.NOTE, False, None),
    ],
)
def test_each_class_of_key_is_judged_by_its_class(
    one: Any, here: dict[str, Any], there: dict[str, Any], verdict: ItemVerdict, blocks: bool, value: str | None
) -> None:
    row = one(topic(**here), topic(**there))
    assert (row.verdict, row.blocks) == (verdict, blocks)
    assert row.change == (None if value is None else SetConfig("orders.payments", row.key, value))


def test_what_deletes_records_sooner_is_set_by_people_alone_and_the_row_says_how(one: Any) -> None:
    row = one(topic(retention_ms=DAY), topic(), must_match=("retention.ms",))
    assert (row.verdict, row.blocks, row.change) == (ItemVerdict.NEVER, True, None)
    assert "the standby would delete records sooner than now" in row.reason
    assert f"--entity-name orders.payments --add-config 'retention.ms={DAY}'; or list retention.ms under" in row.reason
    both = one(topic(cleanup_policy="compact,delete"), topic())
    assert "begin to compact records" in both.reason
    assert "--add-config 'cleanup.policy=[compact,delete]'" in both.reason


@pytest.mark.parametrize(
    "lists", [{"may_differ": 1}, {"at_least": 1}, {"must_match": 1}], ids=lambda each: next(iter(each))
)
@pytest.mark.parametrize(
    ("key", "here", "there", "verdict"),
    [
        ("retention.ms", DAY, None, ItemVerdict.NEVER),
        ("retention.ms", DAY, ConfigValue("-1", Origin.STATIC), ItemVerdict.NEVER),
        ("retention.ms", "-1", ConfigValue(DAY, Origin.STATIC), ItemVerdict.SAFE),
        ("retention.bytes", "5", None, ItemVerdict.NEVER),
        ("delete.retention.ms", DAY, ConfigValue(WEEK, Origin.DEFAULT), ItemVerdict.NEVER),
        ("delete.retention.ms", WEEK, ConfigValue(DAY, Origin.DEFAULT), ItemVerdict.SAFE),
        ("min.compaction.lag.ms", "0", ConfigValue(DAY, Origin.DEFAULT), ItemVerdict.NEVER),
        ("max.compaction.lag.ms", DAY, ConfigValue(WEEK, Origin.DEFAULT), ItemVerdict.NEVER),
        ("min.cleanable.dirty.ratio", "0.1", ConfigValue("0.5", Origin.DEFAULT), ItemVerdict.NEVER),
        ("local.retention.ms", DAY, ConfigValue("-2", Origin.DEFAULT), ItemVerdict.NEVER),
        ("local.retention.ms", "-2", ConfigValue(DAY, Origin.DEFAULT), ItemVerdict.NEVER),
        ("local.retention.bytes", "5", ConfigValue("6", Origin.DEFAULT), ItemVerdict.NEVER),
        ("segment.ms", DAY, None, ItemVerdict.NEVER),
        ("segment.bytes", "5", ConfigValue("6", Origin.DEFAULT), ItemVerdict.NEVER),
        ("segment.bytes", "6", ConfigValue("5", Origin.DEFAULT), ItemVerdict.SAFE),
        ("segment.jitter.ms", "5", ConfigValue("0", Origin.DEFAULT), ItemVerdict.NEVER),
        ("segment.jitter.ms", "0", ConfigValue("5", Origin.DEFAULT), ItemVerdict.SAFE),
        ("cleanup.policy", "compact", None, ItemVerdict.NEVER),
        ("cleanup.policy", "compact,delete", ConfigValue("compact", Origin.STATIC), ItemVerdict.NEVER),
        ("cleanup.policy", "delete", ConfigValue("", Origin.STATIC), ItemVerdict.NEVER),
        ("cleanup.policy", "compact", ConfigValue("delete,compact", Origin.STATIC), ItemVerdict.SAFE),
        ("unclean.leader.election.enable", "true", ConfigValue("false", Origin.DEFAULT), ItemVerdict.NEVER),
        ("unclean.leader.election.enable", "false", ConfigValue("true", Origin.DEFAULT), ItemVerdict.SAFE),
        ("remote.storage.enable", "false", ConfigValue("true", Origin.DEFAULT), ItemVerdict.NEVER),
    ],
)
def test_in_whatever_class_no_plan_makes_the_standby_delete_records(
    one: Any, key: str, here: str, there: ConfigValue | None, verdict: ItemVerdict, lists: dict[str, int]
) -> None:
    (chosen,) = lists
    field = key.replace(".", "_")
    set_here: dict[str, Any] = {field: here}
    inherited: dict[str, Any] = {} if there is None else {field: there}
    row = one(topic(**set_here), topic(**inherited), **{chosen: (key,)})
    if chosen == "at_least" and row.verdict is ItemVerdict.NOTE:
        assert row.change is None  # the standby keeps more
    else:
        change = SetConfig("orders.payments", key, here) if verdict is ItemVerdict.SAFE else None
        assert (row.verdict, row.change) == (verdict, change)
        assert ("If two people agree" in row.reason) == (change is None)


def test_what_is_site_specific_is_no_difference(planned: Any) -> None:
    throttled = topic(follower_replication_throttled_replicas="*")
    assert planned(side("east", topic()), side("west", throttled)).items == ()


def test_the_topology_moves_a_key_to_another_class(planned: Any) -> None:
    sides = side("east", topic(max_message_bytes="5")), side("west", topic())
    assert planned(*sides, site_specific=("max.message.bytes",)).items == ()


def test_fewer_copies_are_legal_and_said(one: Any) -> None:
    row = one(topic(copies=3), topic(copies=1))
    assert (row.verdict, row.blocks, row.key) == (ItemVerdict.NOTE, False, "replication.factor")
    assert "legal" in row.reason


def test_a_standby_that_demands_more_copies_than_it_has_stops_a_switch(planned: Any) -> None:
    alike: dict[str, Any] = {"min_insync_replicas": "2"}
    plan = planned(side("east", topic(copies=3, **alike)), side("west", topic(copies=1, **alike)))
    (row,) = plan.changes
    assert (row.key, row.verdict, row.blocks) == ("min.insync.replicas", ItemVerdict.SAFE, True)
    assert row.change == SetConfig("orders.payments", "min.insync.replicas", "1")
    assert "refuses every write" in row.reason
    mended = topic(copies=1, min_insync_replicas="1")
    assert planned(side("east", topic(copies=3, **alike)), side("west", mended)).changes == ()


def test_copies_that_must_match_stop_a_switch(one: Any) -> None:
    row = one(topic(copies=3), topic(copies=1), must_match=("replication.factor",))
    assert (row.verdict, row.blocks) == (ItemVerdict.NEVER, True)


def test_an_unknown_key_is_a_finding_even_where_both_clusters_say_the_same(one: Any) -> None:
    row = one(topic(brand_new_key="1"), topic(brand_new_key="1"))
    assert (row.subject, row.key, row.verdict, row.blocks) == ("every topic", "brand.new.key", ItemVerdict.NEVER, False)


def test_an_unknown_key_that_differs_stops_a_switch(planned: Any) -> None:
    plan = planned(side("east", topic(brand_new_key="1")), side("west", topic(brand_new_key="2")))
    assert [row.blocks for row in plan.items] == [True, False]


def test_a_changed_default_of_kafka_is_shown_as_such(one: Any) -> None:
    newer = topic(max_message_bytes=ConfigValue("9", Origin.DEFAULT))
    row = one(topic(), newer)
    assert "Kafka's own default differs" in row.reason
    assert row.standby == "9 (inherited: Kafka's default)"


def test_a_broker_setting_is_distinguished_from_an_explicit_value(one: Any) -> None:
    row = one(topic(max_message_bytes=INHERITED), topic())
    assert "the brokers' settings differ" in row.reason
    assert row.active == "5 (inherited: static broker setting)"
    assert one(topic(max_message_bytes="5"), topic()).active == "5"


def test_a_key_that_the_standbys_brokers_do_not_know_cannot_be_set(one: Any) -> None:
    there = topic()
    older = {key: value for key, value in there.configs.items() if key != "max.message.bytes"}
    row = one(topic(max_message_bytes="5"), type(there)(there.layout, older))
    assert (row.verdict, row.change, row.blocks) == (ItemVerdict.NEVER, None, True)


def test_a_topic_that_could_not_be_read_is_unknown_and_never_missing(planned: Any) -> None:
    plan = planned(side("east", topic()), side("west", unknown={"topic orders.payments": "no right"}))
    assert [(row.verdict, row.blocks, row.change) for row in plan.items] == [(ItemVerdict.UNKNOWN, True, None)]


def test_where_no_topic_could_be_read_none_is_missing(planned: Any) -> None:
    plan = planned(side("east", topic()), side("west", unknown={TOPICS: "no right"}))
    assert [(row.verdict, row.subject) for row in plan.items] == [(ItemVerdict.UNKNOWN, "topics on west")]


def test_where_the_audit_cannot_look_for_hidden_topics_nothing_is_well(planned: Any) -> None:
    plan = planned(side("east", topic(), unknown={NAMES: "no login"}), side("west", topic()))
    assert [(row.verdict, row.subject, row.blocks) for row in plan.items] == [
        (ItemVerdict.UNKNOWN, "topics that the audit sees on east", True)
    ]


def test_every_key_of_a_kafka_broker_has_a_class() -> None:
    known = {key for key, kind in Policy().classes.items() if kind is not KeyClass.UNKNOWN}
    assert set(DEFAULTS) <= known


VALUES = st.dictionaries(
    st.sampled_from(["max.message.bytes", "retention.ms", "segment.ms", "cleanup.policy", "min.insync.replicas"]),
    st.sampled_from(["1", "2", "3"]),
)
TOPICS_OF_A_SIDE = st.dictionaries(
    st.sampled_from(["orders.a", "orders.b", "orders.c"]), st.tuples(st.integers(1, 4), st.integers(1, 3), VALUES)
)


@given(TOPICS_OF_A_SIDE, TOPICS_OF_A_SIDE)
def test_once_its_changes_are_made_the_next_plan_has_none(
    group: ProtectionGroup, here: dict[str, Any], there: dict[str, Any]
) -> None:
    active, standby = (
        {name: topic(name, parts, copies, **values) for name, (parts, copies, values) in each.items()}
        for each in (here, there)
    )
    first = make_plan(side("east", *active.values()), side("west", *standby.values()), group, epoch=1)
    for row in first.changes:
        apply(row.change, standby)
    second = make_plan(side("east", *active.values()), side("west", *standby.values()), group, epoch=1)
    assert second.changes == ()


@given(TOPICS_OF_A_SIDE, TOPICS_OF_A_SIDE)
def test_no_plan_takes_a_topic_or_a_partition_away(
    group: ProtectionGroup, here: dict[str, Any], there: dict[str, Any]
) -> None:
    active, standby = (
        {name: topic(name, parts, copies, **values) for name, (parts, copies, values) in each.items()}
        for each in (here, there)
    )
    before = {name: found.layout.partitions for name, found in standby.items()}
    plan = make_plan(side("east", *active.values()), side("west", *standby.values()), group, epoch=1)
    for row in plan.changes:
        assert not (isinstance(row.change, CreateTopic) and row.change.topic.name in before)
        apply(row.change, standby)
    after = {name: found.layout.partitions for name, found in standby.items()}
    assert all(after[name] >= partitions for name, partitions in before.items())


@given(TOPICS_OF_A_SIDE, TOPICS_OF_A_SIDE, st.integers(0, 20))
def test_whenever_an_apply_is_killed_the_next_plan_is_the_rest(
    group: ProtectionGroup, here: dict[str, Any], there: dict[str, Any], made: int
) -> None:
    active, standby = (
        {name: topic(name, parts, copies, **values) for name, (parts, copies, values) in each.items()}
        for each in (here, there)
    )
    first = make_plan(side("east", *active.values()), side("west", *standby.values()), group, epoch=1)
    for row in first.changes[:made]:
        apply(row.change, standby)
    rest = make_plan(side("east", *active.values()), side("west", *standby.values()), group, epoch=1)
    assert rest.changes == first.changes[made:]


def apply(change: Any, topics: dict[str, Any]) -> None:
    """Make a change in memory."""
    match change:
        case CreateTopic(new):
            topics[new.name] = topic(new.name, new.partitions, new.replication_factor, **dict(new.configs))
        case AddPartitions(name, total):
            old = topics[name]
            topics[name] = type(old)(type(old.layout)(name, total, old.layout.replication_factor), old.configs)
        case SetConfig(name, key, value):
            old = topics[name]
            topics[name] = type(old)(old.layout, {**old.configs, key: ConfigValue(value, Origin.TOPIC)})
