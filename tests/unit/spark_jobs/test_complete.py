"""A topic is complete up to the time of an audit whose ends were verified since, however much is always on its way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from jobs.checksum.complete import complete_up_to
from jobs.checksum.report import PartitionReport
from jobs.checksum.state import AuditState, AwaitedEnds
from kafka_dr.audit.coverage import Coverage
from kafka_dr.clusters import TopicPartition

ONE, TWO = TopicPartition("receipts", 0), TopicPartition("receipts", 1)
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def at(minute: int) -> datetime:
    return NOON + timedelta(minutes=minute)


def audits(*seen: tuple[dict[TopicPartition, tuple[int, int]], int], hidden: int = 0) -> datetime | None:
    """Return up to when the topic is complete after audits.

    :param seen: of each audit by partition how far it is verified and where it ends, and when that was
    """
    state: tuple[dict[str, datetime], dict[str, AwaitedEnds]] = ({}, {})
    for partitions, minute in seen:
        reports = [
            PartitionReport(p, (), {}, Coverage(), (verified, 0), end, None, {}, ())
            for p, (verified, end) in partitions.items()
        ]
        state = complete_up_to(state, reports, {ONE: hidden} if hidden else {}, at(minute))
    kept = AuditState(("e", "w", 1), complete=state[0], awaited=state[1])
    assert AuditState.from_json(kept.to_json()) == kept
    return state[0].get("receipts")


def test_what_nobody_writes_to_is_complete_up_to_the_audit() -> None:
    assert audits(({ONE: (10, 10), TWO: (0, 0)}, 1)) == at(1)
    assert audits(({ONE: (10, 10), TWO: (0, 0)}, 1), ({ONE: (10, 10), TWO: (0, 0)}, 2)) == at(2)


def test_while_it_is_written_to_it_is_complete_up_to_the_ends_of_an_earlier_audit() -> None:
    first = ({ONE: (8, 10), TWO: (5, 5)}, 1)
    assert audits(first) is None
    assert audits(first, ({ONE: (19, 20), TWO: (7, 9)}, 2)) == at(1)
    assert audits(first, ({ONE: (19, 20), TWO: (7, 9)}, 2), ({ONE: (20, 30), TWO: (9, 9)}, 3)) == at(2)


def test_the_time_stays_while_one_partition_is_late() -> None:
    first, second = ({ONE: (8, 10), TWO: (5, 5)}, 1), ({ONE: (9, 20), TWO: (7, 9)}, 2)
    assert audits(first, second) is None
    assert audits(first, second, ({ONE: (10, 40), TWO: (9, 9)}, 3)) == at(1)


def test_what_an_open_transaction_hides_is_waited_for() -> None:
    assert audits(({ONE: (10, 10)}, 1), hidden=3) is None
