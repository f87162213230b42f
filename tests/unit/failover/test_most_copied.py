"""Which standby of a lost cluster holds most, and what another one holds more than the target: by partition."""

from __future__ import annotations

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.failover.unplanned.most_copied import Copied, best, by_any, more_than, sentences, to_json

A, B, C = (TopicPartition("orders.payments", number) for number in range(3))
SILENT = TryAgain("no answer")


@pytest.mark.parametrize(
    ("copied", "chosen"),
    [
        ({"north": {A: 5}, "west": {A: 9}}, "west"),
        ({"north": {A: 5}, "west": {A: 5}}, "north"),
        # One number would choose west: it lacks records in two partitions.
        ({"north": {A: 10, B: 10, C: 1}, "west": {A: 9, B: 9, C: 900}}, "north"),
        ({"north": SILENT, "west": {A: 1}}, "west"),
        ({"north": SILENT, "west": SILENT}, "north"),
        ({"north": {A: 5}, "west": {A: 5, B: 1}}, "west"),
        ({}, "north"),
    ],
)
def test_the_standby_that_lacks_records_in_the_fewest_partitions_is_proposed(
    copied: dict[str, Copied | KafkaDrError], chosen: str
) -> None:
    assert best(["west", "north"], copied) == chosen


def test_what_another_standby_holds_more_is_said_by_partition() -> None:
    copied: dict[str, Copied | KafkaDrError] = {"north": {A: 10, B: 4}, "west": {A: 7, B: 5}, "south": SILENT}
    assert more_than("west", copied) == {"north": {A: 3}}
    assert more_than("north", copied) == {"west": {B: 1}}
    assert more_than("south", copied) == {}
    assert sentences("west", copied, fetch_seconds=0) == [
        "it is not known how much south holds: no answer",
        "north holds up to 3 records that west lacks (3 of orders.payments-0): that stays there, and north is not "
        "copied from west",
    ]
    assert sentences("west", copied, fetch_seconds=60)[1:] == [
        "north holds up to 3 records that west lacks (3 of orders.payments-0): that is fetched before west is opened, "
        "for at most 60 s. What is not fetched by then stays there, and then north is not copied from west",
    ]
    assert sentences("west", copied, fetch_seconds=60, arrives_late=True)[1].endswith(
        "What is not fetched by then stays there, and then it arrives late, once the lost cluster is back"
    )
    assert sentences("west", {"west": {A: 7}, "north": {A: 7}}, fetch_seconds=60) == []
    assert by_any(copied) == {A: 10, B: 5}
    assert to_json(copied) == {
        "north": {"orders.payments-0": 10, "orders.payments-1": 4},
        "west": {"orders.payments-0": 7, "orders.payments-1": 5},
        "south": None,
    }
