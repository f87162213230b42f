"""A drill whose process died does not look running, on no page and in no list; one that is between two tasks does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from kafka_dr.drill.life import has_died, said_of, step_of
from kafka_dr.drill.result import DrillResult
from kafka_dr.watch_results import RunningStep, RunningSteps
from support.drill_results import TUESDAY, result
from support.sentences import assert_sentence

BEGUN = result(TUESDAY, passed=False, stage="begun")
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def step(drill: DrillResult = BEGUN) -> RunningStep:
    return RunningStep(drill.group, drill.id, "drill", "planned_drill", TUESDAY, TUESDAY, "worker:1")


@pytest.mark.parametrize(
    ("executes", "after", "died"),
    [
        (None, 4 * MINUTE, False),
        (None, 6 * MINUTE, True),
        (step(), 44 * SECOND, False),
        (step(), 46 * SECOND, True),
        (replace(step(), seen_at=TUESDAY + 10 * MINUTE), 10 * MINUTE + 44 * SECOND, False),
        (replace(step(), ended_at=TUESDAY, good=True), 4 * MINUTE, False),
        (replace(step(), ended_at=TUESDAY, good=True), 6 * MINUTE, True),
    ],
    ids=["no step yet", "never a step", "alive", "silent", "alive for long", "between two tasks", "no next task"],
)
def test_it_died_when_nobody_shows_life(executes: RunningStep | None, after: timedelta, died: bool) -> None:
    assert has_died(BEGUN, executes, TUESDAY + after) is died
    assert has_died(replace(BEGUN, stage="measured"), executes, TUESDAY + after) is died
    assert has_died(replace(BEGUN, stage="ended"), executes, TUESDAY + after) is False


def test_what_is_said_of_it(tmp_path: Path) -> None:
    assert "has not ended" in said_of(BEGUN, died=False)
    assert "has not ended" not in said_of(BEGUN, died=True)
    assert "no process executes it any more" in said_of(BEGUN, died=True)
    assert_sentence(said_of(BEGUN, died=True))


def test_its_step_is_found_by_its_id_and_damage_is_no_sign_of_life(tmp_path: Path) -> None:
    assert step_of(tmp_path, BEGUN) is None
    RunningSteps(tmp_path).write(step())
    assert step_of(tmp_path, BEGUN) == step()
    (path,) = (tmp_path / "watches" / ".running").iterdir()
    path.write_text("{")
    assert step_of(tmp_path, BEGUN) is None
