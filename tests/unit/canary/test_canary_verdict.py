from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_dr.canary.record import Canary, CanaryFlow, SeenCanary, SentCanary
from kafka_dr.canary.verdict import CanaryOutcome, CanaryVerdict, judge

#: A busy machine is no reason to fail.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

START = datetime(2026, 11, 20, 3, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LATE_AFTER = timedelta(seconds=10)
FLOW = CanaryFlow("orders", "east", "west", 3)
#: Earlier epochs of the same group: their canaries are in both logs too.
EARLIER = (CanaryFlow("orders", "east", "west", 1), CanaryFlow("orders", "west", "east", 2))


def canary(number: int, flow: CanaryFlow = FLOW) -> Canary:
    return Canary(flow.producer, number, flow.source, START + MINUTE * (number + 1000 * flow.epoch))


def as_sent(log: Sequence[Canary], *, keep: int = 1000) -> list[SentCanary]:
    """Return the end of the source's log, as it is read."""
    return [SentCanary(0, offset, each) for offset, each in enumerate(log)][max(len(log) - keep, 0) :]


def as_seen(log: Sequence[Canary], *, keep: int = 1000) -> list[SeenCanary]:
    """Return the end of the target's log; its offsets have gaps, where transactions were marked."""
    return [SeenCanary(0, 3 * offset, each) for offset, each in enumerate(log)][max(len(log) - keep, 0) :]


def verdict_of(
    sent: Sequence[SentCanary],
    seen: Sequence[SeenCanary],
    *,
    after: timedelta = MINUTE,
    complete: Sequence[int] = (),
) -> CanaryVerdict:
    """Judge some time after the newest canary was sent."""
    newest = max((each.canary.at for each in sent), default=START)
    return judge(FLOW, sent, seen, partitions=[0], now=newest + after, late_after=LATE_AFTER, complete=complete)


@dataclass(frozen=True)
class CanaryLogs:
    """Two logs that agree, and how much of each end is read."""

    log: tuple[Canary, ...]
    keep_source: int
    keep_target: int


@st.composite
def worlds(draw: st.DrawFn, *, least: int = 1) -> CanaryLogs:
    history = [canary(n, flow) for flow in EARLIER for n in range(1, draw(st.integers(0, 6)) + 1)]
    current = [canary(number) for number in range(1, draw(st.integers(least, 25)) + 1)]
    log = (*history, *current)
    return CanaryLogs(log, draw(st.integers(1, len(log))), draw(st.integers(1, len(log))))


@patient
@given(worlds())
def test_a_faithful_copy_is_on_time_however_little_of_it_is_read(world: CanaryLogs) -> None:
    verdict = verdict_of(as_sent(world.log, keep=world.keep_source), as_seen(world.log, keep=world.keep_target))

    assert verdict.verdict is CanaryOutcome.ON_TIME
    assert verdict.rpo_seconds == 0


@patient
@given(worlds(), st.data())
def test_what_was_not_copied_yet_is_never_called_lost(world: CanaryLogs, data: st.DataObject) -> None:
    crossed = data.draw(st.integers(0, len(world.log)))

    (partition,) = verdict_of(
        as_sent(world.log, keep=world.keep_source), as_seen(world.log[:crossed], keep=world.keep_target)
    ).partitions

    assert partition.lost == partition.duplicated == partition.reordered == partition.looped == ()


@patient
@given(worlds(least=3), st.data())
def test_exactly_the_dropped_canaries_are_lost(world: CanaryLogs, data: st.DataObject) -> None:
    mine = [place for place, each in enumerate(world.log) if each.producer == FLOW.producer]
    dropped = data.draw(st.sets(st.sampled_from(mine[1:-1]), min_size=1))
    copy = [each for place, each in enumerate(world.log) if place not in dropped]

    verdict = verdict_of(as_sent(world.log), as_seen(copy))

    assert verdict.verdict is CanaryOutcome.LOST
    assert verdict.partitions[0].lost == tuple(world.log[place] for place in sorted(dropped))


@patient
@given(worlds(least=3), st.data())
def test_no_cut_of_the_logs_invents_a_loss(world: CanaryLogs, data: st.DataObject) -> None:
    mine = [place for place, each in enumerate(world.log) if each.producer == FLOW.producer]
    dropped = data.draw(st.sets(st.sampled_from(mine)))
    copy = [each for place, each in enumerate(world.log) if place not in dropped]

    (partition,) = verdict_of(
        as_sent(world.log, keep=world.keep_source), as_seen(copy, keep=world.keep_target)
    ).partitions

    assert {*partition.lost, *partition.late} <= {world.log[place] for place in dropped}


@patient
@given(worlds(least=2), st.data())
def test_exactly_the_repeated_canaries_are_duplicated(world: CanaryLogs, data: st.DataObject) -> None:
    mine = [each for each in world.log if each.producer == FLOW.producer]
    twice = data.draw(st.sets(st.sampled_from(mine), min_size=1))
    copy = [copied for each in world.log for copied in [each] * (2 if each in twice else 1)]

    verdict = verdict_of(as_sent(world.log, keep=world.keep_source), as_seen(copy))

    assert verdict.verdict is CanaryOutcome.DUPLICATED
    assert verdict.partitions[0].duplicated == tuple(sorted(twice))


@patient
@given(worlds(least=2), st.data())
def test_two_that_were_swapped_are_reordered(world: CanaryLogs, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(world.log) - 2))
    copy = list(world.log)
    copy[place], copy[place + 1] = copy[place + 1], copy[place]

    verdict = verdict_of(as_sent(world.log), as_seen(copy))

    assert verdict.verdict is CanaryOutcome.REORDERED
    assert verdict.partitions[0].reordered == (world.log[place],)


@patient
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_in_which_records_are_handed_over_does_not_matter(world: CanaryLogs, chance: random.Random) -> None:
    sent, seen = as_sent(world.log), as_seen(world.log[:-1])
    before = verdict_of(sent, seen)
    chance.shuffle(sent)
    chance.shuffle(seen)

    assert verdict_of(sent, seen) == before


@patient
@given(worlds(least=2))
def test_a_canary_that_came_back_is_looped(world: CanaryLogs) -> None:
    """The reverse flow ran as well: what was sent east is twice in the east, and then in the west."""
    home = [*world.log, world.log[-1]]

    assert verdict_of(as_sent(home), as_seen(home)).verdict is CanaryOutcome.LOOPED
    assert verdict_of(as_sent(home), as_seen(world.log)).partitions[0].looped == (world.log[-1],)


def test_a_canary_of_the_target_that_comes_back_to_it_is_looped() -> None:
    west = canary(1, EARLIER[1])

    verdict = verdict_of(as_sent([west, canary(1)]), as_seen([west, west, canary(1)]))

    assert verdict.verdict is CanaryOutcome.LOOPED
    assert verdict.partitions[0].looped == (west,)


def test_two_senders_that_took_the_same_number_are_no_loop() -> None:
    twin = replace(canary(1), at=canary(1).at + timedelta(milliseconds=1))

    assert verdict_of(as_sent([canary(1), twin]), as_seen([canary(1), twin])).verdict is CanaryOutcome.ON_TIME


def test_of_two_senders_the_later_one_in_the_log_is_not_lost_while_it_is_on_its_way() -> None:
    twin = replace(canary(2), at=canary(2).at - timedelta(milliseconds=1))

    found = verdict_of(as_sent([canary(1), canary(2), twin]), as_seen([canary(1), canary(2)]), after=timedelta(0))

    assert (found.partitions[0].lost, found.partitions[0].pending) == ((), 1)


@pytest.mark.parametrize(
    ("after", "verdict", "pending", "late"),
    [
        (timedelta(seconds=9), CanaryOutcome.ON_TIME, 1, ()),
        (timedelta(seconds=10), CanaryOutcome.LATE, 0, (canary(3),)),
    ],
)
def test_a_canary_is_late_from_the_very_moment_on(
    after: timedelta, verdict: CanaryOutcome, pending: int, late: tuple[Canary, ...]
) -> None:
    log = [canary(1), canary(2), canary(3)]

    found = verdict_of(as_sent(log), as_seen(log[:2]), after=after)

    assert found.verdict is verdict
    assert (found.partitions[0].pending, found.partitions[0].late) == (pending, late)
    assert found.rpo_seconds == 60


def test_a_canary_that_was_seen_to_arrive_late_is_late_and_was_copied() -> None:
    arrived = SeenCanary(0, 0, canary(1), seen_at=canary(1).at + LATE_AFTER + timedelta(milliseconds=1))

    found = verdict_of(as_sent([canary(1)]), [arrived])

    assert found.verdict is CanaryOutcome.LATE
    assert found.rpo_seconds == 0


def test_a_canary_that_was_seen_to_arrive_in_time_is_on_time() -> None:
    arrived = SeenCanary(0, 0, canary(1), seen_at=canary(1).at + LATE_AFTER)

    assert verdict_of(as_sent([canary(1)]), [arrived]).verdict is CanaryOutcome.ON_TIME


def test_where_nothing_was_sent_nothing_is_known() -> None:
    found = verdict_of([], [])

    assert (found.verdict, found.rpo_seconds) == (CanaryOutcome.UNKNOWN, None)
    assert str(found) == "partition 0: unknown, nothing was sent"


def test_the_canaries_of_another_epoch_prove_nothing_about_this_one() -> None:
    log = [canary(1, EARLIER[0])]

    assert verdict_of(as_sent(log), as_seen(log)).verdict is CanaryOutcome.UNKNOWN


def test_a_first_canary_on_its_way_is_unknown_and_not_good() -> None:
    found = verdict_of(as_sent([canary(1)]), [], after=timedelta(seconds=1))

    assert (found.verdict, found.rpo_seconds) == (CanaryOutcome.UNKNOWN, None)
    assert str(found) == "partition 0: unknown, 1 not replicated yet"


def test_a_loss_at_the_very_beginning_is_found_where_all_of_the_target_was_read() -> None:
    log = [canary(1), canary(2)]

    assert verdict_of(as_sent(log), as_seen(log[1:])).verdict is CanaryOutcome.ON_TIME
    assert verdict_of(as_sent(log), as_seen(log[1:]), complete=[0]).partitions[0].lost == (canary(1),)


def test_a_loss_is_seen_when_only_later_canaries_were_read_on_the_target() -> None:
    """The source was read first; two more were sent and copied before the target was read."""
    sent = as_sent([canary(1), canary(2)])
    seen = as_seen([canary(1), canary(3), canary(4)])

    assert verdict_of(sent, seen).partitions[0].lost == (canary(2),)


def test_ends_that_do_not_meet_invent_nothing() -> None:
    found = verdict_of(as_sent([canary(1), canary(2)]), as_seen([canary(8), canary(9)]))

    assert (found.partitions[0].lost, found.partitions[0].late) == ((), ())
    assert found.verdict is CanaryOutcome.UNKNOWN


def test_the_worst_partition_speaks_and_one_that_knows_nothing_hides_the_rpo() -> None:
    log = [canary(number) for number in (1, 2, 3)]
    sent = as_sent(log) + [replace(each, partition=1) for each in as_sent(log)]
    seen = as_seen(log) + [replace(each, partition=1) for each in as_seen([log[0], log[2]])]

    both = judge(FLOW, sent, seen, partitions=[1, 0], now=log[-1].at, late_after=LATE_AFTER)
    more = judge(FLOW, sent, seen, partitions=[0, 2], now=log[-1].at, late_after=LATE_AFTER)

    assert both.verdict is CanaryOutcome.LOST
    assert str(both) == "partition 1: lost, number 2 of orders/east/3"
    assert both.rpo_seconds == 0
    assert judge(FLOW, sent, seen[:-1], partitions=[0, 1], now=START, late_after=LATE_AFTER).rpo_seconds == 120
    assert more.verdict is CanaryOutcome.UNKNOWN
    assert more.rpo_seconds is None


@pytest.mark.parametrize(("count", "said"), [(7, "2, 3, 4, 5, 6 of"), (10, "2, 3, 4, 5, 6 and 3 more of")])
def test_a_long_list_of_numbers_is_cut_short_in_the_sentence(count: int, said: str) -> None:
    log = [canary(number) for number in range(1, count + 1)]

    found = verdict_of(as_sent(log), as_seen([log[0], log[-1]]))

    assert str(found) == f"partition 0: lost, number {said} orders/east/3"


def test_no_partition_at_all_is_unknown() -> None:
    found = judge(FLOW, [], [], partitions=[], now=START, late_after=LATE_AFTER)

    assert (found.verdict, found.rpo_seconds) == (CanaryOutcome.UNKNOWN, None)


def test_where_copies_may_come_twice_what_else_is_wrong_is_still_found() -> None:
    log = [canary(number) for number in range(1, 6)]
    twice = verdict_of(as_sent(log), as_seen([*log[:3], *log[1:]]))
    assert (twice.verdict, twice.copied_twice) == (CanaryOutcome.DUPLICATED, 2)
    assert twice.without_duplicates().verdict is CanaryOutcome.ON_TIME
    late = verdict_of(as_sent(log), as_seen([*log[:3], *log[1:3]]))
    assert (late.verdict, late.without_duplicates().verdict) == (CanaryOutcome.DUPLICATED, CanaryOutcome.LATE)
