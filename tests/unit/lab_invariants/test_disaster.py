"""The check of a disaster: what the old cluster took and never copied is the list of stranded records."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from lab.errors import LabError
from lab.invariants.check import check_invariants
from lab.invariants.model import (
    Commit,
    FormerLogs,
    InvariantReport,
    LogRecord,
    LostCluster,
    Observation,
    Outcome,
    Partition,
    RecordId,
    StrandedRecord,
    Write,
)
from lab.invariants.stranded_list import parse_range, stranded, without
from lab.traffic.records import headers
from support.healthy_switch import GROUP, PARTITIONS, PERIODS, RECORDS, SWITCH_AT, healthy, log, number, offset, place
from support.kept_list import CONTENT_KEYS, ENCRYPTED_SCHEMA, encrypted_row

FIRST = PARTITIONS[0]
CUT_OFF = range(SWITCH_AT - 4, SWITCH_AT)
LATE = RecordId("forgotten-payments", 0)
LEFT = LostCluster("east", since=100.0, reachable=150.0, fenced=170.0, within=90.0, predicted_loss=3)


def kept(sequence: int) -> StrandedRecord:
    return StrandedRecord(place(sequence), offset("east", sequence), number(sequence))


def disaster() -> Observation:
    """Four records were never copied; a stray producer had one more acknowledged by east when it was back."""
    world = healthy()
    crossed = [each for each in range(RECORDS) if each not in CUT_OFF]
    late = Write(LATE, FIRST, 40, "east", at=160.0)
    return replace(
        world,
        writes=[*world.writes, late],
        deliveries=[each for each in world.deliveries if each.record.sequence not in CUT_OFF],
        commits=[Commit(GROUP, each, 1, "west", 180.0) for each in PARTITIONS],
        logs={"east": log("east", range(SWITCH_AT)), "west": log("west", crossed)},
        stranded=[*map(kept, CUT_OFF), StrandedRecord(FIRST, 40, LATE)],
    )


def judged(world: Observation, left: LostCluster = LEFT) -> InvariantReport:
    return check_invariants(world, PERIODS, left=left)


def outcomes(world: Observation, left: LostCluster = LEFT) -> dict[str, Outcome]:
    return {finding.invariant: finding.outcome for finding in judged(world, left).findings}


def violated(world: Observation, left: LostCluster = LEFT) -> set[str]:
    return {name for name, outcome in outcomes(world, left).items() if outcome == "violated"}


def test_what_was_cut_off_and_is_in_the_list_violates_no_invariant() -> None:
    verdict = judged(disaster())
    assert verdict.held, verdict.findings
    losses = verdict.figures.losses
    assert losses is not None
    assert (losses.predicted, losses.real, losses.stranded, losses.rescued) == (3, 5, 5, 0)
    assert (losses.window_records, losses.window_seconds) == (1, 20.0)
    assert verdict.figures.lost == 0


def test_how_far_back_the_loss_reaches_leaves_out_what_was_taken_after_the_switch() -> None:
    # Records 16 to 19 were lost, acknowledged a second apart.
    assert judged(disaster()).figures.rpo_seconds == pytest.approx(3.0)


def test_a_record_that_was_dropped_from_the_list_breaks_i4_and_is_lost() -> None:
    world = disaster()
    world = replace(world, stranded=world.stranded[1:])
    assert violated(world) == {"I2", "I4"}
    assert judged(world).figures.lost == 1


def test_a_record_of_the_list_that_is_not_as_it_was_written_breaks_i4() -> None:
    world = disaster()
    broken = replace(world.stranded[0], intact=False)
    assert "I4" in violated(replace(world, stranded=[broken, *world.stranded[1:]]))


def test_a_record_that_is_in_the_list_although_it_was_copied_breaks_i4() -> None:
    world = disaster()
    assert violated(replace(world, stranded=[*world.stranded, kept(4)])) == {"I4"}


def test_a_record_that_is_in_the_list_twice_breaks_i4() -> None:
    world = disaster()
    assert violated(replace(world, stranded=[*world.stranded, world.stranded[0]])) == {"I4"}


def test_a_record_that_was_sent_again_may_be_there_and_in_the_list() -> None:
    world = disaster()
    again = number(SWITCH_AT + 1)
    assert "I4" in violated(replace(world, stranded=[*world.stranded, StrandedRecord(FIRST, 41, again)]))
    known = replace(world, stranded=[*world.stranded, StrandedRecord(FIRST, 41, again)], attempts={again: 1})
    assert violated(known) == set()


def test_a_loss_that_was_said_to_be_larger_than_it_is_breaks_i4() -> None:
    assert violated(disaster(), replace(LEFT, predicted_loss=6)) == {"I4"}


def test_a_write_after_the_fence_breaks_i1_although_it_is_in_the_list() -> None:
    assert violated(disaster(), replace(LEFT, reachable=150.0, fenced=155.0)) == {"I1"}


def test_a_write_in_the_window_that_is_not_in_the_list_breaks_i1_as_well() -> None:
    world = disaster()
    assert violated(replace(world, stranded=world.stranded[:-1])) == {"I1", "I2", "I4"}


def test_a_fence_that_takes_longer_than_it_may_breaks_i1() -> None:
    assert violated(disaster(), replace(LEFT, within=10.0)) == {"I1"}


def test_what_was_published_again_is_neither_out_of_order_nor_twice_there_and_is_counted() -> None:
    world = disaster()
    rescued = [*world.logs["west"][FIRST], LogRecord(90, number(CUT_OFF[0]), rescued=True)]
    world = replace(world, logs={**world.logs, "west": {**world.logs["west"], FIRST: tuple(rescued)}})
    assert violated(world) == set()
    losses = judged(world).figures.losses
    assert losses is not None
    assert (losses.real, losses.rescued) == (5, 1)


def test_an_old_flow_that_continued_is_seen_by_the_order() -> None:
    world = disaster()
    copied = [*world.logs["west"][FIRST], LogRecord(90, number(CUT_OFF[0]))]
    assert "I2" in violated(replace(world, logs={**world.logs, "west": {**world.logs["west"], FIRST: tuple(copied)}}))


def test_a_position_is_compared_with_the_logs_of_its_time() -> None:
    world = disaster()
    rebuilt = replace(
        world,
        logs={**world.logs, "east": {FIRST: tuple(LogRecord(index, number(29)) for index in range(1))}},
        commits=[*world.commits, Commit(GROUP, FIRST, 8, "east", 30.0)],
    )
    assert "I3" in violated(replace(rebuilt, earlier=[]))
    earlier = [FormerLogs("east", 300.0, log("east", range(SWITCH_AT)))]
    assert violated(replace(rebuilt, earlier=earlier)) == set()


def test_the_list_is_read_from_its_files(tmp_path: Path) -> None:
    value, time_ms = b"{}", 1_700_000_000_000
    named = headers("payments", 7, key=b"k", value=value, time_ms=time_ms)
    row = {
        "topic": "orders.payments",
        "partition": 2,
        "offset": 11,
        "timestamp": time_ms,
        "key": b"k",
        "value": value,
        "headers": [{"key": name, "value": content} for name, content in named],
    }
    foreign = {**row, "topic": "orders.dr-canary", "headers": []}
    (tmp_path / "records").mkdir()
    changed = {**row, "offset": 12, "value": b"{ }"}
    parquet.write_table(pyarrow.Table.from_pylist([row, foreign, changed]), tmp_path / "records" / "part.parquet")
    (tmp_path / "summary.json").write_text(json.dumps({"files": [{"path": "records/part.parquet", "size": 1}]}))
    place_of = Partition("orders.payments", 2)
    assert stranded(tmp_path, "") == [
        StrandedRecord(place_of, 11, RecordId("payments", 7)),
        StrandedRecord(Partition("orders.dr-canary", 2), 11, None),
        StrandedRecord(place_of, 12, RecordId("payments", 7), intact=False),
    ]


def test_an_encrypted_list_is_opened_with_its_key_and_no_other(tmp_path: Path) -> None:
    named = headers("payments", 7, key=b"k", value=b"{}", time_ms=1_700_000_000_000)
    row = {
        "topic": "orders.payments",
        "partition": 2,
        "offset": 11,
        "timestamp": 1_700_000_000_000,
        "key": b"k",
        "value": b"{}",
        "headers": [{"key": name, "value": content} for name, content in named],
    }
    encryption = CONTENT_KEYS.new()
    sealed = encrypted_row(row, CONTENT_KEYS.content_key(encryption))
    parquet.write_table(pyarrow.Table.from_pylist([sealed], schema=ENCRYPTED_SCHEMA), tmp_path / "part.parquet")
    listed = {"files": [{"path": "part.parquet", "size": 1}], "encryption": asdict(encryption)}
    (tmp_path / "summary.json").write_text(json.dumps(listed))
    key, other = (b64encode(CONTENT_KEYS.keys[name]).decode() for name in ("2026-02", "2026-01"))
    assert stranded(tmp_path, key) == [StrandedRecord(Partition("orders.payments", 2), 11, RecordId("payments", 7))]
    with pytest.raises(LabError, match="cannot be decrypted"):
        stranded(tmp_path, other)


def test_a_list_that_is_not_there_is_no_empty_one(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="cannot be read"):
        stranded(tmp_path, "")


def test_a_range_in_quarantine_is_left_out() -> None:
    partition, (first, after) = parse_range("orders.a-b-3:5-7")
    assert (partition, first, after) == (Partition("orders.a-b", 3), 5, 7)
    logs = {partition: tuple(LogRecord(each, None) for each in range(4, 9))}
    assert [each.offset for each in without(logs, {partition: [(first, after)]})[partition]] == [4, 7, 8]
    with pytest.raises(LabError):
        parse_range("orders.a:5")
