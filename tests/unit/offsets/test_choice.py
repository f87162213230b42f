"""What each choice of a start would skip or deliver again."""

from __future__ import annotations

import pytest

from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.offsets.maps import composed_runs
from kafka_dr.offsets.syncs.history import CheckpointRule
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.choice import STRATEGIES, Strategy, start
from kafka_dr.offsets.translate.facts import PartitionFacts, translate_by_facts
from kafka_dr.positions import OffsetPair, OffsetRange

#: Each fourth offset of the target is a marker.
RUNS = composed_runs({1: [OffsetRun(3 * at, 4 * at, 3) for at in range(10)]})
FACTS = PartitionFacts(
    OffsetRange(0, 30), OffsetRange(0, 40), runs=RUNS, mirrormaker=CheckpointRule([OffsetPair(0, 0), OffsetPair(6, 8)])
)


def chosen(
    strategy: Strategy,
    *,
    position: int = 12,
    facts: PartitionFacts = FACTS,
    by_time: int | None = 9,
    at_time: int | None = 25,
) -> Translation:
    return start(strategy, translate_by_facts(position, facts), facts, by_time=by_time, at_time=at_time)


@pytest.mark.parametrize(
    ("strategy", "offset", "kind", "again", "skipped"),
    [
        ("exact", 16, "exact", 0, 0),
        ("mm2_checkpoint", 9, "bounded", 5, 0),
        ("timestamp", 9, "bounded", 5, 0),
        ("at_time", 25, "declared", 0, 7),
        ("earliest", 0, "bounded", 12, 0),
        ("latest", 40, "declared", 0, 24),
    ],
)
def test_a_choice_is_counted_in_records(strategy: Strategy, offset: int, kind: str, again: int, skipped: int) -> None:
    found = chosen(strategy)
    assert (found.target_offset, found.kind, found.redelivered_at_most) == (offset, kind, again)
    # The end is after what audits counted: a marker there may count as a record.
    assert found.skipped_at_most == skipped


def test_a_choice_that_hits_the_exact_offset_is_exact() -> None:
    assert chosen("timestamp", by_time=16).kind == "exact"


def test_a_time_that_a_person_chose_is_called_declared_also_where_it_skips_nothing() -> None:
    before = chosen("at_time", at_time=9)
    assert (before.kind, before.redelivered_at_most, before.skipped_at_most) == ("declared", 5, 0)
    assert chosen("at_time", at_time=None).kind == "unknown"


def test_a_checkpoint_that_is_ahead_of_the_exact_offset_is_called_declared() -> None:
    ahead = PartitionFacts(FACTS.source, FACTS.target, runs=RUNS, mirrormaker=CheckpointRule([OffsetPair(12, 20)]))
    found = chosen("mm2_checkpoint", facts=ahead)
    assert (found.kind, found.skipped_at_most) == ("declared", 3)


def test_without_a_checkpoint_or_a_time_the_choice_leads_nowhere() -> None:
    nothing = PartitionFacts(FACTS.source, FACTS.target, runs=RUNS)
    assert chosen("mm2_checkpoint", facts=nothing).kind == "unknown"
    assert chosen("timestamp", by_time=None).kind == "unknown"
    assert {chosen(each, facts=PartitionFacts(None, None)).kind for each in STRATEGIES} == {"unknown"}


def test_if_the_exact_offset_is_unknown_so_is_the_price() -> None:
    blind = PartitionFacts(FACTS.source, OffsetRange(3, 40))
    found = chosen("latest", facts=blind)
    assert (found.target_offset, found.kind, found.skipped_at_most) == (40, "declared", None)
    assert chosen("earliest", facts=blind).redelivered_at_most is None
