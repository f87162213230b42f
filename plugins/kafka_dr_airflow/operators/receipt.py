"""How a task shows what a step did: the record in the log, a receipt in XCom, one sentence if it failed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_dr.quoting import line
from kafka_dr_airflow.operators.plain_failure import plain_errors
from kafka_dr_airflow.operators.run_types import is_manual
from kafka_dr_airflow.operators.supervised import ends_with_supervisor
from kafka_dr_airflow.sent_metrics import send_step

if TYPE_CHECKING:
    from kafka_dr.register import Verb
    from kafka_dr.runs.clients import Clients
    from kafka_dr.runs.record import StepRecord
    from kafka_dr.runs.request import RunRequest


class Receipt(TypedDict):
    """What XCom keeps of a step: where its evidence is. No step reads it; each asks the clusters itself."""

    outcome: str
    evidence: str
    evidence_sha256: str


def run_request(context: Any, verb: Verb) -> RunRequest:
    """Read the request from the parameters of a run.

    :param context: Airflow's task context
    :param verb: the procedure that the run follows
    """
    from kafka_dr.runs.request import RunRequest

    params = context["params"]
    return RunRequest(
        verb=verb,
        protection_group=params["protection_group"],
        source=params.get("source") or None,
        target=params.get("target") or None,
        run=context["run_id"],
        dry_run=bool(params.get("dry_run", False)),
        reason=params.get("reason") or "",
        override=params.get("override") or "",
        acknowledged=bool(params.get("acknowledged", False)),
        mode=params.get("mode") or "quarantine",
        rescue=params.get("rescue") or "keep",
        late=params.get("late") or "declared",
        hand_back_to=params.get("hand_back_to") or "existing",
        leaves=verb == "un_adopt" and bool(params.get("target")),
        begin_at=_moment(params.get("begin_at")),
        begin_positions=params.get("begin_positions") or "unknown",
        requester=requester_of(context),
    )


def _moment(text: str | None) -> datetime | None:
    """Return a time of a form, whose schema has refused what does not look like one with a time zone."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except ValueError:
        said = f"{text} is no time: write it as 2026-11-27T04:03:00Z. Nothing was changed"
        raise AirflowFailException(line(said)) from None


def requester_of(context: Any) -> str:
    """Return the name of the person who triggered a run; empty if a schedule or another DAG did.

    :param context: Airflow's task context
    """
    from kafka_dr.people import UNKNOWN_PERSON

    run = context.get("dag_run")
    if name := getattr(run, "triggering_user_name", None):
        return str(name)
    return UNKNOWN_PERSON if run is None or is_manual(run) else ""


def perform(log: Any, action: Callable[[Clients], StepRecord]) -> Receipt:
    """Do something in the world that leaves a record, and show the record whether it went well or not.

    :param log: the task's logger
    :raises AirflowFailException: the step was refused; trying again changes nothing
    :raises AirflowException: the step failed or its outcome is unknown; trying again may help
    """
    from kafka_dr.runs.record import StepFailed
    from kafka_dr_airflow.task_clients import open_clients

    with plain_errors(), open_clients() as clients, ends_with_supervisor(clients):
        try:
            record = action(clients)
        except StepFailed as failure:
            send_step(log, failure.record)
            show(log, failure.record)
            final = failure.record.outcome == "refused"
            raise (AirflowFailException if final else AirflowException)(line(str(failure))) from None
    send_step(log, record)
    show(log, record)
    if record.outcome == "unproven":
        # The run continues, so the task is not red; the line in its log is.
        log.error("%s", record.detail)
    return receipt_of(record)


def receipt_of(record: StepRecord) -> Receipt:
    """Return what XCom keeps of a record."""
    return Receipt(outcome=record.outcome, evidence=record.evidence, evidence_sha256=record.evidence_sha256)


def show(log: Any, record: StepRecord) -> None:
    """Write a record to the task log, line by line. What made the step fail is logged at ERROR."""
    for each in record.lines():
        for text in each.text.splitlines():
            (log.info if each.good else log.error)("%s", text)
