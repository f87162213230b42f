"""What a journal says of a copy that was taken over."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from kafka_dr.codec import encode
from kafka_dr.group_offsets.taken_over_copies import taken_over_copies
from kafka_dr.offsets.translate.taken_over_copy import TakenOverCopy
from kafka_dr.positions import CountedRange, SeedPoint, TopicPartition
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed
from kafka_dr.register.taken_over import BEGINS, COPY, TAIL_SEEN, CopyMade, Ranges
from kafka_dr.runs.run import Run

ONE, TWO = TopicPartition("orders", 0), TopicPartition("orders", 1)
SEED = FlowSeed(1, "east", "west", {ONE: 60, TWO: 8}, {ONE: 80, TWO: 8}, {"orders": "id"}, mode="take_over")
MADE = CopyMade(
    at="2026-03-01T12:00:00+00:00",
    report="audits/orders",
    sha256="",
    topic_ids={"orders": "id"},
    compared={ONE: SeedPoint(50, 70), TWO: SeedPoint(8, 8)},
    pairs={},
    findings={"orders": {"REPLAY": 15, "DUPLICATE": 2, "LOST": 9}},
    second_copies={ONE: (CountedRange(30, 50, 17),)},
)


def copies(
    facts: Mapping[str, Any] | None = None, *, made: CopyMade = MADE, source: str = "east"
) -> dict[TopicPartition, TakenOverCopy]:
    run = SimpleNamespace(
        source=source,
        history={"adopt": {COPY: made.to_json(), FLOW_SEED: SEED.to_json(), **(facts or {})}},
        topic_ids=lambda _cluster: {"orders": "id"},
    )
    return taken_over_copies(cast("Run", run), [SEED])


def test_second_copies_are_those_of_the_audit_and_of_both_parts_of_the_tail() -> None:
    tail = {
        TAIL_SEEN: {"second_copies": encode({ONE: (CountedRange(70, 75, 2),)}, Ranges)},
        BEGINS: {"second_copies": encode({ONE: (CountedRange(76, 80, 1),), TWO: ()}, Ranges)},
    }
    found = copies(tail)
    assert found[ONE].second_copies == (CountedRange(30, 50, 17), CountedRange(70, 75, 2), CountedRange(76, 80, 1))
    assert found[TWO].second_copies == ()


def test_only_the_copy_holds_records_twice() -> None:
    assert copies(source="west")[ONE].second_copies == ()
