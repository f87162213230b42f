from __future__ import annotations

from typing import Any

import pytest

from lab.bench.company import Size
from lab.bench.failover import as_json
from lab.bench.requests import RequestCounter, kind_of


@pytest.mark.parametrize(
    ("doing", "kind"),
    [
        ("read the ends of orders.a, orders.b and 3 more", "read the ends of"),
        ("describe orders.bench-00001", "describe"),
        ("take over the transactional id kafka-dr-register-orders", "take over the transactional id"),
        ("ask for a write", "ask for a write"),
        ("read the ACLs", "read the ACLs"),
        ("describe group orders-slow", "describe group"),
        ("Read", "other"),
    ],
)
def test_requests_are_counted_without_the_names_that_they_are_about(doing: str, kind: str) -> None:
    assert kind_of(doing) == kind
    counter = RequestCounter()
    counter(doing)
    counter(doing)
    assert counter.taken() == {kind: 2}
    assert not counter.taken()


def test_a_size_has_as_many_partitions_and_offsets_as_it_says() -> None:
    size = Size(topics=7, partitions=20, groups=5, committed=6, principals=9)
    assert sorted(size.layout.values()) == [2, 3, 3, 3, 3, 3, 3]
    assert len(size.all_partitions) == 20
    assert {name: len(offsets) for name, offsets in size.offsets.items()} == dict.fromkeys(size.offsets, 6)
    assert len(size.offsets) == 5
    assert not Size().offsets
    assert Size(topics=3, partitions=3, groups=1, committed=30).offsets.keys() == {"orders-bench-0000"}


def measured(seconds: float, *, lost: int = 0, outage: float | None = 2.0) -> dict[str, Any]:
    one = {"write_outage_seconds": outage, "approved_to_verified_seconds": seconds}
    return {"planned": [one, one], "unplanned": one, "held": True, "planned_records": {"lost": lost}}


def test_the_report_says_how_many_times_as_long_the_large_group_takes_and_holds_only_without_losses() -> None:
    report = as_json({"demo": measured(2.0), "company": measured(5.0, outage=4.0)}, brokers=3)
    assert report["ratios"] == {"planned_outage": 2.0, "planned_verified": 2.5, "unplanned_verified": 2.5}
    assert report["held"]
    assert not as_json({"demo": measured(2.0), "company": measured(5.0, lost=1)}, brokers=3)["held"]
    unknown = as_json({"demo": measured(2.0, outage=None), "company": measured(5.0)}, brokers=3)
    assert unknown["ratios"]["planned_outage"] is None
