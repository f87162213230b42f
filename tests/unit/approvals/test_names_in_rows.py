"""Names are in rows; what former versions wrote by name is read as before, so that their runs can be finished."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kafka_dr.approvals import decision
from kafka_dr.clusters import TopicPartition
from kafka_dr.evidence import KnownSecrets
from kafka_dr.evidence.known_secrets import refuse_secrets
from kafka_dr.failback.decision import OLD_TOPICS
from kafka_dr.failback.prepare_old_cluster import approved_deletes
from kafka_dr.failover import dry_run
from kafka_dr.group_offsets.last_look import FileLookStore
from kafka_dr.named_rows import by_name, groups_from_json, groups_to_json, rows_of
from kafka_dr.register.quarantine import QuarantinedRange, quarantine_fact, quarantined
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run

HOSTILE = ("password", "client_secret", "sasl.jaas.config", 'password="hunter2"', "x-token", "#0", "", " ", "a/b", "\0")
NAMES = st.one_of(st.sampled_from(HOSTILE), st.text())
PLACES = st.dictionaries(st.builds(TopicPartition, NAMES, st.integers(0, 9)), st.integers(0, 9))
#: Decision facts as they are now, and as they were approved under the former version.
FACTS: dict[str, Any] = {
    "protection_group": "orders",
    "cluster_ids": [{"cluster": "east", "cluster_id": "e"}, {"cluster": "west", "cluster_id": "w"}],
    "partitions": [{"topic": "orders.client_secret", "partitions": 3}],
    "offset_classes": [{"group": "orders-token", "class": "exact"}],
    "deletes": [{"topic": "orders.authorization", "topic_id": "a"}],
    "stranded": None,
}
FORMER: dict[str, Any] = {
    "protection_group": "orders",
    "cluster_ids": {"east": "e", "west": "w"},
    "partitions": {"orders.client_secret": 3},
    "offset_classes": {"orders-token": "exact"},
    "deletes": {"orders.authorization": "a"},
    "stranded": None,
}


@given(found=st.dictionaries(NAMES, st.integers()))
def test_rows_come_back_as_they_were_and_hold_no_name_as_a_key(found: dict[str, int]) -> None:
    rows = json.loads(json.dumps(rows_of(found, named="group", holding="records")))
    assert by_name(rows, named="group", holding="records") == found
    assert {key for row in rows for key in row} <= {"group", "records"}
    refuse_secrets({"rows": rows}, KnownSecrets())
    assert by_name(found, named="group", holding="records") == found


@given(groups=st.dictionaries(NAMES, PLACES))
def test_positions_of_groups_come_back_in_either_shape(groups: dict[str, dict[TopicPartition, int]]) -> None:
    kept = json.loads(json.dumps(groups_to_json(groups)))
    assert groups_from_json(kept) == groups
    refuse_secrets({"group_offsets": kept}, KnownSecrets())
    former = {row["group"]: row["positions"] for row in kept}
    assert groups_from_json(former) == groups


def test_what_was_approved_under_the_former_version_is_approved_still() -> None:
    run = cast("Run", None)
    assert decision.in_former_shape(FACTS) == decision.in_former_shape(FORMER) == FORMER
    for facts in (FACTS, FORMER):
        assert decision.unchanged(run, FACTS, approved=(decision.digest_of(facts),)).outcome == "ok"
        assert decision.partitions_said(facts) == "3 partitions of 1 topics"


def test_an_answer_about_both_shapes_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision, "difference", lambda run, now: "two answers")
    both = [decision.digest_of(facts) for facts in (FACTS, FORMER)]
    assert decision.unchanged(cast("Run", None), FACTS, approved=both).outcome == "failed"


@pytest.mark.parametrize("facts", [FACTS, FORMER, {}])
def test_what_may_be_deleted_is_read_in_either_shape(facts: dict[str, Any]) -> None:
    assert approved_deletes(facts) == ({"orders.authorization": "a"} if facts else {})


def test_a_dry_run_of_a_rebuild_counts_what_it_would_delete() -> None:
    request = RunRequest("orders", "home", verb="failback", mode="rebuild")
    run = SimpleNamespace(request=request, group=SimpleNamespace(name="orders"), source="west", target="east")
    held = {"orders.authorization": {"records": 1200, "bytes": 9, "stranded": 3}}
    facts = {
        "decision": {**FACTS, "mode": "rebuild", "rescue": "keep"},
        "measurements": {"old_side": rows_of(held, **OLD_TOPICS), "stranded_records": 3},
    }
    assert "1 topics with at most 1,200 records would be deleted on east" in dry_run.sentence(cast("Run", run), facts)


def test_a_quarantine_is_read_in_either_shape() -> None:
    ids = {"orders.client_secret": "a", "orders.payments": "b"}
    ranges = [QuarantinedRange("orders.client_secret", 0, 3, 5), QuarantinedRange("orders.payments", 1, 0, 9)]
    fact = quarantine_fact("east", ranges, ids)
    for kept in (fact, {**fact, "topic_ids": ids}):
        assert quarantined({"home": {"quarantine": kept}}, "east", ids) == tuple(ranges)
        assert quarantined({"home": {"quarantine": kept}}, "east", {**ids, "orders.payments": "new"}) == (ranges[0],)


def test_the_last_look_of_a_former_version_is_read(tmp_path: Path) -> None:
    look = {
        "schema_version": 1,
        "epoch": 1,
        "at": "2026-11-20T14:00:00+00:00",
        "ends": [["orders.payments", 0, 9]],
        "groups": {"orders-token": [["orders.payments", 0, 7]]},
        "waiting": [],
    }
    folder = tmp_path / "last_looks" / "orders"
    folder.mkdir(parents=True)
    (folder / "east-to-west.json").write_text(json.dumps(look))
    store = FileLookStore(tmp_path, "orders")
    found = store.read("east-to-west")
    assert found is not None
    assert found.groups == {"orders-token": {TopicPartition("orders.payments", 0): 7}}

    store.write("east-to-west", found)
    assert json.loads((folder / "east-to-west.json").read_text())["groups"] == [
        {"group": "orders-token", "positions": [["orders.payments", 0, 7]]}
    ]
    assert store.read("east-to-west") == found
