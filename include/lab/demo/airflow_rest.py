"""Airflow's REST API, as far as a person at a terminal needs it: trigger, look, answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx

from lab.errors import LabError

CALL_SECONDS = 60.0
PARKED = "awaiting_input"
ENDED = frozenset({"success", "failed"})


def new_run() -> str:
    """Return an id that no other run of a demo has."""
    return f"demo-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """An approval that waits for an answer, or has one.

    :param fields: what the form is filled in with
    :param responded_at: when the answer was stored; ``None`` while it waits
    """

    subject: str
    body: str
    options: tuple[str, ...]
    fields: Mapping[str, Any]
    approvers: tuple[str, ...]
    responder: str | None
    responded_at: datetime | None


class AirflowApi:
    """One user's session.

    :param url: where Airflow answers
    :param user: who asks
    :param now: a clock that never goes back, in seconds
    """

    def __init__(self, url: str, *, user: str, password: str, now: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self.user = user
        self._now = now
        self._client = httpx.Client(base_url=url, timeout=CALL_SECONDS)
        reply = self._call("POST", "/auth/token", {"username": user, "password": password})
        self._client.headers["Authorization"] = f"Bearer {reply['access_token']}"

    def close(self) -> None:
        """End the session."""
        self._client.close()

    def wait_for_dag(self, dag: str, *, seconds: float) -> None:
        """Wait until Airflow has read a DAG.

        :raises LabError: it has not, before the deadline
        """
        deadline = self._now() + seconds
        while self._client.get(f"/api/v2/dags/{dag}").status_code != httpx.codes.OK:
            if self._now() > deadline:
                errors = self._call("GET", "/api/v2/importErrors").get("import_errors", [])
                why = errors[0]["stack_trace"].strip().splitlines()[-1] if errors else "it reports no import error"
                raise LabError(f"Airflow has not read {dag} within {seconds:.0f} s; {why}")
            time.sleep(0.2)

    def trigger(self, dag: str, run: str, conf: Mapping[str, Any]) -> None:
        """Start a run.

        :raises LabError: Airflow refuses it
        """
        self._call("POST", f"/api/v2/dags/{dag}/dagRuns", {"dag_run_id": run, "logical_date": None, "conf": dict(conf)})

    def run_to_end(self, dag: str, conf: Mapping[str, Any], *, seconds: float) -> tuple[str, str]:
        """Start a run, wait until it has ended, and return its state and its page.

        :raises LabError: Airflow refuses it, or it has not ended before the deadline
        """
        run = new_run()
        self.trigger(dag, run, conf)
        return self.wait_for_end(dag, run, seconds=seconds), self.page(dag, run)

    def end(self, dag: str, run: str) -> None:
        """End a run where it is.

        :raises LabError: Airflow refuses it
        """
        self._call("PATCH", f"/api/v2/dags/{dag}/dagRuns/{run}", {"state": "failed"})

    def run_state(self, dag: str, run: str) -> str:
        """State of a run."""
        return str(self._call("GET", f"/api/v2/dags/{dag}/dagRuns/{run}")["state"])

    def open_runs(self, dag: str) -> list[str]:
        """Runs of a DAG that have not ended."""
        found = self._call("GET", f"/api/v2/dags/{dag}/dagRuns?state=running&state=queued&limit=100")["dag_runs"]
        return [str(each["dag_run_id"]) for each in found]

    def task_states(self, dag: str, run: str) -> dict[str, str | None]:
        """State of each task of a run."""
        found = self._call("GET", f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances")["task_instances"]
        return {str(each["task_id"]): each["state"] for each in found}

    def wait_for_end(self, dag: str, run: str, *, seconds: float, look: Callable[[], None] | None = None) -> str:
        """Wait until a run has ended.

        :param look: called again and again while waiting
        :returns: its state
        :raises LabError: it has not ended before the deadline
        """
        deadline = self._now() + seconds
        while (state := self.run_state(dag, run)) not in ENDED:
            if self._now() > deadline:
                tasks = {name: state for name, state in self.task_states(dag, run).items() if state not in ENDED}
                raise LabError(f"run {run} of {dag} has not ended within {seconds:.0f} s; not ended: {tasks}")
            if look is not None:
                look()
            time.sleep(0.5)
        return state

    def question(self, dag: str, run: str, task: str) -> PendingApproval:
        """The approval of a run.

        :raises LabError: it was not asked
        """
        found = self.question_if_asked(dag, run, task)
        if found is None:
            raise LabError(f"run {run} of {dag} asks nothing in {task}")
        return found

    def question_if_asked(self, dag: str, run: str, task: str) -> PendingApproval | None:
        """The approval of a run; ``None`` if it was not asked yet."""
        found = self._call("GET", f"/api/v2/dags/{dag}/dagRuns/{run}/hitlDetails")["hitl_details"]
        return next((_question(each) for each in found if each["task_instance"]["task_id"] == task), None)

    def answer(self, dag: str, run: str, task: str, *, option: str, fields: Mapping[str, Any]) -> None:
        """Give the answer.

        :raises LabError: Airflow does not take it, from this user or at all
        """
        self._call(
            "PATCH",
            f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/-1/hitlDetails",
            {"chosen_options": [option], "params_input": dict(fields)},
        )

    def wait_for_scheduler(self, *, rounds: int, seconds: float) -> None:
        """Wait until the scheduler has gone round, by the number of its heartbeats that are seen.

        :raises LabError: it has not, before the deadline
        """
        deadline = self._now() + seconds
        seen = {self._heartbeat()}
        while len(seen) <= rounds:
            if self._now() > deadline:
                raise LabError(
                    f"Airflow's scheduler has not gone round {rounds} times within {seconds:.0f} s: see `logs`"
                )
            time.sleep(0.2)
            seen.add(self._heartbeat())

    def _heartbeat(self) -> str:
        return str(self._call("GET", "/api/v2/monitor/health")["scheduler"]["latest_scheduler_heartbeat"])

    def page(self, dag: str, run: str) -> str:
        """Where a person finds the run."""
        return f"{self._url}/dags/{dag}/runs/{run}"

    def question_page(self, dag: str, group: str, run: str) -> str:
        """Where a person reads and answers what the run asks."""
        return f"{self._url}/kafka-dr/question/{dag}/{group}/{run}"

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        try:
            reply = self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise LabError(f"Airflow does not answer at {self._url}{path} ({error}): see `status`") from error
        if reply.is_error:
            raise LabError(
                f"Airflow answers {reply.status_code} to {method} {path} by {self.user}: {reply.text[:2000]}"
            )
        answer: dict[str, Any] = reply.json()
        return answer


def _question(found: Mapping[str, Any]) -> PendingApproval:
    responder = found.get("responded_by_user")
    responded_at = found.get("responded_at")
    return PendingApproval(
        subject=str(found["subject"]),
        body=str(found.get("body") or ""),
        options=tuple(found["options"]),
        fields={name: _value(field) for name, field in (found.get("params") or {}).items()},
        approvers=tuple(str(user["id"]) for user in found.get("assigned_users") or ()),
        responder=str(responder["id"]) if responder else None,
        responded_at=datetime.fromisoformat(responded_at) if responded_at else None,
    )


def _value(field: Any) -> Any:
    return field.get("value") if isinstance(field, Mapping) else field
