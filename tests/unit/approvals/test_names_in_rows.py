"""Names are in rows: whatever a group or a topic is called, no name is a key of what is stored."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kafka_dr.approvals import decision
from kafka_dr.clusters import TopicPartition
from kafka_dr.evidence.known_secrets import KnownSecrets, refuse_secrets
from kafka_dr.failback.decision import OLD_TOPICS
from kafka_dr.failback.prepare_old_cluster import approved_deletes
from kafka_dr.named_rows import by_name, groups_from_json, groups_to_json, rows_of
from kafka_dr.register.quarantine import QuarantinedRange, quarantine_fact, quarantined
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.verbs.runner import dry_run_report

HOSTILE = ("password", "client_secret", "sasl.jaas.config", 'password="hunter2"', "x-token", "#0", "", " ", "a/b", "\0")
NAMES = st.one_of(st.sampled_from(HOSTILE), st.text())
PLACES = st.dictionaries(st.builds(TopicPartition, NAMES, st.integers(0, 9)), st.integers(0, 9))
FACTS: dict[str, Any] = {
    "protection_group": "orders",
    "cluster_ids": [{"cluster": "east", "cluster_id": "e"}, {"cluster": "west", "cluster_id": "w"}],
    "partitions": [{"topic": "orders.client_secret", "partitions": 3}],
    "offset_classes": [{"group": "orders-token", "class": "exact"}],
    "deletes": [{"topic": "orders.authorization", "topic_id": "a"}],
    "stranded": None,
}


@given(found=st.dictionaries(NAMES, st.integers()))
def test_rows_come_back_as_they_were_and_hold_no_name_as_a_key(found: dict[str, int]) -> None:
    rows = json.loads(json.dumps(rows_of(found, named="group", holding="records")))
    assert by_name(rows, named="group", holding="records") == found
    assert {key for row in rows for key in row} <= {"group", "records"}
    refuse_secrets({"rows": rows}, KnownSecrets())


@given(groups=st.dictionaries(NAMES, PLACES))
def test_positions_of_groups_come_back_as_they_were(groups: dict[str, dict[TopicPartition, int]]) -> None:
    kept = json.loads(json.dumps(groups_to_json(groups)))
    assert groups_from_json(kept) == groups
    refuse_secrets({"group_offsets": kept}, KnownSecrets())


def test_what_was_approved_is_approved_still() -> None:
    assert decision.unchanged(cast("Run", None), FACTS, approved=(decision.digest_of(FACTS),)).outcome == "ok"
    assert decision.partitions_said(FACTS) == "3 partitions of 1 topic"


def test_answers_about_two_questions_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision, "difference", lambda run, now: "two answers")
    both = [decision.digest_of(facts) for facts in (FACTS, {**FACTS, "stranded": 1})]
    assert decision.unchanged(cast("Run", None), FACTS, approved=both).outcome == "failed"


@pytest.mark.parametrize("facts", [FACTS, {}])
def test_what_may_be_deleted_is_read(facts: dict[str, Any]) -> None:
    assert approved_deletes(facts) == ({"orders.authorization": "a"} if facts else {})


def test_a_dry_run_of_a_rebuild_counts_what_it_would_delete() -> None:
    request = RunRequest("orders", "home", verb="failback", mode="rebuild")
    run = SimpleNamespace(request=request, group=SimpleNamespace(name="orders"), source="west", target="east")
    held = {"orders.authorization": {"records": 1200, "bytes": 9, "stranded": 3}}
    facts = {
        "decision": {**FACTS, "mode": "rebuild", "rescue": "keep"},
        "measurements": {"old_side": rows_of(held, **OLD_TOPICS), "stranded_records": 3},
    }
    assert "1 topic with at most 1,200 records would be deleted on east" in dry_run_report(cast("Run", run), facts)


def test_a_quarantine_is_read_for_the_topics_that_are_the_same() -> None:
    ids = {"orders.client_secret": "a", "orders.payments": "b"}
    ranges = [QuarantinedRange("orders.client_secret", 0, 3, 5), QuarantinedRange("orders.payments", 1, 0, 9)]
    fact = quarantine_fact("east", ranges, ids)
    assert quarantined({"home": {"quarantine": fact}}, "east", ids) == tuple(ranges)
    assert quarantined({"home": {"quarantine": fact}}, "east", {**ids, "orders.payments": "new"}) == (ranges[0],)
