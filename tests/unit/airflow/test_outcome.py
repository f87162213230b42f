"""The last task of a run: how the tasks of the run ended counts as much as what the evidence says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import ErrorResponse

from kafka_dr.evidence.ending import Ending
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.watch_results import RunEndings
from kafka_dr_airflow.operators import outcome as outcome_module
from kafka_dr_airflow.operators.kept_results import keep_ending
from kafka_dr_airflow.operators.outcome import OutcomeOperator
from kafka_dr_airflow.operators.plain_failure import NeverAgain

GROUP, RUN = "orders", "r1"
TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"
Step = tuple[int, str, dict[str, Any]]
DRAIN: Step = (5, "drain", {"outcome": "failed", "detail": "no record was copied"})
BACK: Step = (90, "roll_back", {"outcome": "done", "detail": "stable on east", "facts": {"epoch": 3}})
REPORT: Step = (12, "report", {"outcome": "done", "facts": {"target": "west"}})


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where the evidence of the tests is kept."""
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(TOPOLOGY))
    monkeypatch.setenv("KAFKA_DR_LAB_HOME", str(tmp_path))
    monkeypatch.setenv("KAFKA_DR_LAB_EAST", "127.0.0.1:1")
    monkeypatch.setenv("KAFKA_DR_LAB_WEST", "127.0.0.1:2")
    monkeypatch.setenv("KAFKA_DR_LAB_VANTAGE", "127.0.0.1:3")
    return tmp_path / "evidence"


def context(states: Callable[..., Any]) -> dict[str, Any]:
    ti = SimpleNamespace(
        dag_id="dr_planned_failover",
        run_id=RUN,
        task_id="outcome",
        try_number=1,
        max_tries=0,
        get_task_states=states,
    )
    return {"params": {"protection_group": GROUP}, "run_id": RUN, "ti": ti}


def outcome(root: Path, steps: tuple[Step, ...], states: Mapping[str, str | None]) -> str:
    """Return how the task ended: what it returns, or the sentence that it fails with."""
    for number, step, payload in steps:
        EvidenceStore(root).write(GROUP, RUN, number, step, payload)
    ending = context(lambda **_asked: {RUN: {"outcome": "running", **states}})
    try:
        return f"green: {OutcomeOperator().execute(ending)}"
    except SystemExit as ended:
        return f"red: {ended}"


def test_it_fails_with_its_sentence_as_every_other_task(root: Path) -> None:
    steps = ((1, "preflight", {"outcome": "refused", "detail": "lag: too far"}),)
    said = outcome(root, steps, {"preflight": "failed", "report": "upstream_failed", "roll_back": "success"})
    assert said == "red: REFUSED at preflight: lag: too far"


def test_a_roll_back_without_evidence_is_named_before_the_step_that_failed(root: Path) -> None:
    said = outcome(root, (DRAIN,), {"drain": "failed", "report": "upstream_failed", "roll_back": "failed"})
    assert said == "red: NOT ROLLED BACK: see the log of roll_back. FAILED at drain: no record was copied"


def test_what_an_earlier_roll_back_said_does_not_hide_one_that_failed(root: Path) -> None:
    said = outcome(root, (DRAIN, BACK), {"drain": "failed", "roll_back": "failed"})
    assert said.startswith("red: NOT ROLLED BACK: see the log of roll_back. ")
    assert outcome(root, (), {"drain": "failed", "roll_back": "success"}).startswith("red: ROLLED BACK: stable on east")


def test_a_roll_back_that_says_itself_why_it_failed_is_not_named_twice(root: Path) -> None:
    back = (90, "roll_back", {"outcome": "failed", "detail": "no register"})
    said = outcome(root, (DRAIN, back), {"drain": "failed", "roll_back": "failed"})
    assert said == "red: NOT ROLLED BACK: no register, FAILED at drain: no record was copied"


def test_the_list_of_ended_runs_keeps_the_record_that_the_run_left(root: Path) -> None:
    left = {"phase": "stable", "active": "west", "seen_at": "2026-03-01T12:00:00+00:00"}
    ended = Ending("MOVED to west", True, {"claim": 1.0}, record=left)
    keep_ending(logging.getLogger(), context(dict), group=GROUP, ending=ended)
    (listed,) = RunEndings(root).read(GROUP)
    assert (listed.record, listed.run) == (left, RUN)


def test_a_good_run_is_green_and_one_with_a_failed_task_is_not(root: Path) -> None:
    assert outcome(root, (REPORT,), {"report": "success", "roll_back": "skipped"}) == "green: MOVED to west"
    assert outcome(root, (), {"report": "failed"}) == "red: FAILED at report. MOVED to west"


def test_a_task_that_failed_without_a_step_in_the_evidence_is_named(root: Path) -> None:
    caught_up = (8, "catch_up", {"outcome": "done"})
    said = outcome(root, (caught_up,), {"checksum_audit": "failed", "settle": "upstream_failed"})
    assert said.startswith("red: FAILED at checksum_audit. NOT FINISHED: the last step recorded is catch up")


def test_a_run_without_evidence_names_the_step_and_its_roll_back(root: Path) -> None:
    failed = "FAILED at preflight before anything was recorded: see its log"
    assert outcome(root, (), {"roll_back": "success", "preflight": "failed"}) == f"red: {failed}"
    both = outcome(root, (), {"roll_back": "failed", "preflight": "failed"})
    assert both == f"red: NOT ROLLED BACK: see the log of roll_back. {failed}"
    undone = (90, "roll_back", {"outcome": "done", "detail": "there is nothing to undo", "facts": {}})
    assert outcome(root, (undone,), {"roll_back": "success", "preflight": "failed"}) == f"red: {failed}"


def test_evidence_that_cannot_be_read_is_not_called_missing_and_its_error_is_data(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(root / "<!-- no topology"))
    said = outcome(root, (), {"preflight": "failed"})
    assert said.startswith("red: UNKNOWN: the evidence of this run cannot be read (")
    assert r"\<\!--" in said


@pytest.mark.usefixtures("root")
def test_airflow_that_does_not_say_how_the_tasks_ended_is_unknown_and_not_green(root: Path) -> None:
    def silent(**_asked: Any) -> Any:
        raise AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR))

    EvidenceStore(root).write(GROUP, RUN, REPORT[0], REPORT[1], REPORT[2])
    task = OutcomeOperator()
    with pytest.raises(SystemExit, match=r"FAILED at unknown tasks \(Airflow does not say .*\)\. MOVED to west"):
        task.execute(context(silent))
    assert task.retries
    assert task.retry_policy is None, "what is only unknown may be tried again"


@pytest.mark.usefixtures("root")
def test_a_run_that_ended_badly_is_not_judged_twice() -> None:
    task = OutcomeOperator()
    with pytest.raises(SystemExit):
        task.execute(context(lambda **_asked: {RUN: {"preflight": "failed"}}))
    assert isinstance(task.retry_policy, NeverAgain)


def test_the_list_of_the_status_page_says_how_the_run_ended(root: Path) -> None:
    outcome(root, ((1, "preflight", {"outcome": "refused", "detail": "lag: too far"}),), {"preflight": "failed"})
    (listed,) = RunEndings(root).read(GROUP)
    assert (listed.run, listed.dag_id, listed.good) == (RUN, "dr_planned_failover", False)
    assert listed.note.startswith("REFUSED at preflight: lag: too far")


def test_the_note_of_a_run_ends_with_the_next_step_only_if_somebody_is_needed_now(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setattr(outcome_module, "leave_note", lambda _log, _context, note, then: notes.append(note + then))
    stuck: Step = (90, "roll_back", {"outcome": "failed", "detail": "east does not answer"})
    outcome(root, (DRAIN, stuck), {"drain": "failed", "roll_back": "failed"})
    assert notes[-1].startswith("NOT ROLLED BACK")
    assert notes[-1].endswith("HALF MOVED: orders. Next: Abandon or finish the run.")
    outcome(root, (DRAIN, BACK), {"drain": "failed", "roll_back": "success"})
    assert notes[-1].startswith("ROLLED BACK")
    assert "Next:" not in notes[-1]


@pytest.mark.parametrize(
    ("steps", "states", "sent"),
    [
        (
            ((1, "preflight", {"outcome": "refused", "detail": "no list"}),),
            {"preflight": "failed"},
            ["planned failover: REFUSED at preflight: no list"],
        ),
        (
            ((2, "approval", {"outcome": "failed", "facts": {"expired": True}}),),
            {},
            ["planned failover: EXPIRED: nobody answered in time; nothing was changed. A new run asks again"],
        ),
        ((DRAIN,), {"drain": "failed"}, ["planned failover: FAILED at drain: no record was copied"]),
        ((DRAIN, BACK), {"drain": "failed"}, []),
        ((REPORT,), {"report": "success"}, []),
    ],
)
def test_a_run_that_did_nothing_is_notified_of_as_the_registers_say_nothing_of_it(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps: tuple[Step, ...],
    states: dict[str, str],
    sent: list[str],
) -> None:
    news: list[Any] = []
    monkeypatch.setattr("kafka_dr_airflow.operators.outgoing.keep_news", lambda _log, kept: news.extend(kept))
    outcome(root, steps, states)
    assert [each.happened for each in news] == sent
    assert all((each.group, each.occasion) == (GROUP, "run_refused") for each in news)
    assert all("/kafka-dr/status#group-orders" in each.link for each in news)
