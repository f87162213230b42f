"""The preview's rows: sums, the worst class, and what is not known stays unknown."""

from __future__ import annotations

from dataclasses import replace

from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.offsets.maps import composed_runs
from kafka_dr.offsets.preview import choice_rows, group_rows, position_row, position_rows
from kafka_dr.offsets.syncs.history import ArchivedSync, CheckpointRule, history
from kafka_dr.offsets.translate.by_time import RecordTimes
from kafka_dr.offsets.translate.choice import Strategy, with_checkpoint
from kafka_dr.offsets.translate.facts import PartitionFacts, translate_by_facts
from kafka_dr.positions import OffsetRange, TopicPartition

ONE, TWO = TopicPartition("orders.payments", 0), TopicPartition("orders.payments", 1)
SYNCS = [ArchivedSync(0, 0, 0, 0), ArchivedSync(1, 8, 8, 0)]
MATCHED = PartitionFacts(
    OffsetRange(0, 20),
    OffsetRange(0, 20),
    runs=composed_runs({1: [OffsetRun(0, 0, 20)]}),
    syncs=history(SYNCS),
    mirrormaker=CheckpointRule(SYNCS),
)
SYNCED = PartitionFacts(OffsetRange(0, 20), OffsetRange(0, 20), syncs=history(SYNCS))
TIMES = RecordTimes(unread={(ONE, 12): 5_000, (TWO, 12): 6_000}, copies={(ONE, 9): 2_000, (TWO, 9): 1_500})


def row(group: str, partition: TopicPartition, facts: PartitionFacts, strategy: Strategy = "exact", at: int = 12):  # type: ignore[no-untyped-def]
    placed = with_checkpoint(at, facts, translate_by_facts(at, facts))
    return position_row(group, (partition, at), placed, facts, strategy=strategy, times=TIMES)


def test_a_group_is_as_sure_as_its_worst_partition() -> None:
    rows = [row("orders-a", ONE, MATCHED), row("orders-a", TWO, SYNCED), row("orders-b", ONE, MATCHED)]
    first, second = group_rows(rows, strategy_of={"orders-a": "exact", "orders-b": "exact"})
    assert (first["verdict"], first["partitions"], first["redelivered_at_most"]) == ("bounded", 2, 3)
    assert first["redelivered_seconds"] == 4.5
    assert (first["mm2_redelivered_at_most"], first["mm2_without_checkpoint"]) == (3, 1)
    assert (second["verdict"], second["redelivered_at_most"], second["reason"]) == ("exact", 0, "")
    assert (second["mm2_redelivered_at_most"], second["mm2_redelivered_seconds"]) == (3, 3.0)


def test_a_declared_skip_is_counted_and_shown() -> None:
    [found] = group_rows([row("orders-a", ONE, MATCHED, "latest")], strategy_of={"orders-a": "latest"})
    assert (found["start"], found["verdict"], found["skipped_at_most"]) == ("latest", "declared", 8)


def test_every_choice_has_its_price() -> None:
    [found] = choice_rows([row("orders-a", ONE, MATCHED)])
    assert (found["exact_again"], found["exact_skipped"]) == (0, 0)
    assert (found["mm2_checkpoint_again"], found["earliest_again"], found["latest_skipped"]) == (3, 12, 8)
    assert found["timestamp_again"] is None


def test_by_policy_an_offset_without_a_translation_begins_elsewhere_and_its_price_is_unknown() -> None:
    past = TopicPartition("orders.payments", 2)
    placed = with_checkpoint(21, MATCHED, translate_by_facts(21, MATCHED))
    times = RecordTimes(by_time={(past, 21): 6})
    found = {
        policy: position_row("g", (past, 21), placed, MATCHED, strategy="exact", times=times, otherwise=policy).chosen
        for policy in (None, "earliest", "timestamp")
    }
    assert (found[None].kind, found[None].target_offset) == ("unknown", None)
    assert (found["earliest"].kind, found["earliest"].target_offset, found["earliest"].skipped_at_most) == (
        "bounded",
        0,
        0,
    )
    assert (found["timestamp"].kind, found["timestamp"].target_offset) == ("declared", 6)
    assert found["timestamp"].skipped_at_most is None


def test_an_unknown_offset_is_not_a_sum() -> None:
    rows = [row("orders-a", ONE, MATCHED), row("orders-a", TWO, MATCHED, at=21)]
    [found] = group_rows(rows, strategy_of={"orders-a": "exact"})
    assert (found["verdict"], found["redelivered_at_most"]) == ("unknown", None)
    assert "past the source's end 20" in found["reason"]
    assert [each["target_offset"] for each in position_rows(rows)] == [12, None]


def test_second_copies_are_summed_and_no_time_is_said_of_them() -> None:
    exact = translate_by_facts(12, MATCHED)
    answer = replace(exact, kind="bounded", redelivered_at_most=5, second_copies=5)
    placed = with_checkpoint(12, MATCHED, answer)
    times = replace(TIMES, copies={**TIMES.copies, (ONE, 12): 5_000, (TWO, 12): 6_000})
    rows = [position_row("orders-a", (p, 12), placed, MATCHED, strategy="exact", times=times) for p in (ONE, TWO)]
    [found] = group_rows(rows, strategy_of={"orders-a": "exact"})
    assert (found["verdict"], found["redelivered_at_most"], found["second_copies"]) == ("bounded", 10, 10)
    assert (found["redelivered_seconds"], found["mm2_redelivered_seconds"]) == (None, None)
    assert [each["second_copies"] for each in position_rows(rows)] == [5, 5]
