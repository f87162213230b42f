"""The check of the invariants, on observations that are broken in exactly one way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.invariants.check import check_invariants
from lab.invariants.model import ActivePeriod, LogRecord, Observation, Outcome, Partition, RecordId, Write
from support.healthy_switch import (
    GROUP,
    PARTITIONS,
    PERIODS,
    RECORDS,
    SWITCH_AT,
    commit,
    delivery,
    healthy,
    log,
    number,
    offset,
    place,
    with_log,
    write,
)

FIRST = PARTITIONS[0]


def outcomes(world: Observation) -> dict[str, Outcome]:
    return {finding.invariant: finding.outcome for finding in check_invariants(world, PERIODS).findings}


def only_broken(world: Observation, invariant: str) -> bool:
    expected = dict.fromkeys(("I1", "I2", "I3", "I10"), "held") | {invariant: "violated"}
    return outcomes(world) == expected


def test_a_clean_switch_holds_every_invariant() -> None:
    verdict = check_invariants(healthy(), PERIODS)
    assert verdict.held
    assert verdict.violated == ()
    assert (verdict.figures.acknowledged, verdict.figures.lost, verdict.figures.redelivered) == (RECORDS, 0, 0)


def test_only_what_was_acknowledged_since_the_beginning_is_counted_and_everything_is_looked_for() -> None:
    world = healthy()
    without = [each for each in world.logs["west"][FIRST] if each.record != number(0)]
    figures = check_invariants(
        with_log(world, "west", FIRST, without), (ActivePeriod("east", since=5.0), PERIODS[1])
    ).figures
    assert (figures.acknowledged, figures.lost) == (RECORDS - 5, 1)


def test_the_write_outage_is_the_longest_over_the_partitions() -> None:
    (switch,) = check_invariants(healthy(), PERIODS).switches
    # Records alternate: partition 0 took 18 at 18 s and 20 at 120 s, partition 1 took 19 at 19 s and 21 at 121 s.
    assert switch.write_outage_seconds == pytest.approx(102.0)
    assert (switch.source, switch.target) == ("east", "west")
    slower = healthy()
    slower = replace(slower, writes=[each for each in slower.writes if each.record != number(21)])
    (switch,) = check_invariants(slower, PERIODS).switches
    assert switch.write_outage_seconds == pytest.approx(104.0)
    assert switch.longest_at == PARTITIONS[1]


def test_recovery_counts_from_the_approval_to_the_last_partition_and_group() -> None:
    (switch,) = check_invariants(healthy(), PERIODS).switches
    assert switch.restored_seconds == pytest.approx(21.0)


def test_a_write_on_the_old_cluster_after_the_first_on_the_new_breaks_i1() -> None:
    world = healthy()
    straggler = Write(number(SWITCH_AT + 9), place(SWITCH_AT + 9), 40, "east", at=125.0)
    writes = [*world.writes[: SWITCH_AT + 9], straggler]
    verdict = check_invariants(replace(world, writes=writes), PERIODS)
    assert verdict.figures.both_sides == 1
    assert [finding.invariant for finding in verdict.violated] == ["I1"]


def test_a_write_on_the_standby_before_it_was_meant_to_open_breaks_i1() -> None:
    world = healthy()
    early = replace(world.writes[SWITCH_AT], at=50.0)
    assert only_broken(replace(world, writes=[*world.writes[:SWITCH_AT], early, *world.writes[SWITCH_AT + 1 :]]), "I1")


def test_coming_back_is_not_a_violation() -> None:
    world = healthy()
    last = range(RECORDS - 4, RECORDS)
    home = replace(
        world,
        writes=[*world.writes[:-4], *(replace(write(each), cluster="east", at=600.0 + each) for each in last)],
        logs={"east": log("east", range(RECORDS)), "west": world.logs["west"]},
        deliveries=[*world.deliveries[:-4], *(delivery(each, cluster="east", time=700.0) for each in last)],
        commits=[each for each in world.commits if each.at < 126],
    )
    verdict = check_invariants(home, (*PERIODS, ActivePeriod("east", since=400.0)))
    assert verdict.held, verdict.findings
    assert len(verdict.switches) == 2


def test_an_acknowledged_record_that_the_active_cluster_lacks_breaks_i2() -> None:
    world = healthy()
    changed = [each for each in world.logs["west"][FIRST] if each.record != number(4)]
    verdict = check_invariants(with_log(world, "west", FIRST, changed), PERIODS)
    assert only_broken(with_log(world, "west", FIRST, changed), "I2")
    assert verdict.figures.lost == 1
    assert verdict.figures.rpo_seconds == pytest.approx(15.0)
    assert "payments#4" in verdict.violated[0].examples[0]


def test_a_record_that_came_over_changed_is_lost() -> None:
    world = healthy()
    changed = [replace(each, intact=each.record != number(4)) for each in world.logs["west"][FIRST]]
    assert only_broken(with_log(world, "west", FIRST, changed), "I2")


def test_a_record_in_another_partition_is_lost_from_its_own() -> None:
    world = healthy()
    first = world.logs["west"][FIRST]
    moved = with_log(world, "west", FIRST, [each for each in first if each.record != number(4)])
    other = PARTITIONS[1]
    moved = with_log(moved, "west", other, [LogRecord(0, number(4)), *moved.logs["west"][other]])
    assert check_invariants(moved, PERIODS).figures.lost == 1


def test_two_records_in_the_wrong_order_break_i2() -> None:
    world = healthy()
    first, second, *rest = world.logs["west"][FIRST]
    swapped = [replace(second, offset=first.offset), replace(first, offset=second.offset), *rest]
    verdict = check_invariants(with_log(world, "west", FIRST, swapped), PERIODS)
    assert verdict.figures.reordered == 1
    assert "I2" in {finding.invariant for finding in verdict.violated}


def test_a_copy_that_replication_made_twice_breaks_i2() -> None:
    world = healthy()
    changed = [*world.logs["west"][FIRST], LogRecord(900, number(4))]
    verdict = check_invariants(with_log(world, "west", FIRST, changed), PERIODS)
    assert verdict.figures.duplicated == 1
    assert [finding.invariant for finding in verdict.violated] == ["I2"]


def test_a_copy_that_came_back_to_where_it_was_written_breaks_i10() -> None:
    world = healthy()
    changed = [*world.logs["east"][FIRST], LogRecord(900, number(4))]
    assert only_broken(with_log(world, "east", FIRST, changed), "I10")


def test_a_second_copy_is_allowed_for_each_attempt_of_unknown_outcome() -> None:
    world = replace(healthy(), attempts={number(4): 1})
    first = world.logs["west"][FIRST]
    twice = with_log(world, "west", FIRST, [*first, LogRecord(900, number(4))])
    assert check_invariants(twice, PERIODS).held
    thrice = with_log(world, "west", FIRST, [*first, LogRecord(900, number(4)), LogRecord(901, number(4))])
    assert check_invariants(thrice, PERIODS).figures.duplicated == 1


def test_an_unacknowledged_record_may_be_absent() -> None:
    assert check_invariants(replace(healthy(), attempts={number(RECORDS): 3}), PERIODS).held


def test_a_visible_record_of_an_aborted_transaction_breaks_i2() -> None:
    assert only_broken(replace(healthy(), void=frozenset({number(4)})), "I2")


@pytest.mark.parametrize(("members", "whole"), [((4, 6), True), ((50, 52), True), ((4, 50), False)])
def test_an_undecided_transaction_is_visible_whole_or_not_at_all(members: tuple[int, ...], whole: bool) -> None:
    world = replace(healthy(), undecided=[frozenset(number(each) for each in members)])
    assert check_invariants(world, PERIODS).held is whole


def test_a_position_committed_past_one_unseen_record_breaks_i3() -> None:
    world = healthy()
    late = replace(commit(SWITCH_AT, cluster="west", time=99.5), offset=offset("west", SWITCH_AT) + 1)
    verdict = check_invariants(replace(world, commits=[*world.commits, late]), PERIODS)
    assert [finding.invariant for finding in verdict.violated] == ["I3"]
    assert verdict.figures.skipped == 1
    assert f"payments#{SWITCH_AT}" in verdict.violated[0].examples[0]


def test_a_position_past_markers_only_is_not_late() -> None:
    world = healthy()
    before = offset("west", SWITCH_AT)
    assert before > offset("west", SWITCH_AT - 2) + 1, "the world must have a marker there"
    at_next = replace(commit(SWITCH_AT, cluster="west", time=99.5), offset=before)
    assert check_invariants(replace(world, commits=[*world.commits, at_next]), PERIODS).held


def test_a_record_that_a_group_jumped_over_breaks_i3_without_any_commit() -> None:
    world = healthy()
    jumped = replace(
        world,
        deliveries=[each for each in world.deliveries if each.record != number(SWITCH_AT)],
        commits=[each for each in world.commits if each.cluster == "east"],
    )
    assert only_broken(jumped, "I3")


def test_a_skipped_record_that_is_processed_later_was_still_skipped() -> None:
    world = healthy()
    late = [each for each in world.deliveries if each.record != number(SWITCH_AT)]
    assert only_broken(replace(world, deliveries=[*late, delivery(SWITCH_AT, time=190.0)]), "I3")


def test_an_offset_of_a_group_outside_the_lab_is_not_checked() -> None:
    world = healthy()
    assert check_invariants(
        replace(world, commits=[*world.commits, commit(29, group="somebody", time=99.0)]), PERIODS
    ).held


def test_processing_again_below_a_committed_position_is_redelivery() -> None:
    world = healthy()
    again = [delivery(each, cluster="west", time=118.0) for each in (16, 18)]
    verdict = check_invariants(replace(world, deliveries=[*world.deliveries, *again]), PERIODS)
    assert verdict.figures.redelivered_by_group == {GROUP: 2}
    assert verdict.figures.uncommitted_at_freeze == 0
    assert verdict.held, "redelivery is counted, it breaks no invariant"


def test_processing_again_what_was_never_committed_is_counted_separately() -> None:
    world = healthy()
    again = [delivery(each, cluster="west", time=118.0) for each in (16, 18)]
    kept = [each for each in world.commits if each.partition != FIRST or each.offset <= offset("east", 14) + 1]
    verdict = check_invariants(replace(world, deliveries=[*world.deliveries, *again], commits=kept), PERIODS)
    assert verdict.figures.uncommitted_by_group == {GROUP: 2}
    assert verdict.figures.redelivered == 0


def test_a_restart_on_the_same_cluster_is_no_redelivery() -> None:
    world = healthy()
    verdict = check_invariants(
        replace(world, deliveries=[*world.deliveries, delivery(4, time=50.0)], commits=[commit(29, time=190.0)]),
        PERIODS,
    )
    assert (verdict.figures.redelivered, verdict.figures.uncommitted_at_freeze) == (0, 0)


def test_no_write_on_the_new_cluster_is_unknown_and_not_good() -> None:
    world = healthy()
    verdict = check_invariants(replace(world, writes=world.writes[:SWITCH_AT]), PERIODS)
    assert {finding.invariant: finding.outcome for finding in verdict.findings}["I1"] == "unknown"
    assert verdict.violated == ()
    assert not verdict.held


def test_one_partition_without_a_write_on_the_new_cluster_is_not_good() -> None:
    world = healthy()
    quiet = [each for each in world.writes if each.cluster == "east" or each.partition == FIRST]
    verdict = check_invariants(replace(world, writes=quiet), PERIODS)
    assert verdict.unknown == (f"no write of {PARTITIONS[1]} was acknowledged on west",)
    assert verdict.switches[0].write_outage_seconds is None
    assert not verdict.held


def test_a_group_that_does_not_work_on_the_new_cluster_is_not_good() -> None:
    world = healthy()
    east_only = [each for each in world.deliveries if each.cluster == "east"]
    verdict = check_invariants(replace(world, deliveries=east_only), PERIODS)
    assert verdict.unknown == (f"group {GROUP} processed nothing on west",)
    assert not verdict.held
    (lived,) = verdict.switches
    assert lived.restored_seconds is None
    assert lived.write_outage_seconds == 102.0, "those who write do not wait for a group"


def test_nothing_acknowledged_at_all_is_unknown() -> None:
    nothing = Observation(writes=[], deliveries=[], commits=[], logs={})
    assert set(outcomes(nothing).values()) == {"unknown"}
    assert not check_invariants(nothing, PERIODS).held


def test_records_that_nobody_of_the_lab_wrote_are_not_checked() -> None:
    world = healthy()
    changed = [LogRecord(-1, None), *world.logs["west"][FIRST]]
    assert check_invariants(with_log(world, "west", FIRST, changed), PERIODS).held


def test_tenures_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="in the order of time"):
        check_invariants(healthy(), PERIODS[::-1])


@given(st.sets(st.integers(min_value=0, max_value=RECORDS - 1), min_size=1))
def test_whatever_is_missing_is_counted_exactly(missing: set[int]) -> None:
    world = healthy()
    for partition in PARTITIONS:
        first = world.logs["west"][partition]
        world = with_log(
            world, "west", partition, [each for each in first if each.record and each.record.sequence not in missing]
        )
    assert check_invariants(world, PERIODS).figures.lost == len(missing)


@given(st.integers(min_value=0, max_value=40), st.sampled_from(PARTITIONS))
def test_a_position_at_the_moment_of_the_switch_is_late_exactly_when_it_is_past_the_first_unseen_record(
    position: int, partition: Partition
) -> None:
    world = healthy()
    moved = replace(commit(SWITCH_AT, cluster="west", time=99.9), partition=partition, offset=position)
    first_unseen = SWITCH_AT if partition == FIRST else SWITCH_AT + 1
    expected = position > offset("west", first_unseen)
    verdict = check_invariants(replace(world, commits=[*world.commits, moved]), PERIODS)
    assert bool(verdict.violated) is expected


def test_a_record_of_another_application_has_its_own_order() -> None:
    other = [LogRecord(100 + each, RecordId("billing", each)) for each in range(3)]
    world = healthy()
    assert check_invariants(with_log(world, "west", FIRST, [*world.logs["west"][FIRST], *other]), PERIODS).held
    assert write(0).record.application == "payments"
