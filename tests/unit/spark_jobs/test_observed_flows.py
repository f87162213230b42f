"""What audits ask of a flow that somebody else runs, whatever its naming: offsets, and what may not be seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobs.checksum.ranges import resolve
from jobs.checksum.state import AuditState, PartitionState
from jobs.flows import flow_of
from jobs.lag.observed import LIFE, EndOfLogs, ask_observed
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.lag.retention import Retention
from kafka_dr.lag.verdict import Sample
from kafka_dr.lag.window import Series, Window
from kafka_dr.naming import Naming
from support.manual_clock import ManualClock
from support.memory_cluster import MemoryCluster, numbered
from support.observed_twins import NAMINGS, TOPIC, between, clusters, observed_flow
from support.sentences import assert_sentence

P = TopicPartition(TOPIC, 0)
CLOCK = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))
EACH = pytest.mark.parametrize("naming", NAMINGS.values(), ids=NAMINGS)


@EACH
def test_the_offsets_of_both_clusters_have_the_names_of_the_source(naming: Naming) -> None:
    found = resolve(between(observed_flow(naming), *clusters(naming)), clock=CLOCK)

    assert found.source.ranges == {P: OffsetRange(0, 10), TopicPartition(TOPIC, 1): OffsetRange(0, 0)}
    # The target's own topic is not a copy, whatever it is called.
    assert found.target.ranges == {P: OffsetRange(0, 8)}
    own = naming.copy_of(TOPIC)
    assert (found.source.topics[TOPIC].topic_id, found.target.topics[TOPIC].topic_id) == (
        f"id-berlin-{TOPIC}",
        f"id-hamburg-{own}",
    )
    assert (found.positions, found.epoch, found.left_out, found.cautions) == (None, None, (), ())


@EACH
def test_a_copy_that_may_not_be_seen_is_not_a_copy_that_is_missing(naming: Naming) -> None:
    source, target = clusters(naming)
    target = replace(target, hidden=(str(naming.copy_of(TOPIC)),))
    found = resolve(between(observed_flow(naming), source, target), clock=CLOCK)

    assert found.partitions == []
    (said,) = found.left_out
    assert said.startswith(f"{TOPIC} was not looked at, its copy is hidden: ")

    asked = ask_observed(
        between(observed_flow(naming), source, target), state=None, window=Window(), most=100, clock=CLOCK
    )
    assert (asked.facts.partitions, len(asked.facts.left_out)) == ((), 1)


def test_what_is_declared_and_not_there_is_named_and_settings_that_may_not_be_seen_are_said_once() -> None:
    naming = NAMINGS["default"]
    source, target = clusters(naming)
    flow = observed_flow(naming, topics=(TOPIC, "none", "__own"))
    found = resolve(between(flow, replace(source, settings_hidden=True), target), clock=CLOCK)

    assert_sentence(found.left_out)
    (said,) = found.cautions
    assert said.startswith(
        "whether compaction is set on 1 topic of berlin is not known (DESCRIBE_CONFIGS is not granted)"
    )
    assert resolve(between(flow, source, target), clock=CLOCK, only=[TOPIC]).left_out == ()


def test_timestamps_count_where_only_the_source_stamps_records() -> None:
    """Somebody else's flow has no other direction, so the source holds no copies."""
    found = resolve(between(observed_flow(NAMINGS["affix"]), *clusters(NAMINGS["affix"])), clock=CLOCK)
    assert found.with_stamped({TOPIC}, ()).restamped == frozenset()
    assert found.with_stamped((), {TOPIC}).restamped == {TOPIC}


def facts_of(
    naming: Naming, *, state: AuditState | None = None, window: Window | None = None, most: int = 100
) -> EndOfLogs:
    found = between(observed_flow(naming), *clusters(naming))
    return ask_observed(found, state=state, window=window or Window(), most=most, clock=CLOCK).ends[P]


def settled(naming: Naming, *, source: str = "B") -> AuditState:
    ids = (f"id-berlin-{TOPIC}", f"id-hamburg-{naming.copy_of(TOPIC)}")
    return AuditState((source, "H", 0), {TOPIC: ids}, {P: PartitionState((6, 5), (10, 8))})


@EACH
def test_how_far_a_copy_is_is_looked_for_from_where_the_last_checksum_audit_ended(naming: Naming) -> None:
    assert facts_of(naming, state=settled(naming)) == EndOfLogs(OffsetRange(6, 10), OffsetRange(5, 8), True, 6)
    # Before the first one, from where both logs begin; too much of them is not read.
    assert facts_of(naming) == EndOfLogs(OffsetRange(0, 10), OffsetRange(0, 8), True, None)
    assert facts_of(naming, most=3) == EndOfLogs(OffsetRange(7, 10), OffsetRange(5, 8), False, None)
    other = settled(naming, source="another")
    assert facts_of(naming, state=other) == facts_of(naming)


def test_what_an_earlier_look_found_holds_as_long_as_both_topics_are_the_same() -> None:
    naming = NAMINGS["default"]
    series = Series("", TOPIC, 0)
    looks = {series: (Sample(CLOCK.now() - timedelta(minutes=5), 7, 9, 2, 1.0),)}
    life = f"{LIFE}/id-berlin-{TOPIC}/id-hamburg-berlin.{TOPIC}"
    assert facts_of(naming, window=Window(looks, {series: life})).known == 7
    assert facts_of(naming, window=Window(looks, {series: f"{life}-2"})).known is None


def test_the_lag_of_groups_is_that_on_the_source_and_what_may_not_be_seen_is_said() -> None:
    naming = NAMINGS["default"]
    source, target = clusters(naming)
    source = replace(source, committed_offsets={"ledger": {P: 4}, "other": {P: 1}}, settings_hidden=True)
    asked = ask_observed(
        between(observed_flow(naming), source, target), state=None, window=Window(), most=100, clock=CLOCK
    )

    assert [(group.group, group.positions) for group in asked.facts.groups] == [("ledger", {(TOPIC, 0): 4})]
    assert_sentence(asked.facts.cautions)
    assert {seen.retention for seen in asked.facts.partitions} == {Retention()}
    assert asked.facts.state == "observed"


def test_results_of_an_observed_flow_are_kept_under_its_name() -> None:
    flow = flow_of(observed_flow(NAMINGS["default"]))
    assert (flow.group, flow.source, flow.target) == ("invoices-to-hamburg", "berlin", "hamburg")


def test_a_topic_that_only_the_target_has_is_nobodys_copy() -> None:
    source = MemoryCluster("berlin", "B", {"orders": [[]]})
    target = MemoryCluster("hamburg", "H", {f"berlin.{TOPIC}": [numbered(f"berlin.{TOPIC}", range(3))]})
    found = resolve(between(observed_flow(NAMINGS["default"]), source, target), clock=CLOCK)
    assert found.partitions == []
    assert_sentence(found.left_out)
