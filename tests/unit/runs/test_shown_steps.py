"""What a process shows of the steps that it executes: live, by which attempt, and why the one before it ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_dr.runs.shown_steps import ShownSteps
from kafka_dr.watch_results import RunningStep, RunningSteps
from kafka_dr.watch_results.running_steps import DEAD_AFTER
from support.manual_clock import ManualClock

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def kept(root: Path) -> RunningStep:
    found = RunningSteps(root).of("orders", "m1")
    assert found is not None
    return found


def process(root: Path, clock: ManualClock, name: str = "host:1:a") -> ShownSteps:
    return ShownSteps(root, executor=name, now=clock.now)


def begin(shown: ShownSteps, step: str = "preflight", *, holds: bool = False) -> None:
    shown.begins("orders", "m1", "planned_failover", step, holds=holds)
    shown.last_words(10)


def test_a_step_is_shown_while_it_runs_and_then_how_it_ended(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    shown = process(tmp_path, clock)
    begin(shown)
    clock.advance(39)
    assert kept(tmp_path).sentence(clock.now()) == "Preflight, since 12:00:00 UTC (39 s)"
    shown.says("orders", "m1", "it waits for west")
    shown.last_words(10)
    assert kept(tmp_path).sentence(clock.now()) == "Preflight, since 12:00:00 UTC (39 s). It waits for west"
    shown.ended("orders", "m1", "done", good=True)
    shown.last_words(10)
    assert kept(tmp_path).sentence(clock.now()) == "No step runs: preflight ended 0 s ago"
    begin(shown, "claim", holds=True)
    assert (kept(tmp_path).attempt, kept(tmp_path).before) == (1, "")


def test_a_step_that_is_tried_again_says_which_attempt_it_is_and_why_the_last_one_ended(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    shown = process(tmp_path, clock)
    begin(shown, "drain", holds=True)
    shown.ended("orders", "m1", "2 records are not copied", good=False)
    begin(shown, "drain", holds=True)
    said = kept(tmp_path).sentence(clock.now())
    assert said == (
        "Drain, since 12:00:00 UTC (0 s), attempt 2. The attempt before: drain failed: 2 records are not copied"
    )


def test_a_process_that_waits_after_a_step_that_failed_still_lives(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    shown = process(tmp_path, clock)
    begin(shown, "drain", holds=True)
    shown.ended("orders", "m1", "east does not answer", good=False)
    clock.advance(60)
    shown.says("orders", "m1", "the register is read again")
    shown.last_words(10)
    assert not kept(tmp_path).is_half_moved(clock.now())
    waits = "Drain, since 12:00:00 UTC (60 s). The register is read again"
    assert kept(tmp_path).sentence(clock.now()) == f"{waits}. The attempt before: drain failed: east does not answer"
    begin(shown, "drain", holds=True)
    assert kept(tmp_path).attempt == 2


def test_a_process_that_waits_and_gives_up_made_no_attempt_more(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    shown = process(tmp_path, clock)
    begin(shown, "drain", holds=True)
    shown.ended("orders", "m1", "east does not answer", good=False)
    shown.says("orders", "m1", "the register is read again")
    clock.advance(60)
    shown.ended("orders", "m1", "east does not answer", good=False)
    shown.last_words(10)
    assert kept(tmp_path).sentence(clock.now()) == "Drain failed 0 s ago: east does not answer"


def test_a_process_that_was_killed_is_named_by_the_one_that_continues(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    begin(process(tmp_path, clock), "fence_source", holds=True)
    clock.advance(300)
    other = process(tmp_path, clock, "host:2:b")
    begin(other, "switch", holds=True)
    found = kept(tmp_path)
    assert (found.attempt, found.executor) == (2, "host:2:b")
    assert found.before == (
        "fence source stopped without recording a result; its process host:1:a last showed life at 12:00:00 UTC"
    )
    begin(other, "claim", holds=True)
    assert (kept(tmp_path).attempt, kept(tmp_path).before) == (2, found.before), "nothing has ended well yet"
    other.ended("orders", "m1", "done", good=True)
    begin(other, "fence_source", holds=True)
    assert (kept(tmp_path).attempt, kept(tmp_path).before) == (2, found.before), "what was interrupted is not done yet"
    other.ended("orders", "m1", "done", good=True)
    begin(other, "drain", holds=True)
    assert (kept(tmp_path).attempt, kept(tmp_path).before) == (1, "")


def test_a_process_that_shows_no_life_counts_as_dead_and_is_half_moved_only_where_it_may_hold_the_group(
    tmp_path: Path,
) -> None:
    clock = ManualClock(NOON)
    for holds in (False, True):
        begin(process(tmp_path, clock), "switch" if holds else "preflight", holds=holds)
        found, now = kept(tmp_path), clock.now()
        assert not found.is_silent(now + DEAD_AFTER)
        late = now + DEAD_AFTER + timedelta(seconds=1)
        assert (found.is_silent(late), found.is_half_moved(late)) == (True, holds)
        assert "has shown no sign of life for 46 s" in found.sentence(late)
    assert not kept(tmp_path).is_shown(clock.now() + timedelta(hours=25))


def test_a_process_shows_life_as_long_as_its_step_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_dr.runs.shown_steps.BEAT_SECONDS", 0.05)
    clock = ManualClock(NOON)
    shown = process(tmp_path, clock)
    begin(shown)
    clock.advance(20)
    wait(lambda: kept(tmp_path).seen_at == clock.now())
    shown.ended("orders", "m1", "done", good=True)
    shown.last_words(10)
    ended = clock.now()
    clock.advance(20)
    time.sleep(0.3)
    assert kept(tmp_path).seen_at == ended, "nothing runs, so nothing shows life"


def test_a_run_that_is_over_is_shown_no_more(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    for good in (True, False):
        shown = process(tmp_path, clock)
        begin(shown, "claim", holds=True)
        assert shown.holds("orders", "m1")
        shown.ended("orders", "m1", "done", good=good)
        shown.over("orders", "m1")
        assert (shown.holds("orders", "m1"), RunningSteps(tmp_path).read(clock.now())) == (False, ((), 0))


def test_a_storage_that_takes_nothing_costs_a_step_no_time_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "watches").write_text("not a folder")
    shown = process(tmp_path, ManualClock(NOON))
    with shown.step("orders", "m1", "drill", "teardown") as says:
        says("it removes topics")
    assert RunningSteps(tmp_path / "other").read(NOON) == ((), 0)


def test_an_error_is_shown_as_the_end_of_the_step(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    shown = process(tmp_path, clock)
    with pytest.raises(ValueError, match="no list"), shown.step("orders", "m1", "failback", "stranded_records"):
        raise ValueError("no list")
    assert (kept(tmp_path).ended, kept(tmp_path).good) == ("no list", False)


def wait(holds: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
