"""What follows from what a drill's application saw."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kafka_dr.drill.truth import (
    Acknowledged,
    ApplicationLog,
    LegTruth,
    Read,
    of_copy,
    of_leg,
    read_again,
    reordered,
    unread,
)
from kafka_dr.positions import TopicPartition

P = TopicPartition("t", 0)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def log(*, read: int = 20) -> ApplicationLog:
    """Ten records on east, one a second; ten on west from second 15 on; each read half a second later."""
    written = [Acknowledged(n, P, "east", at(n)) for n in range(10)]
    written += [Acknowledged(n, P, "west", at(5 + n)) for n in range(10, 20)]
    seen = [Read(w.number, w.cluster, w.at + timedelta(seconds=0.5)) for w in written[:read]]
    return ApplicationLog(written, seen)


def there(found: ApplicationLog, *held: int) -> LegTruth:
    return of_leg(found, source="east", target="west", period=(at(-1), None), decided_at=at(9.5), held={P: held})


def test_a_failover_that_loses_nothing() -> None:
    found = there(log(), *range(20))
    assert (found.acknowledged, found.lost, found.reordered, found.rpo_seconds) == (10, 0, 0, 0.0)
    assert (found.write_outage_seconds, found.rto_seconds) == (6.0, 6.0)


def test_recovery_counts_from_the_last_record_that_the_source_acknowledged_or_from_the_approval() -> None:
    def recovered(found: ApplicationLog, *, since_fault: bool, decided_at: float) -> float | None:
        return of_leg(
            found,
            source="east",
            target="west",
            period=(at(-1), None),
            decided_at=at(decided_at),
            held={P: range(20)},
            since_fault=since_fault,
        ).rto_seconds

    assert recovered(log(), since_fault=False, decided_at=14) == 1.5
    assert recovered(log(), since_fault=True, decided_at=14) == 6.5
    never_written = log()
    never_written.acknowledged = [each for each in never_written.acknowledged if each.cluster == "west"]
    assert recovered(never_written, since_fault=True, decided_at=14) is None


def test_what_is_written_after_the_next_failover_was_decided_belongs_to_that_one() -> None:
    found = log()
    found.acknowledged += [Acknowledged(n, P, "east", at(20 + n)) for n in range(20, 30)]
    first = of_leg(
        found, source="east", target="west", period=(at(-1), at(30)), decided_at=at(9.5), held={P: range(20)}
    )
    assert (first.acknowledged, first.lost, first.write_outage_seconds) == (10, 0, 6.0)
    second = of_leg(found, source="west", target="east", period=(at(15), None), decided_at=at(30), held={P: range(30)})
    assert (second.acknowledged, second.lost, second.write_outage_seconds) == (10, 0, 16.0)
    # Two clusters that acknowledge writes at the same time show as an outage below zero.
    both = of_leg(found, source="east", target="west", period=(at(-1), None), decided_at=at(9.5), held={P: range(30)})
    assert both.write_outage_seconds is not None
    assert both.write_outage_seconds < 0


def test_what_the_target_lacks_is_lost_and_the_oldest_of_it_is_the_data_at_risk() -> None:
    found = there(log(), *range(7), *range(10, 20))
    assert (found.lost, found.rpo_seconds) == (3, 2.0)
    assert there(log(), *range(1, 20)).rpo_seconds == 9.0


def test_of_a_failback_the_copy_is_measured_and_nothing_of_the_application() -> None:
    # Records 7 to 9 are only on the old cluster: they were stranded there and stay.
    found = of_copy(log(), source="west", held={P: [*range(10), *range(10, 18)]})
    assert (found.acknowledged, found.lost, found.reordered) == (10, 2, 0)
    assert (found.rto_seconds, found.rpo_seconds, found.write_outage_seconds) == (None, None, None)
    assert of_copy(log(), source="west", held={P: [*range(10, 20), 3]}).reordered == 1


def test_what_was_not_seen_is_not_known_and_never_good() -> None:
    assert there(log(read=10), *range(20)).rto_seconds is None
    nothing = there(ApplicationLog(), *range(20))
    assert (nothing.rto_seconds, nothing.rpo_seconds, nothing.write_outage_seconds) == (None, None, None)


@pytest.mark.parametrize(
    ("held", "unanswered", "count"),
    [([1, 2, 3], (), 0), ([1, 3, 2], (), 1), ([1, 2, 2], (), 1), ([1, 2, 2], (2,), 0), ([3, 1, 2], (), 2)],
)
def test_records_keep_their_order_in_each_partition(held: list[int], unanswered: tuple[int, ...], count: int) -> None:
    assert reordered({P: held, TopicPartition("t", 1): [0, 9]}, unanswered=unanswered) == count


def test_records_that_nobody_read_and_records_that_were_read_again_are_counted() -> None:
    found = log(read=18)
    found.read.append(found.read[3])
    assert unread(found, {P: range(20)}) == 2
    assert unread(found, {P: range(18)}) == 0
    assert read_again(found) == 1
