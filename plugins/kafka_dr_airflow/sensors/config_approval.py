"""The approval of a plan of the config sync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowSkipException

from kafka_dr_airflow.operators.plain_failure import plain_errors
from kafka_dr_airflow.operators.rounds import RedGroup
from kafka_dr_airflow.sensors.manual_approval import ManualApprovalSensor

if TYPE_CHECKING:
    from kafka_dr.approvals.approval import ApprovalQuestion
    from kafka_dr.approvals.journaled import Answer, ApprovalJournal
    from kafka_dr.runs.clients import Clients
    from kafka_dr.runs.record import StepRecord
    from kafka_dr.runs.request import RunRequest


class ConfigApprovalSensor(ManualApprovalSensor):
    """Asks for an approval of the changes that need one; skipped if the newest plan of this run has none.

    The answer is bound to the digest of the plan. Later runs make the same plan again while nothing changes: only one
    run at a time asks about it, and none after somebody has rejected it.

    :param row: what the round said of the group whose standby is changed
    """

    template_fields = (*ManualApprovalSensor.template_fields, "row")

    def __init__(self, *, row: RedGroup, **kwargs: Any) -> None:
        super().__init__(number=2, **kwargs)
        self.row = row
        self.evidence_kept = True

    @property
    def protection_group(self) -> str:
        """The group whose standby is changed."""
        return self.row["protection_group"]

    def request(self, context: Any) -> RunRequest:
        """Return the request that the approval belongs to."""
        from kafka_dr.runs.request import RunRequest

        return RunRequest(self.protection_group, context["run_id"])

    def journal(self, request: RunRequest, clients: Clients) -> ApprovalJournal:
        """Return where the active cluster's register keeps the question of this run and its answer."""
        from kafka_dr.watch.ask_config_approval import config_journal

        return config_journal(self.protection_group, clients, request.run)

    def keep(self, request: RunRequest, clients: Clients, answer: Answer, to: str) -> StepRecord:
        """Journal an answer in the active cluster's register, and keep a copy in evidence."""
        from kafka_dr.watch.ask_config_approval import record_config_answer

        return record_config_answer(self.protection_group, clients, request.run, answer, to=to)

    def asks(self, context: Any) -> bool:
        """Return that somebody is asked; skip if nobody has to be."""
        if not self.row["asks"]:
            self.evidence_kept = False
            raise AirflowSkipException(f"nobody has to be asked about {self.protection_group}")
        return True

    def question(self, context: Any) -> ApprovalQuestion:
        """Return the question; skip if somebody was asked already."""
        from kafka_dr.watch.ask_config_approval import ask_config
        from kafka_dr_airflow.task_clients import open_clients

        with plain_errors(), open_clients() as clients:
            who = {"page": self.page(context), "asked_by": str(context["ti"].id)}
            question = ask_config(self.protection_group, clients, context["run_id"], **who)
        if isinstance(question, str):
            self.evidence_kept = False
            raise AirflowSkipException(question)
        return question
