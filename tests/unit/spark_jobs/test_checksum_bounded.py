"""Audits of a stretch of offsets: where it is on the target, and how a bound in between is rounded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest

from jobs.checksum.bounded import AuditOptions, OffsetBounds, within_offsets, within_time
from jobs.checksum.job import main
from jobs.checksum.plan import AuditPlan, PartitionAuditPlan, make
from jobs.checksum.ranges import ClusterRanges, ResolvedRanges
from jobs.checksum.state import PartitionState
from kafka_dr.audit.kept_map import MapKey, Runs
from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.clusters import KafkaCluster, OffsetRange, Topic, TopicPartition
from kafka_dr.errors import Refused

P = TopicPartition("orders", 0)
#: 40 to 59 are on the source alone, 45 to 54 on the target are markers or strange.
KNOWN: Runs = {MapKey(1, "a", "b", "orders", 0): [OffsetRun(0, 5, 40), OffsetRun(60, 55, 40)]}


def whole() -> AuditPlan:
    def held(name: str, topic_id: str, end: int) -> ClusterRanges:
        return ClusterRanges(name, {"orders": Topic("orders", topic_id, (1,))}, {P: OffsetRange(0, end)}, {})

    at = datetime(2026, 3, 1, tzinfo=UTC)
    resolved = ResolvedRanges(
        at, held("E", "a", 120), held("W", "b", 110), {}, 1, frozenset(), (frozenset(), frozenset())
    )
    return make(None, resolved, full=True)


@pytest.mark.parametrize(
    ("text", "source", "target"),
    [
        ("orders-0:10-30", (10, 30), (15, 35)),
        ("orders-0:10-40", (10, 40), (15, 45)),
        ("orders-0:45-50", (40, 60), (45, 55)),  # widened to the next record that both clusters have
        ("orders-0:60-", (60, 120), (55, 110)),
        ("orders-0:-20", (0, 20), (0, 25)),
        ("orders-0:105-110", (100, 120), (95, 110)),  # past the map: to the end
        ("orders-0:500-", (100, 120), (95, 110)),
    ],
)
def test_a_range_is_found_on_both_clusters(text: str, source: tuple[int, int], target: tuple[int, int]) -> None:
    plan = within_offsets(whole(), [OffsetBounds.parse(text)], KNOWN).partitions
    assert list(plan) == [P]
    assert (plan[P].source, plan[P].target) == (OffsetRange(*source), OffsetRange(*target))
    assert plan[P].known.resume == (source[0], target[0])


def test_without_a_map_all_of_the_partition_is_audited() -> None:
    plan = within_offsets(whole(), [OffsetBounds.parse("orders-0:10-30")], {}).partitions[P]
    assert (plan.source, plan.target) == (OffsetRange(0, 120), OffsetRange(0, 110))


class TimedRecords:
    """Finds offsets by time: on the source record n was made at second n, the target stamps all at 500."""

    def __init__(self, *, restamps: bool) -> None:
        self.restamps = restamps

    def at(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int | None]:
        second = timestamp_ms // 1000
        found = (0 if second <= 500 else None) if self.restamps else (second if second < 120 else None)
        return dict.fromkeys(partitions, found)


def cluster(*, restamps: bool) -> KafkaCluster:
    return cast("KafkaCluster", SimpleNamespace(offsets_by_time=TimedRecords(restamps=restamps)))


def cut_to_time(plan: AuditPlan, since: int | None, until: int | None, *, restamped: bool) -> PartitionAuditPlan:
    def moment(second: int | None) -> datetime | None:
        return None if second is None else datetime.fromtimestamp(second, UTC)

    sides = (cluster(restamps=False), cluster(restamps=restamped))
    options = AuditOptions(since=moment(since), until=moment(until))
    stamped = {"orders"} if restamped else set()
    return within_time(plan, options, sides, restamped=stamped, known=KNOWN).partitions[P]


def test_if_the_target_stamps_records_the_map_translates_a_time_of_the_source() -> None:
    found = cut_to_time(whole(), 10, 30, restamped=True)
    assert (found.source, found.target) == (OffsetRange(10, 30), OffsetRange(15, 35))
    later = cut_to_time(whole(), None, 999, restamped=True)
    assert (later.source, later.target) == (OffsetRange(0, 120), OffsetRange(0, 110))
    plain = cut_to_time(whole(), 10, 30, restamped=False)
    assert (plain.source, plain.target) == (OffsetRange(10, 30), OffsetRange(10, 30))


def test_what_a_cluster_no_longer_had_excuses_a_range_that_begins_with_it() -> None:
    plan = whole()
    kept = replace(plan.partitions[P], known=PartitionState(first_kept=(20, 0)), source=OffsetRange(20, 120))
    plan = replace(plan, partitions={P: kept})
    assert cut_to_time(plan, 5, None, restamped=False).known.first_kept == (20, 0)
    assert cut_to_time(plan, 30, None, restamped=False).known.first_kept == (0, 0)


def test_a_map_of_another_topic_of_the_same_name_is_not_used() -> None:
    runs: Runs = {MapKey(1, "old", "b", "orders", 0): [OffsetRun(0, 5, 40)]}
    assert within_offsets(whole(), [OffsetBounds.parse("orders-0:10-30")], runs).partitions[P].source.end == 120


@pytest.mark.parametrize("asked", [["orders-7:0-5"], ["orders-0:0-5", "orders-0:7-9"]])
def test_a_partition_that_is_not_there_or_named_twice_is_refused(asked: list[str]) -> None:
    with pytest.raises(Refused, match="give --offsets one range for each existing partition"):
        within_offsets(whole(), [OffsetBounds.parse(each) for each in asked], KNOWN)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--offsets", "orders"], "'orders' is not a range of offsets"),
        (["--offsets", "orders-0:9-9"], "holds no offset"),
        (["--offsets", "orders-0:1-9", "--topics", "orders"], "cannot be combined with --topics"),
    ],
)
def test_what_cannot_be_meant_ends_as_unknown(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--topology", "t", "--flow", "f", "--out", "o", *arguments], {})
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
