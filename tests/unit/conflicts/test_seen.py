"""What is believed of kept reports: only what an audit of the whole flow has seen of this very topic and its copy."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.conflicts.arrivals import ArrivalMarks, OffsetMark
from kafka_dr.conflicts.seen import CopiedOrigin, seen_arrivals
from kafka_dr.conflicts.state import CommittedCopy
from kafka_dr.positions import TopicPartition

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
AT_MS = int(AT.timestamp() * 1000)
COPIED = CopiedOrigin("shop-east", "east", "west", ("id-east", "id-west"), {"baskets": ("t1", "t2")})
PARTITION = TopicPartition("baskets", 0)


def kept(
    root: Path, *, name: str = "20261129T120000Z.scheduled.1", ids: tuple[str, str] = ("t1", "t2"), **more: Any
) -> None:
    partition = {
        "partition": 0, "verdict": "equal", "counts": {}, "held_back": {}, "pairs": [[0, 10], [4, 15]],
        "copied": {"source_offset": 8, "target_offset": 20},
    } | more.pop("partition", {})  # fmt: skip
    topic = {
        "topic": "baskets",
        "topic_ids": dict(zip(("source", "target"), ids, strict=True)),
        "partitions": [partition],
    }
    report = {
        "at": AT.isoformat(),
        "verdict": "equal",
        "bounded": False,
        "seconds": {"resolve": 2.5},
        "topics": [topic],
    }
    folder = root / "audits" / "shop-east" / "checksum" / "east-to-west" / name
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(json.dumps(report | more))


def test_what_the_copy_had_not_is_absent_when_the_audit_began_and_what_was_committed_was_read(tmp_path: Path) -> None:
    kept(tmp_path)
    found = seen_arrivals(tmp_path, COPIED, since=AT)
    committed = CommittedCopy("east", "west", "baskets", 0, "t2", ((1, 10), (2, 16), (3, 20)))
    assert found.marks(PARTITION, committed) == ArrivalMarks(
        (OffsetMark(8, AT_MS - 3_500),), (OffsetMark(5, 2), OffsetMark(8, 3))
    )
    assert found.marks(PARTITION, None).read == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"bounded": True},
        {"verdict": "unknown"},
        {"ids": ("t1", "other")},
        {"name": "20261129T050000Z.scheduled.1"},
        {"partition": {"verdict": "findings", "counts": {"lost": 1}}},
        {"partition": {"verdict": "findings", "counts": {"late": 2, "corrupt": 1}}},
        {"partition": {"held_back": {"target": {"offsets": 1}}}},
    ],
)
def test_nothing_is_absent_by_an_audit_that_did_not_see_all_of_it(tmp_path: Path, changed: dict[str, Any]) -> None:
    kept(tmp_path, **changed)
    assert seen_arrivals(tmp_path, COPIED, since=AT).absent == {}


def test_records_that_only_wait_are_absent_all_the_same(tmp_path: Path) -> None:
    kept(tmp_path, verdict="findings", partition={"verdict": "findings", "counts": {"late": 3}})
    assert seen_arrivals(tmp_path, COPIED, since=AT).absent == {PARTITION: [OffsetMark(8, AT_MS - 3_500)]}


def test_half_a_report_and_no_report_say_nothing(tmp_path: Path) -> None:
    assert seen_arrivals(tmp_path, COPIED, since=None).pairs == {}
    kept(tmp_path)
    half = tmp_path / "audits" / "shop-east" / "checksum" / "east-to-west" / "20261129T120000Z.manual.2"
    half.mkdir()
    (half / "report.json").write_text("{")
    assert len(seen_arrivals(tmp_path, COPIED, since=AT + timedelta(hours=5)).absent) == 1


def test_a_commit_that_has_not_moved_keeps_its_first_time_and_another_copy_begins_again() -> None:
    def seen(*times: tuple[int, int], copy_id: str = "t2") -> CommittedCopy:
        return CommittedCopy("east", "west", "baskets", 0, copy_id, times)

    assert seen((1, 10)).with_newer(seen((2, 10))).seen == ((1, 10),)
    assert seen((1, 10)).with_newer(seen((2, 11))).seen == ((1, 10), (2, 11))
    assert seen((1, 10)).with_newer(seen((2, 10), copy_id="new")).seen == ((2, 10),)
    many = seen((0, 0))
    for n in range(1, 300):
        many = many.with_newer(seen((n, n)))
    assert (len(many.seen), many.seen[-1]) == (100, (299, 299))
