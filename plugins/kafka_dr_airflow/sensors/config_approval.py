"""A person's decision about a plan of the config sync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import TriggerRule
from airflow.sdk.exceptions import AirflowSkipException

from kafka_dr_airflow.operators.plain_failure import plain_errors
from kafka_dr_airflow.sensors.manual_approval import ManualApprovalSensor

if TYPE_CHECKING:
    from kafka_dr.approvals.approval import ApprovalQuestion
    from kafka_dr.runs.request import RunRequest


class ConfigApprovalSensor(ManualApprovalSensor):
    """Asks about what the newest plan of this run may not change by itself; skipped where there is no such thing.

    The answer is bound to the plan's digest. A plan that is made again, because nothing has changed, is asked about
    once at a time, and not again once somebody has said no to it.

    :param protection_group: whose standby it is about
    """

    consequence = "makes exactly these changes, if both clusters still are as shown"
    template_fields = (*ManualApprovalSensor.template_fields, "protection_group")

    def __init__(self, *, protection_group: str, **kwargs: Any) -> None:
        # A safe change that could not be made keeps nobody from being asked about the others.
        super().__init__(number=2, **{"trigger_rule": TriggerRule.ALL_DONE, **kwargs})
        self.protection_group = protection_group
        self.evidence_kept = True

    def request(self, context: Any) -> RunRequest:
        """Return what the approval is about."""
        from kafka_dr.runs.request import RunRequest

        return RunRequest(self.protection_group, context["run_id"])

    def question(self, context: Any) -> ApprovalQuestion:
        """Make the question; skip where nobody has to be asked, or has been asked already."""
        from kafka_dr.watch.ask_config_approval import ask_config
        from kafka_dr_airflow.connections import open_clients

        with plain_errors(), open_clients() as clients:
            question = ask_config(self.protection_group, clients, context["run_id"], page=self.page(context))
        if isinstance(question, str):
            self.evidence_kept = False
            raise AirflowSkipException(question)
        return question
