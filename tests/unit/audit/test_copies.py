"""What counts as a copy, whoever stamped the records; the test alone knows what was copied from what."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.audit.copies import Entry, comparable, is_copy, stamped_topics, times_count, times_lost
from kafka_dr.audit.walk import Walk
from kafka_dr.positions import OffsetRange, TopicPartition

PARTITION = TopicPartition("t", 0)


@dataclass(frozen=True)
class Made:
    """A record as an application made it."""

    key: bytes
    value: bytes
    time: int


def stored(record: Made, offset: int, *, stamp: int | None) -> Entry:
    """Return a record as a broker keeps it, which stamps it or not."""
    time = record.time if stamp is None else stamp
    return Entry.of(offset, timestamp_ms=time, stamped=stamp is not None, key=record.key, value=record.value)


MADE = st.builds(Made, st.sampled_from([b"k", b"l"]), st.sampled_from([b"v", b"w"]), st.integers(0, 3))
#: When a setting changed: whether the broker stamps each of the records.
LOGS = st.lists(st.tuples(MADE, st.booleans(), st.booleans()), max_size=14)


def copied(log: list[tuple[Made, bool, bool]]) -> tuple[list[Entry], list[Entry]]:
    """Store records on the source and copy them; each cluster stamps the topics that are configured so."""
    here = [stored(made, n, stamp=100 + n if first else None) for n, (made, first, _) in enumerate(log)]
    there = []
    for n, (made, first, second) in enumerate(log):
        carried = replace(made, time=100 + n if first else made.time)
        there.append(stored(carried, n, stamp=500 + n if second else None))
    return here, there


def walked(source: list[Entry], target: list[Entry]) -> int | None:
    """Return the offset at which a frontier finds something."""
    ends = OffsetRange(0, len(source)), OffsetRange(0, len(target))
    walk = Walk(PARTITION, until=len(source), point=None, start=None, source=ends[0], target=ends[1])
    while not walk.done:
        here, there = walk.source_window(), walk.target_window()
        walk.look(source[here.start : here.end], target[there.start : there.end])
    return walk.verified.finding.source_offset if walk.verified.finding else None


@given(LOGS)
@settings(max_examples=200, deadline=None)
def test_a_true_copy_is_equal_whoever_stamped_it_and_whenever_that_changed(log: list[tuple[Made, bool, bool]]) -> None:
    source, target = copied(log)
    assert walked(source, target) is None


@given(LOGS.filter(bool), st.data())
@settings(max_examples=300, deadline=None)
def test_a_copy_that_differs_is_found_at_its_offset(log: list[tuple[Made, bool, bool]], data: st.DataObject) -> None:
    source, target = copied(log)
    at = data.draw(st.integers(0, len(log) - 1))
    made, first, second = log[at]
    what = data.draw(st.sampled_from(["value", "time"]))
    wrong = replace(made, value=b"wrong") if what == "value" else replace(made, time=99)
    carried = replace(wrong, time=100 + at) if first and what == "value" else wrong
    target[at] = stored(carried, at, stamp=500 + at if second else None)
    # Nobody can know that a time is wrong that the target gave anyway.
    assert walked(source, target) == (None if what == "time" and second else at)


@given(LOGS, st.booleans())
@settings(max_examples=200, deadline=None)
def test_ranges_of_two_directions_are_equal_in_content_whichever_cluster_holds_the_copies(
    log: list[tuple[Made, bool, bool]], turned: bool
) -> None:
    here, there = copied(log)
    ours, theirs = comparable(there, here) if turned else comparable(here, there)
    assert [entry.content for entry in ours] == [entry.content for entry in theirs]


def test_times_are_compared_where_no_broker_stamped_anything() -> None:
    one, other = (stored(Made(b"k", b"v", time), 0, stamp=None) for time in (1, 2))
    assert not is_copy(one, other)
    ours, theirs = comparable([one], [other])
    assert ours[0].content != theirs[0].content


@pytest.mark.parametrize(
    ("source_stamps", "target_stamps", "turned", "count"),
    [
        (False, False, False, True),
        (False, False, True, True),
        # What the source stamped is carried to a target that keeps it.
        (True, False, False, True),
        # After a switch the source holds copies of the other one's records, which it stamped.
        (True, False, True, False),
        (False, True, False, False),
        (True, True, False, False),
    ],
)
def test_times_of_a_topic_count_as_a_whole(source_stamps: bool, target_stamps: bool, turned: bool, count: bool) -> None:
    assert times_count(source_stamps=source_stamps, target_stamps=target_stamps, turned=turned) is count


def test_what_is_lost_is_said_once_for_all_topics_of_a_cluster() -> None:
    configs = {f"t{n}": {"message.timestamp.type": "LogAppendTime" if n else "CreateTime"} for n in range(6)}
    said = times_lost("west", stamped_topics(configs))
    assert said.startswith("west replaces the timestamps of t1, t2, t3 and 2 more topics")
    assert times_lost("west", stamped_topics({"t0": configs["t0"]})) == ""


@pytest.mark.parametrize(("value", "equal"), [(b"v", True), (b"w", False)])
def test_a_record_without_a_timestamp_is_equal_to_a_copy_that_has_the_time_of_the_copying(
    value: bytes, equal: bool
) -> None:
    original = [stored(Made(b"k", b"v", time), n, stamp=None) for n, time in enumerate((7, -1, 8))]
    made = (Made(b"k", b"v", 7), Made(b"k", value, 99), Made(b"k", b"v", 8))
    copy = [stored(each, n, stamp=None) for n, each in enumerate(made)]
    assert walked(original, copy) == (None if equal else 1)
    assert is_copy(original[1], copy[1]) == equal
    assert not is_copy(copy[1], original[1]), "only an original may lack its timestamp"
    here, there = comparable(original, copy)
    assert ([e.content for e in here] == [e.content for e in there]) == equal
