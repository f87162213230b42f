from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.audit.coverage import Coverage, total
from kafka_dr.audit.offset_runs import OffsetRun, joined, translate
from support.sentences import assert_sentence


def test_a_coverage_adds_up_or_says_so() -> None:
    whole = Coverage(produced=10, verified=4, differing=1, in_flight=1, expired=2, control=1, excluded=1)
    assert whole.adds_up
    assert total([whole, whole]) == Coverage(20, 8, 2, 2, 4, 2, 0, 2)
    assert not Coverage(produced=10, verified=9).adds_up
    assert not Coverage(produced=9, verified=10, control=-1).adds_up


@st.composite
def copied(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Return the offsets of records on both clusters; both logs have holes of their own."""
    count = draw(st.integers(1, 30))
    steps = st.lists(st.integers(1, 3), min_size=count, max_size=count)
    return [sum(s[: n + 1]) for s in (draw(steps),) for n in range(count)], [
        sum(t[: n + 1]) for t in (draw(steps),) for n in range(count)
    ]


@given(copied(), st.integers(0, 100))
def test_a_translated_position_skips_nothing_and_repeats_nothing(
    logs: tuple[list[int], list[int]], position: int
) -> None:
    source, target = logs
    runs = joined([OffsetRun(s, t, 1) for s, t in zip(source, target, strict=True)])
    answer = translate(runs, position)
    if position < source[0] or position > source[-1] + 1:
        assert answer is None
    else:
        unread = [t for s, t in zip(source, target, strict=True) if s >= position]
        assert [t for t in target if t >= (answer or 0)] == unread


def test_runs_of_two_audits_become_one() -> None:
    assert joined([OffsetRun(0, 5, 10), OffsetRun(10, 15, 2), OffsetRun(12, 18, 1)]) == [
        OffsetRun(0, 5, 12),
        OffsetRun(12, 18, 1),
    ]
    assert translate([], 0) is None


def test_records_are_counted_as_records_and_offsets_without_one_are_named() -> None:
    """Each transaction leaves a marker: "8158 of 9866 offsets verified" reads as if 1,708 records were not."""
    whole = Coverage(produced=9866, verified=8158, control=1708)
    assert_sentence(whole.sentence)
    some = Coverage(produced=20, verified=4, differing=1, in_flight=2, expired=3, control=4, compacted=5, excluded=1)
    assert_sentence(some.sentence)
