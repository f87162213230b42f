"""A demo that ends early leaves no question: its run is rejected or ended, by itself or by the next demo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lab.demo.airflow_rest import PendingApproval
from lab.demo.failover_run import DAG, DAGS_THAT_ASK, FailoverRunner, RunParameters
from lab.errors import LabError


class AskingAirflow:
    """One run, as Airflow shows it to one of its users.

    :param states: of the tasks that ask
    :param asks: the task whose question waits, or is answered
    """

    user = "alice"

    def __init__(
        self,
        states: Mapping[str, str | None],
        state: str = "running",
        *,
        asks: str = "",
        answered: bool = False,
        run: str = "demo-1",
    ) -> None:
        self.states, self.state, self.asks, self.run = states, state, asks, run
        self.answered = datetime(2026, 11, 27, tzinfo=UTC) if answered else None
        self.did: list[tuple[str, ...]] = []
        #: Whether the next wait comes to its end, or the one after that.
        self.waits = True

    def trigger(self, *_: object) -> None:
        self.did.append(("trigger",))

    def open_runs(self, dag: str) -> list[str]:
        return [self.run] if dag == DAG and self.state == "running" else []

    def task_states(self, *_: object) -> Mapping[str, str | None]:
        return {"preflight": "success", **self.states}

    def run_state(self, *_: object) -> str:
        return self.state

    def page(self, *_: object) -> str:
        return "/page"

    def question_if_asked(self, _dag: str, _run: str, task: str) -> PendingApproval | None:
        if task != self.asks:
            return None
        return PendingApproval("Move?", "", ("Approve", "Reject"), {"digest": "d"}, ("alice",), None, self.answered)

    def answer(self, _dag: str, _run: str, task: str, *, option: str, fields: Mapping[str, Any]) -> None:
        self.did.append((task, option, fields["digest"]))

    def end(self, *_: object) -> None:
        self.did.append(("end",))

    def wait_for_end(self, *_: object, **__: object) -> str:
        self.did.append(("wait",))
        if not self.waits:
            self.waits = True
            raise KeyboardInterrupt
        return "success"


class NotAsked(AskingAirflow):
    """Another user, who may answer other questions alone."""

    user = "bob"

    def answer(self, *_: object, **__: object) -> None:
        raise AssertionError("this user was not asked")


ASKED = {"approval": "awaiting_input"}
SECOND = {"approval": "success", "second_approval": "awaiting_input"}
CASES: dict[str, tuple[Any, list[tuple[str, ...]]]] = {
    "asked": (AskingAirflow(ASKED, asks="approval"), [("approval", "Reject", "d")]),
    "answered elsewhere": (AskingAirflow(ASKED, asks="approval", answered=True), []),
    "not asked yet": (AskingAirflow({"approval": None}), [("end",)]),
    "asking": (AskingAirflow({"approval": "running"}), [("end",)]),
    "approved": (AskingAirflow({"approval": "success"}), []),
    "asked a second time": (AskingAirflow(SECOND, asks="second_approval"), [("second_approval", "Reject", "d")]),
    "second not asked yet": (AskingAirflow({**SECOND, "second_approval": None}), [("end",)]),
    "approved by two": (AskingAirflow({**SECOND, "second_approval": "success"}), []),
    "ended": (AskingAirflow({"approval": "failed"}, "failed"), []),
}


def interrupted(*_: object) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("case", CASES)
def test_an_interrupted_run_leaves_no_question(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    airflow, did = fresh(case)
    runner = runner_of(tmp_path, airflow)
    monkeypatch.setattr(runner, "_answer_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run(RunParameters("east", "west"))
    assert airflow.did == [("trigger",), *did, ("wait",)]


@pytest.mark.parametrize("case", CASES)
def test_so_does_one_that_is_interrupted_before_it_looks_for_a_question(tmp_path: Path, case: str) -> None:
    airflow, did = fresh(case)
    with pytest.raises(KeyboardInterrupt):
        runner_of(tmp_path, airflow).run(RunParameters("east", "west"), meanwhile=interrupted)
    assert airflow.did == [("trigger",), *did, ("wait",)]


def test_one_that_was_approved_ends_before_whoever_interrupts_it_can_stop_the_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow, did = fresh("approved")
    airflow.waits = False
    said: list[str] = []
    runner = runner_of(tmp_path, airflow, say=said.append)
    monkeypatch.setattr(runner, "_answer_all", lambda *_: [])
    with pytest.raises(KeyboardInterrupt):
        runner.run(RunParameters("east", "west"))
    assert (airflow.did, did) == ([("trigger",), ("wait",), ("wait",)], [])
    assert "is waited for; interrupt again to leave it as it is" in said[0]


@pytest.mark.parametrize("case", CASES)
def test_a_demo_that_fails_leaves_no_question_and_waits_for_nothing(
    tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(*_: object) -> Any:
        raise LabError("Airflow does not answer")

    airflow, did = fresh(case)
    runner = runner_of(tmp_path, airflow)
    monkeypatch.setattr(runner, "_answer_all", failed)
    with pytest.raises(LabError):
        runner.run(RunParameters("east", "west"))
    assert airflow.did == [("trigger",), *did]


@pytest.mark.parametrize("case", CASES)
def test_the_next_demo_leaves_no_question_of_one_that_was_killed(tmp_path: Path, case: str) -> None:
    airflow, did = fresh(case)
    found = runner_of(tmp_path, airflow).withdraw_left(DAGS_THAT_ASK)
    assert (found, airflow.did) == ([] if case == "ended" else ["demo-1"], did)


def test_a_question_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    airflow = AskingAirflow(ASKED, asks="approval", run="manual__1")
    assert runner_of(tmp_path, airflow).withdraw_left(DAGS_THAT_ASK) == []
    assert airflow.did == []


def fresh(case: str) -> tuple[Any, list[tuple[str, ...]]]:
    airflow, did = copy(CASES[case][0]), CASES[case][1]
    airflow.did = []
    return airflow, did


def runner_of(root: Path, airflow: Any, *, say: Callable[[str], None] = lambda _: None) -> FailoverRunner:
    other: Any = NotAsked({})
    ask: Callable[..., Any] = interrupted
    return FailoverRunner(airflow, [other, airflow], evidence=root, answering=ask, show_step=lambda _: None, say=say)
