"""Random logs whose truth the generator knows: by way of the donor, no answer is ever past an unread record."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.offsets.translate import without_source
from kafka_dr.offsets.translate.by_donor import FetchedRange
from kafka_dr.offsets.translate.without_source import KnownPoints, translate_by_known_points
from kafka_dr.positions import OffsetRange, SeedPoint


@dataclass(frozen=True)
class ThreeLogs:
    """The log of the origin, its copy on the donor, and the target, to which a part was fetched from the donor.

    :param origin: the offsets of its records
    :param by_flow: next to copy for the target's own flow
    :param donor: the offset of each record's copy there, in order
    :param target: the same of the target: it may have fewer of them
    :param steps: where donor and target correspond, as the fetch has seen it
    :param pairs: records of origin and donor whose offsets are known
    """

    origin: list[int]
    by_flow: int
    own: int
    donor: list[int]
    target: list[int]
    end: int
    steps: list[SeedPoint]
    pairs: list[SeedPoint]

    @property
    def held(self) -> OffsetRange:
        return OffsetRange(0, self.end)

    def direct(self, *, whole: bool) -> KnownPoints:
        """Return what is known of origin and target: where the own copy ends, and where the donor's does if fetched."""
        copied = self.origin[-1] + 1
        ends = [SeedPoint(copied, self.end)] if whole else []
        begins = self.target[self.own - 1] + 1 if self.own else 0
        return KnownPoints.of([SeedPoint(0, 0), SeedPoint(self.by_flow, begins), *ends], self.held)


@st.composite
def logs(draw: st.DrawFn) -> ThreeLogs:
    gap = st.integers(0, 2)

    def spread(count: int, at: int = 0) -> list[int]:
        found = []
        for _ in range(count):
            at += draw(gap)
            found.append(at)
            at += 1
        return found

    origin = spread(draw(st.integers(1, 14)))
    donor = spread(len(origin))
    own = draw(st.integers(0, len(origin) - 1))
    by_flow = origin[own - 1] + 1 if own else 0
    target = spread(own)
    begins = target[-1] + 1 if target else 0
    steps, end = [SeedPoint(donor[own - 1] + 1 if own else 0, begins)], begins
    left = len(origin) - own if draw(st.booleans()) else draw(st.integers(0, len(origin) - own))
    while left:
        batch = draw(st.integers(1, left))
        target += (written := spread(batch, end))
        left -= batch
        steps.append(SeedPoint(donor[len(target) - 1] + 1, written[-1] + 1))
        end = written[-1] + 1 + draw(gap)
    known = [steps[0], *(step for step in steps[1:-1] if draw(st.booleans())), SeedPoint(steps[-1].source, end)]
    synced = draw(st.sets(st.integers(0, len(origin) - 1), max_size=5))
    pairs = [SeedPoint(origin[n] + more, donor[n] + more) for n in sorted(synced) for more in (0, 1)]
    return ThreeLogs(origin, by_flow, own, donor, target, end, known, pairs)


@given(logs(), st.integers(0, 40), st.sampled_from([0, 2, 50]))
@settings(max_examples=600, deadline=None)
def test_no_unread_record_is_below_the_answer_and_what_is_read_again_is_bounded_by_what_was_said(
    world: ThreeLogs, position: int, most_counted: int
) -> None:
    position = min(position, world.origin[-1] + 1)
    fetched = FetchedRange.of("north", world.by_flow, world.pairs, world.steps, world.held)
    known = world.direct(whole=len(world.target) == len(world.origin))

    def read(stretch: OffsetRange) -> list[int]:
        return [at for at in world.target if at in stretch]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(without_source, "MOST_COUNTED", most_counted)
        stretch = known.to_count(position)
        direct = translate_by_known_points(position, known, read(stretch) if stretch else None)
        answer = fetched.better(direct, read)
    assert answer.source_offset == position
    assert answer.target_offset is not None
    assert answer.target_offset >= (direct.target_offset or 0)
    both = list(zip(world.origin, world.target, strict=False))
    assert all(there >= answer.target_offset for here, there in both if here >= position)
    again = [there for here, there in both if here < position and there >= answer.target_offset]
    assert answer.redelivered_at_most is not None
    assert len(again) <= answer.redelivered_at_most
    if answer.kind == "exact":
        assert again == []


def test_of_many_fetched_records_few_are_read_again_where_the_donors_flow_has_synced() -> None:
    """300,000 records were fetched, which are too many to be counted; the donor was synced every 100 records."""
    many, own = 400_000, 100_000
    pairs = [SeedPoint(at + more, at + more) for at in range(0, many, 100) for more in (0, 1)]
    # Each batch of 2,000 is followed by a marker.
    steps = [SeedPoint(own + n * 2_000, own + n * 2_001) for n in range(151)]
    held = OffsetRange(0, own + 150 * 2_001)
    fetched = FetchedRange.of("north", own, pairs, steps, held)
    known = KnownPoints.of([SeedPoint(own, own), SeedPoint(many, held.end)], held)
    direct = translate_by_known_points(250_042, known, None)
    assert (known.to_count(250_042), direct.redelivered_at_most) == (None, 150_042)

    def read(stretch: OffsetRange) -> list[int]:
        return [at for at in range(stretch.start, stretch.end) if (at - own) % 2_001 != 2_000]

    found = fetched.better(direct, read)
    assert found.target_offset is not None
    assert (found.redelivered_at_most, found.kind) == (41, "bounded")
    assert found.target_offset == own + 75 * 2_001 + 1
    # Below what was fetched, and without a sync, nothing changes.
    below = translate_by_known_points(99_000, known, None)
    assert fetched.better(below, read) is below
    without = FetchedRange.of("north", own, (), steps, held)
    assert without.better(direct, read) is direct
