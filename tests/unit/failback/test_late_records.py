"""When the flow of a cluster that was lost may continue: only exactly where it ended, in the logs that it has read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.audit.stranded import StrandedList, StrandedPartition
from kafka_dr.clusters import TopicPartition
from kafka_dr.failback import question
from kafka_dr.failback.checks import _flow_continues
from kafka_dr.failback.context import FailbackContext
from kafka_dr.failback.late import (
    LateTopic,
    choices_from_json,
    choices_to_json,
    chosen,
    late_topics,
    of_earlier_failback,
    only,
    passed_over,
    positions_after,
)
from kafka_dr.failback.settle import _kept
from kafka_dr.register.abandonment import OLD_CLUSTER_PREPARED
from kafka_dr.register.quarantine import QuarantinedRange
from kafka_dr.replication.flow import Flow

P, Q = TopicPartition("orders", 0), TopicPartition("orders", 1)
FLOW = Flow("orders", "west", "east")


def returned(
    *,
    positions: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
    copies: dict[TopicPartition, int],
    stranded: tuple[tuple[int, int], ...] = (),
    topic_id: str = "id",
    begun: bool = False,
    held: tuple[QuarantinedRange, ...] = (),
    several: bool = False,
) -> Any:
    """Return a failback of east, which had 100 records of P copied and is back."""
    topics = SimpleNamespace(high_watermarks=lambda wanted: {p: ends[p] for p in wanted})
    run = SimpleNamespace(
        flow_back=Flow("orders", "east", "west"),
        source="west",
        target="east",
        group=SimpleNamespace(owns_topic=lambda _: True),
        clients=SimpleNamespace(replicator=lambda _: SimpleNamespace(positions=lambda: positions)),
        partitions=lambda _: tuple(ends),
        operator=lambda _: SimpleNamespace(topics=topics),
        copies_by=lambda _: SimpleNamespace(topics=SimpleNamespace(high_watermarks=lambda _: copies)),
        copied_by=lambda _: tuple(copies),
        topic_ids=lambda _: {"orders": topic_id},
        record=lambda: SimpleNamespace(has_several=several),
        history={},
    )
    listed = SimpleNamespace(topic="orders", partition=0, ranges=stranded)
    found = SimpleNamespace(topic_ids={"orders": "id"}, partitions=(listed,))
    return SimpleNamespace(run=run, mode="deliver", stranded=found, was_begun_before=begun, passed_over=held)


GOOD: dict[str, Any] = {"positions": {P: 100}, "ends": {P: 120, Q: 0}, "copies": {P: 100, Q: 0}}


def test_a_log_that_was_only_appended_to_continues() -> None:
    assert _flow_continues(returned(**GOOD, stranded=((100, 120),))).outcome == "ok"


def test_next_to_a_further_standby_every_late_record_is_delivered() -> None:
    left_out = (QuarantinedRange("orders", 0, 100, 120),)
    assert _flow_continues(returned(**GOOD, several=True)).outcome == "ok"
    assert _flow_continues(returned(**GOOD, held=left_out)).outcome == "ok"
    assert _flow_continues(returned(**GOOD, held=left_out, several=True)).outcome == "failed"


def test_after_an_abandoned_failback_that_has_delivered_them_another_one_may_begin() -> None:
    delivered = {**GOOD, "positions": {P: 120}, "copies": {P: 120, Q: 0}}
    assert _flow_continues(returned(**delivered, stranded=((100, 120),))).outcome == "failed"
    assert _flow_continues(returned(**delivered, stranded=((100, 120),), begun=True)).outcome == "ok"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ends": {P: 90, Q: 0}}, "is not the log"),
        ({"topic_id": "another"}, "is not the log"),
        ({"stranded": ((90, 110),)}, "is not the log"),
        ({"positions": {}}, "has no position in orders-0"),
        ({"copies": {P: 100, Q: 7}}, "has no position in orders-1"),
    ],
    ids=["shorter", "made again", "cut and written again below the position", "no positions", "one is missing"],
)
def test_a_flow_that_would_leave_records_out_or_copy_them_twice_is_refused(changed: dict[str, Any], said: str) -> None:
    found = _flow_continues(returned(**(GOOD | changed)))
    assert found.outcome == "failed"
    assert said in found.detail


HELD = StrandedPartition("held", 0, 80, 100, 125, 90, 20, ((101, 121),), written_since=12, outdated=3)
#: What becomes of late records, by topic.
CHOICES: Any = {"held": "hold", "orders": "deliver", "aside": "stranded_topic"}
LISTED = StrandedList(
    "orders",
    "disaster",
    "east",
    "west",
    datetime(2026, 1, 1, tzinfo=UTC),
    {},
    {},
    (
        HELD,
        replace(HELD, partition=1, records=0, ranges=(), written_since=None, outdated=None),
        replace(HELD, topic="orders", written_since=1, outdated=0),
        replace(HELD, topic="aside", records=5, written_since=0, outdated=0),
        replace(HELD, topic="nothing", records=0, ranges=()),
    ),
)


def test_only_topics_with_late_records_are_decided_on() -> None:
    assert chosen(LISTED, lambda topic: CHOICES[topic]) == CHOICES
    assert choices_from_json(choices_to_json(CHOICES)) == CHOICES
    assert late_topics(LISTED, CHOICES) == (
        LateTopic("aside", "stranded_topic", 5, 0, 0),
        LateTopic("held", "hold", 20, 12, 3),
        LateTopic("orders", "deliver", 20, 1, 0),
    )
    assert {each.topic for each in only(LISTED, CHOICES, "stranded_topic").partitions} == {"aside"}


@pytest.mark.parametrize(
    ("wish", "declared", "canary", "becomes"),
    [
        ("declared", "deliver", "", "hold"),
        ("declared", "stranded_topic", "", "stranded_topic"),
        ("declared", "deliver", "held", "deliver"),
        ("deliver", "deliver", "", "deliver"),
        ("deliver", "hold", "", "deliver"),
    ],
    ids=["nobody said it", "declared", "canaries", "said", "said against what is declared"],
)
def test_a_topic_with_records_that_would_be_deleted_on_arrival_is_held_unless_somebody_says_deliver(
    wish: str, declared: str, canary: str, becomes: str
) -> None:
    flow = SimpleNamespace(late_choice=lambda topic: declared if topic == "held" else "deliver")
    run: Any = SimpleNamespace(
        opens_copy=False,
        journal={},
        history={},
        group=SimpleNamespace(flow=flow, canary_topic=canary),
        request=SimpleNamespace(late=wish, run="home"),
    )
    context = FailbackContext(run)
    vars(context).update(stranded=LISTED, failover=SimpleNamespace(name="disaster"))
    assert context.late == {"held": becomes, "orders": "deliver", "aside": "deliver"}
    assert {each.topic for each in context.passed_over} == (set() if becomes == "deliver" else {"held"})


@pytest.mark.parametrize(
    ("mode", "choice", "asked"),
    [("deliver", "deliver", False), ("deliver", "hold", True), ("quarantine", "", True), ("rebuild", "", False)],
)
def test_topics_get_their_retention_back_only_while_what_nothing_copies_is_kept_in_files(
    mode: str, choice: str, asked: bool
) -> None:
    for wrong, outcome in (("", "ok"), ("a file is gone", "failed")):
        context: Any = SimpleNamespace(
            run=SimpleNamespace(target="east"),
            mode=mode,
            passed_over=passed_over(LISTED, {"held": choice}),  # type: ignore[dict-item]
            stranded=LISTED,
            store=SimpleNamespace(folder="here"),
            erased="",
            missing=lambda wrong=wrong: wrong,
        )
        assert [each.outcome for each in _kept(context)] == [outcome] * asked


def test_a_flow_continues_after_what_is_not_delivered_and_where_it_was_everywhere_else() -> None:
    ranges = passed_over(LISTED, CHOICES)
    assert [str(each) for each in ranges] == ["aside-0:100-125", "held-0:100-125"]
    aside, held = TopicPartition("aside", 0), TopicPartition("held", 0)
    assert positions_after(ranges, {P: 100, held: 100}) == {aside: 125, held: 125}
    assert positions_after(ranges, {P: 100, held: 125, aside: 126}) == {}


def test_what_an_abandoned_failback_has_begun_stays_decided() -> None:
    def claimed(epoch: int, choice: str, left_by: str = "disaster") -> dict[str, Any]:
        return {"claim": {"epoch": epoch, "left_by": left_by, "late": [{"topic": "held", "choice": choice}]}}

    history = {
        "first": {**claimed(1001, "deliver"), OLD_CLUSTER_PREPARED: {}},
        "second": {**claimed(1003, "hold"), OLD_CLUSTER_PREPARED: {}},
        "not begun": claimed(1005, "stranded_topic"),
        "about another list": {**claimed(1007, "stranded_topic", "another"), OLD_CLUSTER_PREPARED: {}},
        "of the same names": {"claim": {"epoch": 1009, "left_by": "disaster"}, OLD_CLUSTER_PREPARED: {}},
    }
    assert of_earlier_failback(history, "disaster") == {"held": "hold"}
    assert of_earlier_failback({"not begun": history["not begun"]}, "disaster") is None


@pytest.mark.parametrize(
    ("written", "outdated", "said"),
    [
        (0, 0, ("none of them has a key that was written on west since",)),
        (1, 0, ("1 of them has a key that was written on west since",)),
        (
            12,
            2,
            (
                "12 of them have keys that were written on west since",
                "2 of them are older than what their copies on west keep, and would be deleted there: a failback holds "
                "these topics unless its form says deliver",
            ),
        ),
    ],
)
def test_the_list_says_what_to_know_before_its_records_arrive(
    written: int, outdated: int, said: tuple[str, ...]
) -> None:
    found = replace(LISTED, partitions=(replace(HELD, written_since=written, outdated=outdated),))
    assert found.of_arriving_late() == said
    assert said[0] in found.sentence
    identity = replace(LISTED, partitions=(replace(HELD, written_since=None, outdated=None),))
    assert identity.of_arriving_late() == ()


@pytest.mark.parametrize(
    ("choices", "said", "follows"),
    [
        (
            CHOICES,
            "45 uncopied records of east are kept in files: 20 arrive late on west, 5 go to topics of their own on "
            "west, 20 are delivered nowhere. Of these 13 have keys written on west since; 3 are older than what their "
            "copies keep. Nothing is deleted",
            True,
        ),
        (
            dict.fromkeys(CHOICES, "hold"),
            "45 uncopied records of east are kept in files: they are delivered nowhere. Of these 13 have keys written "
            "on west since; 3 are older than what their copies keep. Nothing is deleted",
            False,
        ),
        (
            dict.fromkeys(CHOICES, "deliver"),
            "45 uncopied records of east are kept in files: they arrive late on west. Of these 13 have keys written on "
            "west since; 3 are older than what their copies keep, and 3 do not stay there. Nothing is deleted",
            True,
        ),
    ],
)
def test_who_approves_reads_first_what_becomes_of_them_and_how_many_keys_are_newer(
    choices: Any, said: str, follows: bool
) -> None:
    decided = {
        "mode": "deliver",
        "rescue": "keep",
        "stranded": {"records": 45},
        "listed_at": LISTED.at.isoformat(),
        "quarantine": [str(each) for each in passed_over(LISTED, choices)],
        "late": [each.to_json() for each in late_topics(LISTED, choices)],
    }
    group = SimpleNamespace(name="orders", clusters=("east", "west"))
    run: Any = SimpleNamespace(
        group=group, source="west", target="east", request=SimpleNamespace(reason="", dry_run=False)
    )
    sheet = question.sheet(run, {"facts": {"decision": decided, "measurements": {}}, "checks": []})
    assert sheet.lost == said
    assert ("follow in their copies" in sheet.read_again) is follows
    assert sheet.consequence == ("lets late records arrive" if follows else "starts the failback")
    topics = "\n\n".join(sheet.details)
    does = {"hold": "held", "deliver": "delivered"}[choices["held"]]
    assert f"`held`: 20 records, 12 with a key written since, 3 too old to stay; {does}" in topics
    assert ("unless the form says *deliver*" in topics) is (does == "held")
    assert ("`held-0:100-125`" in topics) is (does == "held")
    assert "as listed at `2026-01-01T00:00` UTC" in topics
