"""A demo waits for a run as long as that shows life, and no longer: what Spark reads first may take minutes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.watch_results import RunningStep, RunningSteps
from lab.demo.failover_run import SILENT_SECONDS, FailoverRun, FailoverRunner, RunParameters
from lab.errors import LabError

BEGAN = datetime(2026, 11, 27, tzinfo=UTC)


class SlowAirflow:
    """One run, whose only task that runs takes long, and that ends without a question.

    :param seconds: how long it takes
    :param moves: whether one task ends and the next begins every minute
    """

    user = "alice"

    def __init__(self, seconds: float, *, moves: bool = False) -> None:
        self.seconds, self.moves, self.time, self.run = seconds, moves, 0.0, ""
        self.on_sleep: Callable[[], None] = lambda: None

    def now(self) -> float:
        return self.time

    def sleep(self, _seconds: float) -> None:
        self.time += 5.0
        self.on_sleep()

    def trigger(self, _dag: str, run: str, _conf: object) -> None:
        self.run = run

    def run_state(self, *_: object) -> str:
        return "running" if self.time < self.seconds else "failed"

    def task_states(self, *_: object) -> dict[str, str]:
        ended = int(self.time // 60) if self.moves else 0
        return {**{f"task_{number}": "success" for number in range(ended)}, f"task_{ended}": "running"}

    def wait_for_end(self, *_: object, **__: object) -> str:
        return "failed"

    def question_if_asked(self, *_: object) -> None:
        return None

    def end(self, *_: object) -> None:
        return None


def runs(root: Path, airflow: Any, *, alive_until: float = 0.0) -> FailoverRun:
    """Run a failback whose process shows life for so many seconds."""

    def beat() -> None:
        if airflow.time <= alive_until:
            seen = BEGAN + timedelta(seconds=airflow.time)
            step = RunningStep("orders", airflow.run, "failback", "stranded_records", BEGAN, seen, "worker:1")
            RunningSteps(root).write(step)

    airflow.on_sleep = beat
    asked: Any = None
    runner = FailoverRunner(
        airflow,
        [airflow],
        evidence=root,
        answering=asked,
        show_step=lambda _: None,
        say=lambda _: None,
        now=airflow.now,
        sleep=airflow.sleep,
    )
    return runner.run(RunParameters("west", "east", dag="dr_failback", moves=False))


def test_a_task_that_takes_long_is_waited_for_while_its_process_shows_life(tmp_path: Path) -> None:
    assert runs(tmp_path, SlowAirflow(900.0), alive_until=900.0).state == "failed"


def test_so_is_a_run_whose_tasks_end_one_after_the_other(tmp_path: Path) -> None:
    assert runs(tmp_path, SlowAirflow(900.0, moves=True)).state == "failed"


@pytest.mark.parametrize("alive_until", [0.0, 300.0])
def test_a_run_without_a_sign_of_life_is_given_up(tmp_path: Path, alive_until: float) -> None:
    airflow = SlowAirflow(3_600.0)
    with pytest.raises(LabError, match="showed no sign of life for 180 s"):
        runs(tmp_path, airflow, alive_until=alive_until)
    assert 0 <= airflow.time - alive_until - SILENT_SECONDS <= 15


def test_another_runs_life_is_none_of_this_one(tmp_path: Path) -> None:
    airflow = SlowAirflow(3_600.0)
    for name in ("another.json", "damaged.json"):
        (tmp_path / "watches" / ".running").mkdir(parents=True, exist_ok=True)
        (tmp_path / "watches" / ".running" / name).write_text("{" if name == "damaged.json" else '{"run": "another"}')
    with pytest.raises(LabError):
        runs(tmp_path, airflow)
