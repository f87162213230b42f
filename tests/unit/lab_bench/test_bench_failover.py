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


_OUTAGES = {"planned_outage_ratio", "longest_planned_outage_ratio", "unplanned_outage_ratio"}


def measured(
    seconds: float, *, lost: int = 0, again: int = 0, outage: float | None = 2.0, memory_mb: int = 400
) -> dict[str, Any]:
    one = {"write_outage_seconds": outage, "approved_to_verified_seconds": seconds}
    records = {"lost": lost, "redelivered": again, "duplicated": 0}
    return {
        "planned": [one, one],
        "unplanned": one,
        "held": True,
        "planned_records": records,
        "peak_memory_mb": memory_mb,
    }


def test_the_report_says_how_many_times_as_long_the_large_group_takes() -> None:
    report = as_json({"demo": measured(2.0), "company": measured(5.0, outage=4.0)}, brokers=3)
    assert report["ratios"] == {
        "planned_outage": 2.0,
        "planned_verified": 2.5,
        "unplanned_outage": 2.0,
        "unplanned_verified": 2.5,
        "longest_planned_outage": 2.0,
    }
    assert report["held"]
    assert report["reached"]
    assert report["goals"]["planned_outage_ratio"] == {"measured": 2.0, "at_most": 3.0}


def test_medians_are_compared_and_the_longest_failovers_next_to_them() -> None:
    demo, company = measured(2.0), measured(5.0)
    company["planned"] = [{**company["unplanned"], "write_outage_seconds": each} for each in (4.0, 9.0, 4.4, 4.2)]
    report = as_json({"demo": demo, "company": company}, brokers=3)
    assert (report["ratios"]["planned_outage"], report["ratios"]["longest_planned_outage"]) == (2.15, 4.5)
    assert report["goals"]["longest_planned_outage_ratio"] == {"measured": 4.5, "at_most": 3.0}
    assert not report["reached"], "one long outage is enough"


@pytest.mark.parametrize(
    ("company", "missed"),
    [
        (measured(5.0, lost=1), {"planned_lost"}),
        (measured(5.0, again=1), {"planned_again"}),
        (measured(5.0, memory_mb=1_600), {"peak_memory_gb"}),
        (measured(5.0, outage=6.2), _OUTAGES),
        (measured(5.0, outage=None), _OUTAGES),
    ],
)
def test_a_goal_that_is_missed_or_unknown_is_not_reached(company: dict[str, Any], missed: set[str]) -> None:
    report = as_json({"demo": measured(2.0), "company": company}, brokers=3)
    assert not report["reached"]
    found = {
        name for name, goal in report["goals"].items() if goal["measured"] is None or goal["measured"] > goal["at_most"]
    }
    assert found == missed
