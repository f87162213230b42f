"""What became of each record of a partition, counted exactly: faults are put into a copy, and found again."""

from __future__ import annotations

from random import Random

import pytest

from support.seen_logs import compared, log, numbered, seen


def counts(*args: object, **how: object) -> dict[str, int]:
    return {kind: count for kind, count in compared(*args, **how).counts.items() if count}  # type: ignore[arg-type]


def test_a_whole_copy_is_equal_to_its_end_also_where_offsets_differ() -> None:
    source = log(seen(offset, content) for content, offset in enumerate((0, 1, 3, 4, 7)))
    found = compared(source, numbered(range(5)))

    assert (found.equal, found.equal_until, dict(found.counts)) == (5, 8, {})


@pytest.mark.parametrize(
    ("copy", "said"),
    [
        ([0, 1, 2, 5, 6, 7, 8, 9], {"lost": 2}),
        ([0, 1, 2, 3, 4, 5, 6, 7], {"late": 2}),
        ([0, 1, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9], {"duplicated": 2}),
        ([0, 1, 2, 77, 3, 4, 5, 6, 7, 8, 9], {"foreign": 1}),
        ([0, 2, 1, 3, 4, 5, 6, 7, 8, 9], {"reordered": 1}),
        ([0, 1, 3, 4, 5, 5, 6, 7, 8, 9], {"lost": 1, "duplicated": 1}),
        ([], {"late": 10}),
        ([*range(10), 3, 99], {"duplicated": 1, "foreign": 1}),
    ],
)
def test_each_fault_is_counted_as_what_it_is(copy: list[int], said: dict[str, int]) -> None:
    assert counts(numbered(range(10)), numbered(copy)) == said


def test_a_young_tail_is_in_flight_and_an_old_one_late() -> None:
    source, target = numbered(range(10)), numbered(range(7))

    assert counts(source, target, late_before=8_000) == {"late": 1, "in_flight": 2}
    assert compared(source, target, late_before=8_000).equal_until == 7


def test_a_changed_copy_is_neither_lost_nor_foreign_and_still_is_the_copy_of_its_record() -> None:
    records = [seen(n, n, key=f"k{n}") for n in range(6)]
    changed = [seen(n, "changed" if n == 3 else n, key=f"k{n}", time=1_000 * n) for n in range(6)]
    found = compared(log(records), log(changed))

    assert dict(found.counts) == {"corrupted": 1}
    assert (found.copies[3], found.equal_until) == ([3], 3)


def test_what_expired_first_on_one_cluster_is_not_called_a_loss() -> None:
    whole, later = numbered(range(10)), log((seen(n, n) for n in range(4, 10)), held_from=4)

    assert counts(whole, later) == {"expired_on_target": 4}
    assert compared(whole, later).gone == (0, 1, 2, 3)
    assert counts(later, whole) == {"expired_on_source": 4}
    assert compared(later, whole).equal_until == 10


def test_what_was_not_read_is_never_called_lost_or_foreign() -> None:
    newest = log((seen(n, n) for n in range(4, 10)), held_from=0, read_from=4)

    assert counts(numbered(range(10)), newest) == {"not_read": 4}
    assert counts(newest, numbered(range(10))) == {"not_read": 4}
    assert not newest.whole


def test_where_nothing_was_matched_nothing_is_equal() -> None:
    others = log((seen(n, 100 + n) for n in range(4, 10)), held_from=4)

    assert (compared(numbered(range(10)), others).equal_until, compared(others, others).equal_until) == (0, 10)
    assert compared(others, numbered(range(10))).equal_until == 4


def test_an_old_record_that_only_the_target_has_may_be_a_second_copy_of_one_that_expired() -> None:
    source = log((seen(n, n) for n in range(4, 10)), held_from=4)
    copy = numbered([4, 5, 2, 6, 7, 8, 88, 9])

    assert counts(source, copy) == {"unexplained": 1, "foreign": 1}


def test_compaction_explains_a_missing_record_only_where_the_topic_is_compacted() -> None:
    keys = ["a", "b", "a", "c"]
    source = log(seen(n, n, key=key) for n, key in enumerate(keys))
    target = log((seen(n, n, key=key) for n, key in enumerate(keys) if n), end=4)
    later = log([seen(0, 9, key="z"), *(seen(n + 1, n, key=key) for n, key in enumerate(keys))])
    less = log([seen(0, 9, key="z"), *(seen(n + 1, n, key=key) for n, key in enumerate(keys) if n)])

    assert counts(source, target, compacted=True) == {"compacted": 1}
    assert counts(later, less, compacted=False) == {"lost": 1}
    assert counts(later, less, compacted=None) == {"unexplained": 1}
    no_successor = log([seen(0, 9, key="z"), *(seen(n + 1, n, key=key) for n, key in enumerate(keys) if n != 1)])
    assert counts(later, no_successor, compacted=True) == {"lost": 1}


def test_compaction_explains_no_record_that_left_no_hole_and_no_changed_copy() -> None:
    keys = ["z", "a", "b", "a", "c"]
    source = log(seen(n, n, key=key) for n, key in enumerate(keys))
    no_hole = log(seen(n, content, key=keys[content]) for n, content in enumerate((0, 2, 3, 4)))
    changed = log(seen(n, 99 if n == 1 else n, key=key) for n, key in enumerate(keys))
    doubled = log(seen(n, content, key=keys[content]) for n, content in ((0, 0), (2, 2), (3, 0), (4, 3), (5, 4)))

    assert counts(source, no_hole, compacted=True) == {"lost": 1}
    assert "compacted" not in counts(source, changed, compacted=True)
    assert counts(source, doubled, compacted=True) == {"compacted": 1, "duplicated": 1}


def test_a_copy_of_an_aborted_record_is_named_as_that() -> None:
    source = log((seen(n, n) for n in (0, 1, 4, 5)), end=6)

    assert counts(source, numbered([0, 1, 2, 4, 5])) == {"foreign": 1}
    assert counts(source, numbered([0, 1, 2, 4, 5]), aborted=[seen(2, 2)]) == {"aborted": 1}


def test_times_are_not_compared_where_the_targets_broker_stamps_records() -> None:
    source = numbered(range(5))
    stamped = log(seen(n, n, time=7, stamped=True) for n in range(5))
    aborted = log([*(seen(n, n, time=7, stamped=True) for n in range(5)), seen(5, "gone", time=9, stamped=True)])

    assert counts(source, stamped) == {}
    assert counts(source, aborted, aborted=[seen(9, "gone")]) == {"aborted": 1}


@pytest.mark.parametrize("seed", range(40))
def test_random_faults_are_counted_exactly_and_every_record_once(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - a test that can be repeated
    size = random.choice((30, 400, 3_000))
    lost = set(random.sample(range(1, size - 20), size // 20))
    copy, doubled, foreign = [], 0, 0
    for n in range(size):
        if n not in lost:
            copy.append(n)
        if random.random() < 0.02:
            copy.append(1_000_000 + n)
            foreign += 1
    for _ in range(3):
        begin = random.randrange(len(copy) - 10)
        again = [n for n in copy[max(0, begin - 5) : begin] if n < 1_000_000]
        copy[begin:begin] = again
        doubled += len(again)
    found = compared(numbered(range(size)), numbered(copy))

    assert found.counts["lost"] + found.counts["late"] == len(lost)
    assert (found.counts["duplicated"], found.counts["foreign"], found.counts["reordered"]) == (doubled, foreign, 0)
    assert found.equal == size - len(lost)
    assert sum(len(each) for each in found.copies.values()) == len(copy) - foreign


def test_a_record_without_a_timestamp_is_the_same_one_with_the_time_of_the_copying() -> None:
    source = log([seen(0, 0), seen(1, "untimed", time=-1), *(seen(n, n) for n in range(2, 5))])
    target = log([seen(0, 0), seen(1, "untimed", time=90_000), *(seen(n, n) for n in range(2, 5))])
    assert (counts(source, target), compared(source, target).equal) == ({}, 5)
    changed = log([seen(0, 0), seen(1, "changed", time=90_000), *(seen(n, n) for n in range(2, 5))])
    assert counts(source, changed) == {"lost": 1, "foreign": 1}


def test_a_time_before_1970_is_a_time() -> None:
    source = log([seen(0, 0), seen(1, "early", time=-5_000), seen(2, 2)])
    assert counts(source, source) == {}
    restamped = log([seen(0, 0), seen(1, "early", time=90_000), seen(2, 2)])
    assert counts(source, restamped) == {"corrupted": 1}


@pytest.mark.parametrize("untimed", [[3], [3, 4], [0, 3, 4]])
def test_a_record_without_a_timestamp_is_as_young_as_its_neighbour(untimed: list[int]) -> None:
    source = log(seen(n, f"c{n}", time=-1 if n in untimed else 1_000 * n) for n in range(5))
    nothing = log([])
    assert counts(source, nothing, late_before=2_000) == {"late": 2, "in_flight": 3}
