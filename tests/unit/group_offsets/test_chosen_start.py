"""Where a person lets a group begin: what it reads again and what it skips is never counted too low."""

from __future__ import annotations

from random import Random

import pytest

from kafka_dr.errors import Refused
from kafka_dr.group_offsets.chosen_start import ChosenPosition, ChosenStart, choose
from kafka_dr.positions import OffsetRange, TopicPartition

P = TopicPartition("orders.payments", 0)
Q = TopicPartition("orders.payments", 1)


def test_each_partition_begins_where_the_person_chose() -> None:
    logs = {P: OffsetRange(10, 90), Q: OffsetRange(0, 40)}
    committed = {P: 50, Q: 40}

    def begins(start: ChosenStart, **at_time: int | None) -> list[int]:
        found = choose(start, logs, committed, at_time={P: at_time.get("p"), Q: at_time.get("q")})
        return [each.to for each in found]

    assert begins(ChosenStart("beginning")) == [10, 0]
    assert begins(ChosenStart("end")) == [90, 40]
    # No record of Q is as young as that, so there is nothing to read.
    assert begins(ChosenStart("time", 1_763_607_600_000), p=30) == [30, 40]
    assert [each.to for each in choose(ChosenStart("offset", 90), {P: logs[P]}, committed, at_time={})] == [90]


@pytest.mark.parametrize("offset", [9, 91])
def test_an_offset_outside_a_log_is_refused_with_what_the_log_holds(offset: int) -> None:
    with pytest.raises(Refused, match=r"payments-0 has offsets 10 to 90"):
        choose(ChosenStart("offset", offset), {P: OffsetRange(10, 90)}, {}, at_time={})


def test_no_record_is_read_again_or_skipped_that_was_not_counted() -> None:
    draw = Random(7)  # noqa: S311 - to draw examples
    for _ in range(2_000):
        start = draw.randrange(20)
        log = OffsetRange(start, start + draw.randrange(20))
        committed = draw.choice([None, draw.randrange(50)])
        to = draw.randrange(log.start, log.end + 1)
        found = ChosenPosition(P, committed, to, log)
        # Read so far: all before the commit. Read from here on: all from the chosen offset.
        read = {offset for offset in range(log.start, log.end) if committed is not None and offset < committed}
        reads = set(range(to, log.end))
        assert found.again == len(read & reads)
        assert found.skipped == len(set(range(log.start, log.end)) - read - reads)
        assert found.changes == (committed != to)
