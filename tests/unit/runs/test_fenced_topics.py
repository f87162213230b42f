from __future__ import annotations

import pytest

from kafka_dr.fencing import plan
from kafka_dr.health.restore_fence import new_topics
from kafka_dr.replication import Flow
from kafka_dr.replication.settings import flow_settings
from kafka_dr.runs.fenced_topics import fenced
from kafka_dr.topology import NotLookedUp, load
from lab.layout import PROJECT
from support.pattern_group import _ENVIRON, pattern_group

GROUP = pattern_group(r"eu\.[a-z]+").with_matched(["eu.a", "eu.b"])
OF_A = plan.standby(pattern_group(r"eu\.[a-z]+").with_matched(["eu.a"]))


def test_a_topic_is_copied_when_all_of_its_denys_are_there_and_not_before() -> None:
    assert fenced(GROUP, OF_A, copied=()).matched_topics == ("eu.a",)
    assert fenced(GROUP, plan.standby(GROUP), copied=()).matched_topics == ("eu.a", "eu.b")
    one_missing = OF_A - {min(acl for acl in OF_A if acl.name == "eu.a")}
    assert fenced(GROUP, one_missing, copied=()).matched_topics == ()


def test_a_topic_that_is_copied_stays_copied_whatever_somebody_removes() -> None:
    assert fenced(GROUP, (), copied=(r"payments", r"eu\.b")).matched_topics == ("eu.b",)


def test_replication_gets_names_and_never_the_pattern() -> None:
    clusters = load(PROJECT / "include" / "topology.yaml", _ENVIRON)
    flow = Flow("orders", "east", "west")
    found = {
        each.key: each.value
        for each in flow_settings(flow, group=GROUP, source=clusters.cluster("east"), target=clusters.cluster("west"))
    }
    assert found["topics"] == r"payments,eu\.a,eu\.b"


def test_what_nobody_looked_up_is_neither_fenced_nor_copied_in_silence() -> None:
    declared = pattern_group(r"eu\.[a-z]+")
    with pytest.raises(NotLookedUp, match="patterns of orders has not been looked up"):
        plan.standby(declared)
    with pytest.raises(NotLookedUp):
        _ = declared.literal_topics
    assert pattern_group().literal_topics == ("payments",), "without patterns there is nothing to look up"


def test_the_canary_topic_is_fenced_before_it_exists_although_a_pattern_covers_it() -> None:
    group = pattern_group(r"[a-z]+\.dr-canary").with_matched([])
    assert "orders.dr-canary" in {acl.name for acl in plan.write_fence(group)}


def test_a_new_topic_is_no_fence_that_somebody_took_away() -> None:
    of_b = plan.standby(GROUP) - OF_A
    assert new_topics(GROUP, of_b, OF_A) == ("eu.b",)
    assert new_topics(GROUP, of_b, plan.standby(GROUP)) == (), "it was fenced before"
    somebody = {next(iter(OF_A))}
    assert new_topics(GROUP, of_b | somebody, OF_A) == (), "something else is missing, too"
    assert new_topics(GROUP, (), OF_A) == ()
