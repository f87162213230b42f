"""The judge of a report about somebody else's copy: red for what it does not know, and for what nobody found."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from kafka_dr.positions import TopicPartition
from lab.demo.observed.judge import judge
from lab.demo.observed.truth import ChangedSetting, FaultyRecords, GroupCost, RecordFault, Truth

PAYMENTS = "orders.payments"
ONE, TWO = TopicPartition(PAYMENTS, 1), TopicPartition(PAYMENTS, 2)
LOST = FaultyRecords(RecordFault.LOST, "skipped", ONE, 5, source_offset=30)
CHANGED = FaultyRecords(RecordFault.CHANGED, "by hand", TWO, 1, source_offset=40, target_offset=90)
TRUTH = Truth(
    (
        FaultyRecords(RecordFault.SECOND_COPIES, "killed", ONE, 20),
        FaultyRecords(RecordFault.SECOND_COPIES, "killed", TWO, 50),
        LOST,
        CHANGED,
        FaultyRecords(RecordFault.NOT_COPIED, "ended", TWO, 3),
    ),
    (ChangedSetting("disks", PAYMENTS, "retention.ms", "604800000", "3600000"),),
    (GroupCost("orders-head", again=20, skipped=0), GroupCost("orders-ledger", again=0, skipped=7, how="at the end")),
)


def report() -> dict[str, Any]:
    """Return what a right report says."""
    about = {"topic": PAYMENTS, "verdict": "failed", "read": 100, "equal": 92, "equal_until": 30, "source_end": 100}
    place = {"topic": PAYMENTS, "detail": "", "target_offset": None}
    return {
        "sentence": "If you failed over, you would lose 8 records and deliver 20 records again; ledger would skip.",
        "partitions": [
            about | {"partition": 1, "lost": 5, "duplicated": 20, "in_flight": 0, "late": 0, "corrupted": 0},
            about | {"partition": 2, "lost": 0, "duplicated": 50, "in_flight": 2, "late": 1, "corrupted": 1},
        ],
        "findings": [
            place | {"partition": 1, "kind": "lost", "source_offset": 30, "count": 5},
            place | {"partition": 1, "kind": "duplicated", "source_offset": None, "target_offset": 55, "count": 20},
            place | {"partition": 2, "kind": "corrupted", "source_offset": 40, "target_offset": 90, "count": 1},
        ],
        "configuration": [
            {
                "topic": PAYMENTS,
                "setting": "retention.ms",
                "verdict": "failed",
                "source": "604800000 (inherited: Kafka's default)",
                "target": "3600000",
            }
        ],
        "groups": [
            {"group": "orders-head", "again": 20, "skipped": 0, "partitions_without_position": 0},
            {"group": "orders-ledger", "again": 0, "skipped": 7, "partitions_without_position": 0},
        ],
        "retention": [{"topic": PAYMENTS, "verdict": "ok", "meaning": ""}],
        "not_looked_at": [],
        "partitions_left_out": [],
    }


def red(truth: Truth, found: dict[str, Any]) -> list[str]:
    """Return the faults about which the report is wrong."""
    return [each.fault for each in judge(truth, found) if not each.equal]


def test_a_report_that_names_each_fault_where_it_is_and_nothing_else_is_right() -> None:
    assert red(TRUTH, report()) == []
    by_name = {each.fault: each.put_in for each in judge(TRUTH, report())}
    assert by_name["second copies"] == "70 (orders.payments-1: 20; orders.payments-2: 50)"
    assert by_name["lost records"] == "orders.payments-1 at source 30: 5"
    assert by_name["foreign records"] == by_name["anything else"] == "nothing"


@pytest.mark.parametrize(
    ("untold", "wrong"),
    [
        (replace(TRUTH, records=tuple(each for each in TRUTH.records if each is not LOST)), ["lost records"]),
        (replace(TRUTH, records=tuple(each for each in TRUTH.records if each is not CHANGED)), ["changed copies"]),
        (replace(TRUTH, settings=()), ["retention.ms of orders.payments"]),
        (replace(TRUTH, groups=TRUTH.groups[:1]), ["group orders-ledger"]),
    ],
)
def test_a_fault_that_was_put_in_and_that_the_judge_does_not_know_is_red(untold: Truth, wrong: list[str]) -> None:
    assert [each for each in red(untold, report()) if each != "the one sentence"] == wrong


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        (replace(TRUTH, records=(*TRUTH.records, replace(CHANGED, target_offset=91))), ["changed copies"]),
        (
            replace(TRUTH, records=(*TRUTH.records, FaultyRecords(RecordFault.FOREIGN, "by hand", ONE, 1, None, 7))),
            ["foreign records"],
        ),
        (
            replace(TRUTH, settings=(*TRUTH.settings, replace(TRUTH.settings[0], setting="max.message.bytes"))),
            ["max.message.bytes of orders.payments"],
        ),
        (replace(TRUTH, groups=(*TRUTH.groups, GroupCost("orders-mailer", 0, 0))), ["group orders-mailer"]),
    ],
)
def test_a_fault_that_the_judge_knows_and_nobody_found_is_red(told: Truth, wrong: list[str]) -> None:
    assert red(told, report()) == wrong


def test_a_fault_that_is_found_at_another_offset_is_red() -> None:
    moved = report()
    moved["findings"][0]["source_offset"] = 31
    assert red(TRUTH, moved) == ["lost records"]

    elsewhere = report()
    elsewhere["partitions"][0]["duplicated"], elsewhere["partitions"][1]["duplicated"] = 50, 20
    assert red(TRUTH, elsewhere) == ["second copies"]


@pytest.mark.parametrize(
    "claimed",
    [
        {"not_looked_at": ["settings were not looked at"]},
        {"partitions_left_out": [{"topic": PAYMENTS, "partition": 5}]},
        {"retention": [{"topic": PAYMENTS, "verdict": "unknown", "meaning": "not known"}]},
    ],
)
def test_anything_else_that_is_claimed_is_red(claimed: dict[str, Any]) -> None:
    assert red(TRUTH, report() | claimed) == ["anything else"]


def test_a_kind_of_fault_that_nobody_put_in_is_red_by_its_name() -> None:
    more = report()
    more["partitions"][1]["reordered"] = 2
    (wrong,) = (each for each in judge(TRUTH, more) if not each.equal)
    assert wrong.found == "reordered orders.payments-2: 2"


def test_lost_records_that_are_counted_and_have_no_offset_are_red() -> None:
    cut = report()
    cut["findings"] = cut["findings"][1:]
    assert red(TRUTH, cut) == ["lost records"]

    # Nor are they passed over where nobody put any in.
    none = replace(TRUTH, records=tuple(each for each in TRUTH.records if each is not LOST))
    assert "lost records" in red(none, cut)


def test_a_sentence_with_another_number_is_red_and_so_is_one_that_only_knows_a_bound() -> None:
    said = report()
    assert red(TRUTH, said | {"sentence": said["sentence"].replace("8", "5")}) == ["the one sentence"]
    assert red(TRUTH, said | {"sentence": said["sentence"].replace("8", "at least 8")}) == ["the one sentence"]


def test_a_group_of_which_the_report_knows_nothing_is_red() -> None:
    unknown = deepcopy(report())
    unknown["groups"][0]["again"] = None
    assert red(TRUTH, unknown) == ["group orders-head"]
