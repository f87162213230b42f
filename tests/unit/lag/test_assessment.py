from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kafka_dr.lag.assessment import Assessment, GroupSeen, HeldRecords, LagLook, PartitionSeen, assess
from kafka_dr.lag.findings import LagFinding, LagFindingKind, LagLimits, find
from kafka_dr.lag.report import Subject, behind_seconds, report
from kafka_dr.lag.retention import Retention
from kafka_dr.lag.unread import StretchContent, cut
from kafka_dr.lag.verdict import LagVerdict
from kafka_dr.lag.window import Window
from support.shown_reports import not_shown

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIMITS = LagLimits(
    record_age=60, failover_lag=300, replication_latency=30, checkpoint_latency=120, retention_headroom=3600
)


def ms(seconds_ago: float) -> int:
    return round((NOW.timestamp() - seconds_ago) * 1000)


def seen(*positions: int, flow: int | None = 100, age: float = 5.0, **changes: Any) -> PartitionSeen:
    """A partition of 100 offsets, with a record of ten bytes at each; all unread ones of one age."""
    made = PartitionSeen("orders.a", 0, "topic-id", start=0, stable_end=100, end=100, position=flow)
    made = replace(made, **changes)
    stretches = cut(
        "orders.a",
        0,
        positions=[made.start if flow is None else flow, *positions],
        start=made.start,
        end=made.stable_end,
        most=1000,
    )
    read = [(each, StretchContent(each.end - each.start, 10 * (each.end - each.start), ms(age))) for each in stretches]
    return replace(made, stretches=read)


def look(window: Window | None = None, *, minutes: float = 0, active: bool | None = True) -> LagLook:
    at = NOW + timedelta(minutes=minutes)
    return LagLook(at, window or Window(), "epoch 1", active, LIMITS.record_age, LIMITS.retention_headroom)


def assessed(partition: PartitionSeen, *groups: GroupSeen, at: LagLook | None = None) -> Assessment:
    return assess([partition], groups, at or look())


def findings(partition: PartitionSeen, *groups: GroupSeen) -> dict[LagFindingKind, LagFinding]:
    return {finding.kind: finding for finding in find(assessed(partition, *groups), LIMITS)}


def billing(position: int, state: str = "STABLE") -> GroupSeen:
    return GroupSeen("billing", state, {("orders.a", 0): position, ("strange", 3): 1})


def test_a_flow_that_has_copied_everything_is_fine() -> None:
    found = assessed(seen())
    assert found.verdict is LagVerdict.OK
    assert (found.flow[0].lag.unread.records, found.flow[0].lag.seconds) == (0, 0.0)
    assert find(found, LIMITS) == ()


def test_lag_is_given_in_records_bytes_and_seconds() -> None:
    found = assessed(seen(flow=90))
    (lag,) = found.flow
    assert (lag.lag.unread.records, lag.lag.unread.size, lag.lag.seconds) == (10, 100, 5.0)
    assert (behind_seconds(found), behind_seconds(replace(found, flow=()))) == (5.0, 0.0)


def test_a_flow_without_a_position_has_read_nothing_and_missed_nothing() -> None:
    (lag,) = assessed(seen(flow=None, start=40)).flow
    assert (lag.lag.unread.records, lag.lag.deleted) == (60, 0)


@pytest.mark.parametrize(
    ("age", "kinds"),
    [(60, {}), (61, {LagFindingKind.LATE: False}), (301, {LagFindingKind.LATE: True})],
)
def test_a_late_record_is_a_finding_and_a_very_late_one_holds_a_failover_back(
    age: float, kinds: dict[LagFindingKind, bool]
) -> None:
    found = findings(seen(flow=90, age=age))
    assert {kind: finding.blocks_failover for kind, finding in found.items()} == kinds


def test_what_the_source_deleted_before_it_was_copied_is_lost() -> None:
    found = findings(seen(flow=30, start=50))[LagFindingKind.DELETED]
    assert (found.value, found.blocks_failover) == (20, True)
    assert found.sentence == "orders.a-0: the source deleted 20 offsets from 30 on before they were copied"


def test_a_flow_past_the_end_of_the_log_is_a_finding() -> None:
    assert findings(seen(flow=101))[LagFindingKind.PAST_END].blocks_failover
    assert LagFindingKind.PAST_END not in findings(seen(flow=100))


def test_a_group_that_reads_what_is_not_committed_is_not_past_the_end() -> None:
    (group,) = assessed(seen(90, stable_end=80, end=100, flow=80), billing(90)).groups
    assert not group.partitions[0].past_end
    assert group.partitions[0].unread.records == 0


def test_acknowledged_records_that_an_open_transaction_holds_back_are_lag_and_late_when_they_are_old() -> None:
    held = replace(seen(flow=100, end=131), held=HeldRecords(30, 20.0))
    (young,) = assessed(held).flow
    assert (young.lag.unread.records, young.lag.seconds, young.lag.unread.exact) == (30, 20.0, True)
    assert findings(held) == {}
    late = findings(replace(held, held=HeldRecords(30, 301.0)))[LagFindingKind.LATE]
    assert late.blocks_failover
    assert "30 records are not copied, the oldest for 5 min 1 s" in late.sentence
    assert findings(replace(held, held=HeldRecords(30, None)))[LagFindingKind.LATE].value is None
    # Both wait: the older one counts.
    (both,) = assessed(replace(seen(flow=90, age=40, end=131), held=HeldRecords(30, 20.0, exact=False))).flow
    assert (both.lag.unread.records, both.lag.seconds, both.lag.unread.exact) == (40, 40.0, False)


def test_a_flow_that_does_not_move_is_a_finding_when_the_trend_says_so() -> None:
    window, found = Window(), assessed(seen(flow=90, age=400))
    for minutes in (0, 5, 10):
        found = assess([seen(flow=90, age=400)], [], look(window, minutes=minutes))
        window = found.window
    assert found.verdict is LagVerdict.STALL
    assert {finding.kind for finding in find(found, LIMITS)} == {LagFindingKind.LATE, LagFindingKind.NOT_MOVING}


def test_a_flow_that_was_seeded_again_is_not_rewound() -> None:
    window = assessed(seen(flow=95)).window
    again = replace(look(window, minutes=5), life="epoch 2")
    assert assess([seen(flow=90)], [], look(window, minutes=5)).verdict is LagVerdict.REWIND
    assert assess([seen(flow=90)], [], again).verdict is LagVerdict.NOT_ENOUGH_DATA


@pytest.mark.parametrize(
    ("kept", "age", "found"),
    [(7200.0, 5, False), (7200.0, 3601, True), (1000.0, 5, False), (1000.0, 499, False), (1000.0, 501, True)],
)
def test_somebody_must_know_before_the_source_deletes_what_is_not_copied(kept: float, age: float, found: bool) -> None:
    assert (LagFindingKind.RETENTION in findings(seen(flow=90, age=age, retention=Retention(kept)))) is found


def test_slow_records_are_a_finding_by_the_slowest_of_a_hundred() -> None:
    assert findings(seen(latencies=[1.0] * 99 + [31.0])) == {}
    found = findings(seen(latencies=[1.0] * 98 + [31.0] * 2))[LagFindingKind.LATENCY]
    assert (found.value, found.where, found.blocks_failover) == (31.0, "", False)


def test_groups_are_judged_on_their_own_and_share_what_was_read() -> None:
    found = assessed(seen(70, flow=90), billing(70), GroupSeen("others", "STABLE", {("strange", 0): 4}))
    (group,) = found.groups
    assert (group.group, group.verdict) == ("billing", LagVerdict.OK)
    assert (group.partitions[0].unread.records, group.partitions[0].unread.size) == (30, 300)
    assert group.ahead_seconds == 0.0


def test_an_empty_group_with_old_records_has_stopped_and_is_no_finding() -> None:
    window = assessed(seen(70, age=900), billing(70, "EMPTY")).window
    found = assess([seen(70, age=900)], [billing(70, "EMPTY")], look(window, minutes=5))
    assert found.groups[0].verdict is LagVerdict.STOP
    assert find(found, LIMITS) == ()


def test_a_group_of_unknown_state_is_not_called_stopped() -> None:
    assert billing(70, "UNKNOWN").active is None
    assert billing(70, "PREPARING_REBALANCING").active is True


@pytest.mark.parametrize(("age", "found"), [(120, False), (121, True)])
def test_a_group_ahead_of_the_copy_for_long_is_a_finding(age: float, found: bool) -> None:
    partition = seen(95, flow=90, age=age)
    assert assessed(partition, billing(95)).groups[0].ahead_seconds == age
    assert (LagFindingKind.POSITION_NOT_COPIED in findings(partition, billing(95))) is found


def test_what_a_group_has_read_and_the_flow_not_copied_is_a_finding_if_its_age_is_unknown() -> None:
    partition = seen(95, flow=90)
    unread = [(stretch, replace(content, first_timestamp_ms=None)) for stretch, content in partition.stretches]
    unknown = replace(partition, stretches=unread)
    found = assessed(unknown, billing(95))
    assert found.groups[0].ahead_seconds is None
    finding = findings(unknown, billing(95))[LagFindingKind.POSITION_NOT_COPIED]
    assert (finding.where, finding.value, finding.blocks_failover) == ("billing", None, False)
    assert "for an unknown time" in finding.sentence
    assert LagFindingKind.POSITION_NOT_COPIED not in findings(unknown, billing(90))
    subject = Subject("orders.east-to-west", 3, "running", NOW, 2.04, 30, "offset syncs")
    assert report(subject, found, find(found, LIMITS), LIMITS)["groups"][0]["ahead_of_copy_seconds"] is None


def test_what_holds_a_failover_back_comes_first() -> None:
    found = find(assessed(seen(95, flow=90, age=400), billing(95)), LIMITS)
    assert [finding.blocks_failover for finding in found] == [True, False]


def test_the_report_is_json_and_says_what_was_measured() -> None:
    found = assessed(seen(70, flow=90, latencies=[0.5], retention=Retention(86400.0)), billing(70))
    subject = Subject("orders.east-to-west", 3, "running", NOW, 2.04, 30, "offset syncs")
    made = json.loads(json.dumps(report(subject, found, find(found, LIMITS), LIMITS)))
    assert not_shown("lag", made) == set()
    assert (made["schema_version"], made["verdict"], made["epoch"]) == (1, "ok", 3)
    assert made["sentence"] == "10 records wait to be copied, the oldest for 5 s, 99 of 100 arrived within 0.5 s."
    assert made["replication"]["partitions"][0]["headroom_seconds"] == 86395.0
    assert made["replication"]["latency"]["p99_seconds"] == 0.5
    assert made["groups"][0]["records"] == 30


def test_a_report_with_findings_begins_with_the_worst() -> None:
    found = assessed(seen(95, flow=90, age=400), billing(95))
    made = report(Subject("orders.east-to-west", 3, "running", NOW, 2.0, 10, ""), found, find(found, LIMITS), LIMITS)
    assert made["verdict"] == "findings"
    assert made["sentence"] == (
        "orders.a-0: 10 records are not copied, the oldest for 6 min 40 s; 60 s are allowed (and 1 more). "
        "1 of 1 consumer groups cannot be judged yet: too few looks."
    )


def test_a_report_that_shows_a_group_without_readers_is_not_ok() -> None:
    """It holds no failover back, so it is no finding; but nobody may read "ok, no findings" above it."""
    partition, idle = seen(95, flow=100, age=4389), GroupSeen("billing", "EMPTY", {("orders.a", 0): 95})
    first = assess([partition], [idle], look())
    found = assess([partition], [idle], look(first.window, minutes=5))
    subject = Subject("orders.east-to-west", 3, "running", NOW, 2.0, 10, "")
    made = report(subject, found, find(found, LIMITS), LIMITS)
    assert (made["verdict"], made["findings"]) == ("groups late", [])
    said = (
        "billing STOP (the group has no members, or the flow does not run): 5 records wait, the oldest for 1 h 18 min"
    )
    assert made["sentence"].endswith(f"1 of 1 consumer groups do not keep up: {said}.")
    assert made["groups_late"] == [{"group": "billing", "sentence": said}]


def test_a_group_that_was_looked_at_once_is_not_called_ok() -> None:
    found = assessed(seen(95, flow=100, age=400), GroupSeen("billing", "STABLE", {("orders.a", 0): 95}))
    made = report(Subject("orders.east-to-west", 3, "running", NOW, 2.0, 10, ""), found, find(found, LIMITS), LIMITS)
    assert made["verdict"] == "groups not judged yet"
