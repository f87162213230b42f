"""What two logs hold, by the numbers that applications give to their records."""

from __future__ import annotations

from kafka_dr.positions import TopicPartition
from lab.demo.observed.checkpoints import parse
from lab.demo.observed.identified import Numbered, PairOfLogs
from lab.demo.observed.unchanged import ClusterState, differences


def log(*numbers: int | None) -> list[Numbered]:
    return [Numbered(offset, None if n is None else ("payments", n)) for offset, n in enumerate(numbers)]


def pair(source: list[Numbered], target: list[Numbered], *aborted: int) -> PairOfLogs:
    return PairOfLogs(source, {("payments", n) for n in aborted}, target)


def test_each_record_of_the_target_is_a_copy_a_second_copy_of_an_aborted_one_or_of_nothing() -> None:
    seen = pair(log(0, 1, 2, 3, 4, 5), log(0, 1, 90, 0, 1, 90, 2, None, 3), 90)

    assert (seen.second_copies, seen.copies_of_aborted, seen.last_copied, seen.not_copied) == (2, 2, 3, 2)


def test_records_that_were_skipped_are_not_counted_as_not_copied_yet() -> None:
    assert pair(log(0, 1, 2, 3), log(0, 3)).not_copied == 0
    assert pair(log(0, 1), []).last_copied == -1


def test_a_reader_that_continues_on_the_target_gets_some_again_and_misses_others() -> None:
    seen = pair(log(0, 1, 2, 3, 4), log(0, 1, 2, 0, 1, 2, 3), 90)

    assert seen.resumed(3, 6) == (0, 0)
    assert seen.resumed(3, 3) == (3, 0)
    assert seen.resumed(2, 7) == (0, 2)
    # Its second copy is delivered, although the first one is before the position.
    assert seen.resumed(1, 4) == (0, 0)
    assert seen.resumed(1, 1) == (3, 0)


def test_of_several_checkpoints_of_a_partition_the_last_one_counts() -> None:
    line = (
        "Checkpoint{{consumerGroupId=orders-head, topicPartition=east.orders.pay-ments-3, upstreamOffset=9, "
        "downstreamOffset={}, metadata=}}\n"
    )
    assert parse(line.format(7) + line.format(12)) == {"orders-head": {TopicPartition("orders.pay-ments", 3): 12}}


def test_whatever_changes_on_a_cluster_is_named() -> None:
    before = ClusterState({"a-0": 3, "b-0": 1}, {"a": {"retention.ms": "1"}}, ["may read"])
    after = ClusterState({"a-0": 4, "c-0": 0}, {"a": {"retention.ms": "2"}}, ["may write"])

    assert differences(before, before) == []
    assert differences(before, after) == [
        "end of a-0: 3 before, 4 after",
        "end of b-0: 1 before, none after",
        "end of c-0: none before, 0 after",
        "settings of a",
        "ACL may read",
        "ACL may write",
    ]
