"""The topics of the old cluster when it was fenced, compared with those at the end of the run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_dr.checks.topic_layout import GroupLayout, LayoutChanges, compare, judged
from kafka_dr.clusters import TopicPartition
from kafka_dr.evidence.known_secrets import KnownSecrets, refuse_secrets
from support.sentences import assert_sentence

AT = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
ONE, TWO = TopicPartition("orders.a", 0), TopicPartition("orders.a", 1)
BEFORE = GroupLayout(AT, {"orders.a": ("id-a", 2), "orders.b": ("id-b", 1)}, {ONE: 5, TWO: 0}, {ONE: 40})
ELSEWHERE = {"orders.a": 2, "orders.b": 1}


def now(**changes: object) -> GroupLayout:
    return replace(BEFORE, at=AT + timedelta(seconds=9), **changes)  # type: ignore[arg-type]


def test_an_unchanged_cluster_is_ok() -> None:
    assert compare(BEFORE, now(), ELSEWHERE) == LayoutChanges()
    assert judged("east", LayoutChanges(), topics=2).outcome == "ok"


@pytest.mark.parametrize(
    "changes",
    [
        {"topics": {"orders.a": ("id-a", 2)}},
        {"topics": {**BEFORE.topics, "orders.c": ("id-c", 1)}},
        {"topics": {**BEFORE.topics, "orders.b": ("id-x", 1)}},
        {"topics": {**BEFORE.topics, "orders.a": ("id-a", 3)}},
        # Retention by time could have deleted offsets up to 40.
        {"starts": {ONE: 41, TWO: 0}},
    ],
)
def test_what_somebody_changed_is_named_and_fails(changes: dict[str, object]) -> None:
    changed = compare(BEFORE, now(**changes), ELSEWHERE)

    assert (len(changed.certainly), changed.perhaps) == (1, ())
    check = judged("east", changed, topics=2)
    assert check.outcome == "failed"
    assert_sentence(check.detail)


@pytest.mark.parametrize("starts", [{ONE: 40, TWO: 0}, {ONE: 5, TWO: 3}])
def test_what_retention_may_have_deleted_is_named_and_excused(starts: dict[TopicPartition, int]) -> None:
    changed = compare(BEFORE, now(starts=starts), ELSEWHERE)

    assert changed.certainly == ()
    assert judged("east", changed, topics=2).outcome == "excused"


def test_after_a_long_time_retention_explains_every_deleted_record() -> None:
    later = replace(BEFORE, at=AT + timedelta(days=2), starts={ONE: 90, TWO: 0})

    changed = compare(BEFORE, later, ELSEWHERE)
    assert (changed.certainly, len(changed.perhaps)) == ((), 1)
    assert_sentence(changed.perhaps)


def test_what_replication_created_is_no_change() -> None:
    topics = {**BEFORE.topics, "orders.a": ("id-a", 4), "orders.new": ("id-n", 1)}

    assert compare(BEFORE, now(topics=topics), {"orders.a": 4, "orders.b": 1, "orders.new": 1}) == LayoutChanges()


def test_a_layout_is_journaled_and_read_back() -> None:
    assert GroupLayout.from_json(BEFORE.to_json()) == BEFORE


def test_a_topic_named_like_a_secret_is_data() -> None:
    before = replace(BEFORE, topics={"orders_token": ("id-a", 2)})
    kept = before.to_json()
    refuse_secrets(kept, KnownSecrets())
    assert GroupLayout.from_json(kept) == before
