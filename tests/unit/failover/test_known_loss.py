"""The loss of an unplanned failover is a lower bound. What nobody could count makes it unknown, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.failover.unplanned.last_known import loss
from kafka_dr.failover.unplanned.question import loss_sentence
from kafka_dr.group_offsets.last_look import FileLookStore, LastLook
from kafka_dr.positions import OffsetRange, TopicPartition
from kafka_dr.runs.run import Run

P, Q = TopicPartition("orders.payments", 0), TopicPartition("orders.payments", 1)
#: The flow had no offset in either partition when somebody looked.
BLIND = LastLook(
    1, datetime(2026, 11, 20, 3, tzinfo=UTC), {P: 2000, Q: 10}, {}, {}, uncounted=frozenset({P, Q})
)  # fmt: skip


def lost(root: Path, seen: LastLook, copied: Mapping[TopicPartition, int]) -> dict[str, Any]:
    FileLookStore(root, "orders").write("east-to-west", seen)
    run = SimpleNamespace(
        source="east", target="west", history={}, seeds={}, evidence_root=root, group=SimpleNamespace(name="orders")
    )
    return loss(cast("Run", run), copied)


def test_records_that_nobody_counted_are_not_0_records(tmp_path: Path) -> None:
    found = lost(tmp_path, BLIND, {P: 5, Q: 10})
    assert (found["at_least_records"], found["as_of"]) == (None, None)
    said = loss_sentence(found)
    assert said.startswith("not known: of 1 of 2 partitions (orders.payments-0) the last look at 2026-11-20 03:00:00")


def test_a_lower_bound_names_the_partitions_that_it_leaves_out(tmp_path: Path) -> None:
    found = lost(tmp_path, replace(BLIND, waiting={Q: (8, 9)}, uncounted=frozenset({P})), {P: 5, Q: 8})
    assert found["at_least_records"] == 2
    assert "of 1 of 2 partitions (orders.payments-0)" in loss_sentence(found)
    assert "of 1 of 2 partitions (orders.payments-0)" in found["reason"]


def test_what_was_counted_is_known_to_be_none(tmp_path: Path) -> None:
    found = lost(tmp_path, replace(BLIND, uncounted=frozenset()), {P: 2000, Q: 10})
    assert found["at_least_records"] == 0
    assert loss_sentence(found) == "nothing until 03:00:00 UTC; since then not known"
    later = "2026-11-20T03:10:00+00:00"
    assert loss_sentence(found, at=later) == "nothing until 03:00:00 UTC; since then (10 min) not known"


@pytest.mark.parametrize(
    ("rate", "lag", "words"),
    [
        (40.4, 0.9, "usual rate about 40/s, the copy lagged by 0.9 s then"),
        (1234.5, None, "usual rate about 1,234/s"),
        (0.25, 0.0, "usual rate about 0.2/s, the copy lagged by 0 s then"),
    ],
)
def test_the_loss_that_nobody_counted_can_be_estimated_by_what_the_last_look_saw(
    tmp_path: Path, rate: float, lag: float | None, words: str
) -> None:
    seen = replace(BLIND, uncounted=frozenset(), usual_per_second=rate, copy_lag_seconds=lag)
    found = lost(tmp_path, seen, {P: 2000, Q: 10})
    assert loss_sentence(found) == f"nothing until 03:00:00 UTC; since then not known; {words}"
    beyond = lost(tmp_path, replace(seen, waiting={Q: (9,)}, uncounted=frozenset({P})), {P: 5, Q: 9})
    assert loss_sentence(beyond).endswith(f"could not count what was not copied; {words}")


def test_what_an_open_transaction_held_back_is_part_of_the_loss_and_is_said_with_its_holder(tmp_path: Path) -> None:
    held = replace(
        BLIND,
        ends={P: 2231, Q: 10},
        uncounted=frozenset(),
        held_back={P: (OffsetRange(2001, 2201),)},
        undecided={P: (OffsetRange(2000, 2001),)},
        held_by=("orders-sink since 2026-11-20 02:58:00 UTC",),
    )
    found = lost(tmp_path, held, {P: 2000, Q: 10})
    assert found["at_least_records"] == 200
    said = (
        "200 acknowledged records and 1 record that may still be aborted are held back by the open transaction of "
        "orders-sink since 2026-11-20 02:58:00 UTC"
    )
    assert said in loss_sentence(found)
    assert said in found["reason"]
    assert "held_back" not in lost(tmp_path, held, {P: 2231, Q: 10}), "all of it was copied before the source was lost"


def test_where_nobody_could_read_what_is_held_back_the_loss_is_not_known(tmp_path: Path) -> None:
    found = lost(tmp_path, replace(BLIND, ends={P: 2231, Q: 10}, uncounted=frozenset({P})), {P: 2000, Q: 10})
    assert found["at_least_records"] is None
