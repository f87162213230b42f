"""A demo that ends early leaves no question: it is rejected, or its run ends before it asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lab.demo.airflow_rest import PendingApproval
from lab.demo.failover_run import FailoverRunner, RunParameters


class AskingAirflow:
    """One run, as Airflow shows it."""

    def __init__(self, approval: str | None, state: str = "running", *, answered: bool = False) -> None:
        self.approval, self.state = approval, state
        self.answered = datetime(2026, 11, 27, tzinfo=UTC) if answered else None
        self.did: list[tuple[str, ...]] = []

    def trigger(self, *_: object) -> None:
        self.did.append(("trigger",))

    def task_states(self, *_: object) -> dict[str, str | None]:
        return {"approval": self.approval}

    def run_state(self, *_: object) -> str:
        return self.state

    def page(self, *_: object) -> str:
        return "/page"

    def question(self, *_: object) -> PendingApproval:
        return PendingApproval("Move?", "", ("Approve", "Reject"), {"digest": "d"}, (), None, self.answered)

    def answer(self, _dag: str, _run: str, task: str, *, option: str, fields: Mapping[str, Any]) -> None:
        self.did.append((task, option, fields["digest"]))

    def end(self, *_: object) -> None:
        self.did.append(("end",))


def interrupted(*_: object) -> str:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("airflow", "did"),
    [
        (AskingAirflow("awaiting_input"), [("approval", "Reject", "d")]),
        (AskingAirflow("awaiting_input", answered=True), []),
        (AskingAirflow("running"), [("end",)]),
        (AskingAirflow("success"), []),
        (AskingAirflow("failed", "failed"), []),
    ],
    ids=["asked", "answered elsewhere", "not asked yet", "approved", "ended"],
)
def test_an_interrupted_run_leaves_no_question(
    tmp_path: Path, airflow: Any, did: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask: Callable[..., Any] = interrupted
    runner = FailoverRunner(airflow, [airflow], evidence=tmp_path, answering=ask, show_step=lambda _: None)
    monkeypatch.setattr(runner, "_answer_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run(RunParameters("east", "west"))
    assert airflow.did == [("trigger",), *did]
