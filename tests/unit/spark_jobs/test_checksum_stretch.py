"""Audits of a stretch of offsets: where it is on the target, and how a bound in between is rounded."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobs.checksum import main
from jobs.checksum_plan import Plan, make
from jobs.checksum_ranges import Held, Resolved
from jobs.checksum_stretch import OffsetStretch, within_offsets
from kafka_dr.audit.kept_map import MapKey, Runs
from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.clusters import OffsetRange, Topic, TopicPartition
from kafka_dr.errors import Refused

P = TopicPartition("orders", 0)
#: 40 to 59 are on the source alone, 45 to 54 on the target are markers or strange.
KNOWN: Runs = {MapKey(1, "a", "b", "orders", 0): [OffsetRun(0, 5, 40), OffsetRun(60, 55, 40)]}


def whole() -> Plan:
    def held(name: str, topic_id: str, end: int) -> Held:
        return Held(name, {"orders": Topic("orders", topic_id, (1,))}, {P: OffsetRange(0, end)}, {})

    at = datetime(2026, 3, 1, tzinfo=UTC)
    resolved = Resolved(at, held("E", "a", 120), held("W", "b", 110), {}, 1, frozenset(), frozenset())
    return make(None, resolved, full=True)


@pytest.mark.parametrize(
    ("text", "source", "target"),
    [
        ("orders-0:10-30", (10, 30), (15, 35)),
        ("orders-0:10-40", (10, 40), (15, 45)),
        ("orders-0:45-50", (40, 60), (45, 55)),  # outward to the next record that both sides have
        ("orders-0:60-", (60, 120), (55, 110)),
        ("orders-0:-20", (0, 20), (0, 25)),
        ("orders-0:105-110", (100, 120), (95, 110)),  # past the map: to the end
        ("orders-0:500-", (100, 120), (95, 110)),
    ],
)
def test_a_stretch_is_found_on_both_sides(text: str, source: tuple[int, int], target: tuple[int, int]) -> None:
    plan = within_offsets(whole(), [OffsetStretch.parse(text)], KNOWN).partitions
    assert list(plan) == [P]
    assert (plan[P].source, plan[P].target) == (OffsetRange(*source), OffsetRange(*target))
    assert plan[P].known.resume == (source[0], target[0])


def test_without_a_map_all_of_the_partition_is_audited() -> None:
    plan = within_offsets(whole(), [OffsetStretch.parse("orders-0:10-30")], {}).partitions[P]
    assert (plan.source, plan.target) == (OffsetRange(0, 120), OffsetRange(0, 110))


def test_a_map_of_another_topic_of_the_same_name_is_not_used() -> None:
    runs: Runs = {MapKey(1, "old", "b", "orders", 0): [OffsetRun(0, 5, 40)]}
    assert within_offsets(whole(), [OffsetStretch.parse("orders-0:10-30")], runs).partitions[P].source.end == 120


@pytest.mark.parametrize("asked", [["orders-7:0-5"], ["orders-0:0-5", "orders-0:7-9"]])
def test_a_partition_that_is_not_there_or_named_twice_is_refused(asked: list[str]) -> None:
    with pytest.raises(Refused, match="name one stretch of offsets of a partition that there is"):
        within_offsets(whole(), [OffsetStretch.parse(each) for each in asked], KNOWN)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--offsets", "orders"], "'orders' is no stretch of offsets"),
        (["--offsets", "orders-0:9-9"], "holds no offset"),
        (["--offsets", "orders-0:1-9", "--topics", "orders"], "leave out --topics"),
    ],
)
def test_what_cannot_be_meant_ends_as_unknown(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--topology", "t", "--flow", "f", "--out", "o", *arguments], {})
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
