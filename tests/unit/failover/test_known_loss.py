"""The loss of an unplanned failover is a lower bound. What nobody could count makes it unknown, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from kafka_dr.failover.unplanned.last_known import loss
from kafka_dr.failover.unplanned.question import loss_sentence
from kafka_dr.group_offsets.last_look import FileLookStore, LastLook
from kafka_dr.positions import TopicPartition
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
    assert loss_sentence(found).endswith("unknown after")
