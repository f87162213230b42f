"""Each standby ends as the same log as the active cluster: what is lost, twice, in another order or changed is seen."""

from __future__ import annotations

import pytest

from lab.invariants.copies import check_survivor, differing
from lab.invariants.model import LogRecord, Logs, Partition, RecordId

ONE, TWO = Partition("orders.a", 0), Partition("orders.a", 1)


def log(*sequences: int, begin: int = 0) -> list[LogRecord]:
    """Return a log; offsets differ between clusters, because markers of transactions are in them."""
    return [LogRecord(begin + number, RecordId("payments", each)) for number, each in enumerate(sequences)]


EAST: Logs = {ONE: log(1, 2, 3), TWO: log(4)}


def test_the_same_records_in_the_same_order_are_exact_whatever_their_offsets() -> None:
    same: Logs = {ONE: log(1, 2, 3, begin=7), TWO: log(4, begin=1)}
    assert differing({"east": EAST, "west": same, "north": EAST}, "east") == []


@pytest.mark.parametrize("held", [log(1, 2), log(1, 2, 2, 3), log(2, 1, 3), log(1, 2, 3, 9), []])
def test_what_differs_is_named_with_its_cluster_and_partition(held: list[LogRecord]) -> None:
    found = differing({"east": EAST, "west": EAST, "north": {ONE: held, TWO: log(4)}}, "east")
    assert found == [f"north holds {len(held)} records of orders.a-0, and east 3"]


def test_a_partition_that_is_missing_or_a_record_that_was_changed_is_seen() -> None:
    changed = [*log(1, 2), LogRecord(2, RecordId("payments", 3), intact=False)]
    found = differing({"east": EAST, "west": {ONE: log(1, 2, 3)}, "north": {ONE: changed, TWO: log(4)}}, "east")
    assert [each.split()[0] for each in found] == ["north", "west"]


@pytest.mark.parametrize(
    ("now", "outcome"),
    [
        (log(1, 2, 3, 9), "held"),
        (log(1, 2), "violated"),
        ([*log(1, 2), LogRecord(2, RecordId("payments", 3), rescued=True)], "violated"),
    ],
)
def test_what_a_surviving_standby_held_is_on_the_active_cluster_and_not_by_a_rescue(
    now: list[LogRecord], outcome: str
) -> None:
    assert check_survivor({ONE: log(1, 2, 3)}, {ONE: now}).outcome == outcome
