"""Which topics of patterns a flow may copy: fenced ones, and after a take over only what nothing else has copied."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.clusters import Acl, Topic, TopicPartition
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import closing
from kafka_dr.health.restore_fence import new_topics
from kafka_dr.outcomes import Check
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed
from kafka_dr.replication.copy_settings import CopySettings
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import Positions
from kafka_dr.replication.settings import flow_settings
from kafka_dr.runs.fenced_topics import TopicsToCopy, fenced, topics_to_copy
from kafka_dr.topology.declared import NotLookedUp
from kafka_dr.topology.existing import ExistingReplicationSpec
from kafka_dr.topology.loading import load
from lab.layout import PROJECT
from support.pattern_group import _ENVIRON, pattern_group
from support.register_states import a_state

GROUP = pattern_group(r"eu\.[a-z]+").with_matched(["eu.a", "eu.b"])
OF_A = plan.standby(pattern_group(r"eu\.[a-z]+").with_matched(["eu.a"]))


def test_a_topic_is_fenced_when_all_of_its_denys_are_there_and_not_before() -> None:
    wanted = plan.standby(GROUP)
    assert fenced(GROUP, wanted, OF_A) == {"eu.a"}
    assert fenced(GROUP, wanted, wanted) == {"eu.a", "eu.b"}
    one_missing = OF_A - {min(acl for acl in OF_A if acl.name == "eu.a")}
    assert fenced(GROUP, wanted, one_missing) == frozenset()
    closed = frozenset(map(closing, wanted - plan.probe_fence(GROUP))) | plan.probe_fence(GROUP)
    assert fenced(GROUP, wanted, closed) == {"eu.a", "eu.b"}
    assert fenced(GROUP, wanted, {acl for acl in closed if acl.name != "eu.b"}) == {"eu.a"}


def test_a_topic_that_is_copied_stays_copied_whatever_somebody_removes() -> None:
    group = WithOldReplication(taken_over=False)
    group.copied = {"eu.a"}
    group.denied = frozenset()
    found = group.look()
    assert (found.group.matched_topics, found.unfenced, found.filled) == (("eu.a",), ("eu.b",), ())


class WithOldReplication:
    """A group whose replication was taken over, or not, and its new topics; in memory.

    :param taken_over: the old replication is denied on each topic by name, and its process still runs
    """

    def __init__(self, *, taken_over: bool) -> None:
        existing = ExistingReplicationSpec(replicator="external", principal="User:old")
        self.group = GROUP.model_copy(update={"existing_replication": existing}).with_matched(["eu.a", "eu.b"])
        self.seed = FlowSeed(1, "east", "west", {TopicPartition("eu.a", 0): 7}, mode="take_over")
        self.taken_over = taken_over
        self.denied: frozenset[Acl] = OF_A | {acl for acl in self.kept_out() if acl.name != "eu.b"}
        #: Log ends on west; the topics that the flow is set up to copy; what it has copied itself.
        self.ends = {"eu.a": 9}
        self.copied: Collection[str] = ()
        self.own: dict[TopicPartition, int] = {}
        self.proven = True

    def kept_out(self) -> frozenset[Acl]:
        return plan.existing_denies(self.group, "west") if self.taken_over else frozenset()

    def old_copies(self) -> None:
        if not plan.existing_fence(self.group, "west") <= self.denied:
            self.ends["eu.b"] = self.ends.get("eu.b", 0) + 5

    def health_looks(self) -> None:
        self.denied |= plan.standby(self.group) | self.kept_out()

    def flows_looks(self) -> None:
        self.copied = self.look().group.matched_topics

    @property
    def copies_twice(self) -> bool:
        return "eu.b" in self.copied and self.ends.get("eu.b", 0) > 0

    def look(self) -> TopicsToCopy:
        topics = {name: Topic(name, f"id-{name}", (1,)) for name in self.ends}
        on_west = SimpleNamespace(
            names=lambda: frozenset(topics),
            describe=lambda names: {name: topics[name] for name in names},
            high_watermarks=lambda partitions: {p: self.ends[p.topic] for p in partitions},
        )
        flow = SimpleNamespace(
            status=lambda: SimpleNamespace(state="running"),
            where=lambda: Positions(self.own, 1),
        )
        history = {"run": {FLOW_SEED: self.seed.to_json()}}
        clients = SimpleNamespace(
            register=lambda _: SimpleNamespace(history=lambda _: history), replicator=lambda _: flow
        )
        context = SimpleNamespace(
            group=self.group,
            replaced=lambda *_: self.seed if self.taken_over else None,
            kept_out=lambda *_: self.kept_out(),
            rules_in_force=lambda _: frozenset(self.denied),
            copies_by=lambda _: SimpleNamespace(topics=on_west),
            led_with_copies=lambda _: {},
            writes_refused=lambda _, led: Check.that("writes_refused", self.proven, "asked"),
            clients=clients,
        )
        return topics_to_copy(cast("Any", context), Flow("orders", "east", "west"), a_state(), self.copied)


EVENTS = (WithOldReplication.old_copies, WithOldReplication.health_looks, WithOldReplication.flows_looks)


def test_no_order_of_looks_lets_the_old_and_the_new_flow_copy_the_same_topic() -> None:
    for events in itertools.product(EVENTS, repeat=4):
        group = WithOldReplication(taken_over=True)
        for event in events:
            event(group)
            assert not group.copies_twice, events
        found = group.look()
        assert "eu.a" in found.group.matched_topics, "the flow was seeded there, so what west held is known"
        is_fenced = WithOldReplication.health_looks in events
        if group.ends.get("eu.b"):
            assert (found.filled if is_fenced else found.unfenced) == ("eu.b",), "it is named, and why"
        else:
            assert ("eu.b" in found.group.matched_topics) is is_fenced


def test_a_topic_that_is_closed_to_applications_alone_waits_until_the_old_replication_is_kept_out_too() -> None:
    group = WithOldReplication(taken_over=True)
    group.denied |= plan.standby(group.group)
    assert group.look().unfenced == ("eu.b",)


def test_a_topic_of_which_a_leader_does_not_apply_the_fence_yet_waits() -> None:
    group = WithOldReplication(taken_over=True)
    group.health_looks()
    group.ends["eu.b"], group.proven = 0, False
    assert group.look().unfenced == ("eu.b",)
    group.proven = True
    assert group.look().group.matched_topics == ("eu.a", "eu.b")


def test_what_the_flow_has_copied_itself_is_copied_again_after_somebody_deleted_its_connector() -> None:
    group = WithOldReplication(taken_over=True)
    group.health_looks()
    group.ends["eu.b"] = 5
    assert group.look().filled == ("eu.b",)
    group.own = {TopicPartition("eu.b", 0): 5}
    assert group.look().group.matched_topics == ("eu.a", "eu.b")


def test_of_a_group_that_was_not_taken_over_a_new_topic_is_only_fenced_first() -> None:
    group = WithOldReplication(taken_over=False)
    group.health_looks()
    group.ends["eu.b"] = 5
    assert group.look().group.matched_topics == ("eu.a", "eu.b")


def test_replication_gets_names_and_never_the_pattern() -> None:
    clusters = load(PROJECT / "include" / "topology.yaml", _ENVIRON)
    flow = Flow("orders", "east", "west")
    found = {
        each.key: each.value
        for each in flow_settings(
            flow,
            group=GROUP,
            source=clusters.cluster("east"),
            target=clusters.cluster("west"),
            copies=CopySettings(),
        )
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
