"""Decisions that may take two different people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_dr_airflow.operators.plain_failure import plain_errors
from kafka_dr_airflow.sensors.manual_approval import ManualApprovalSensor

if TYPE_CHECKING:
    from kafka_dr.approvals.approval import Answer, ApprovalQuestion
    from kafka_dr.register import Verb
    from kafka_dr.runs.clients import Clients
    from kafka_dr.runs.record import StepRecord
    from kafka_dr.runs.request import RunRequest


class TwoPeopleSensor(ManualApprovalSensor):
    """Asks for the first or the second approval. The second is asked only where two are needed, and of others.

    :param step: ``approval`` or ``second_approval``, which is the task's id too
    """

    #: Why nobody else is asked, where one approval is enough.
    one_is_enough = "One approval is enough for this group: nobody else is asked."

    def __init__(self, *, step: str, number: int, verb: Verb, **kwargs: Any) -> None:
        super().__init__(number=number, verb=verb, **{"task_id": step, **kwargs})
        self.step = step

    def question(self, context: Any) -> ApprovalQuestion | None:
        """Make the question; ``None`` in a dry run, and where no second person is needed."""
        from kafka_dr.approvals.approval import needs_second
        from kafka_dr.failover.ask_approval import ask_approval
        from kafka_dr.runs.request import StepName
        from kafka_dr_airflow.connections import open_clients

        request = self.request(context)
        if request.dry_run:
            self.log.info("Dry run: nobody is asked.")
            return None
        with plain_errors(), open_clients() as clients:
            if self.step == "approval" or needs_second(request, clients):
                return ask_approval(request, clients, StepName(self.step), page=self.page(context))
        self.log.info("%s", self.one_is_enough)
        return None

    def keep(self, request: RunRequest, clients: Clients, answer: Answer) -> StepRecord:
        """Keep an answer in evidence, where the claim looks for it."""
        from kafka_dr.approvals.approval import record_answer
        from kafka_dr.runs.request import StepName

        return record_answer(request, clients, answer, StepName(self.step))

    def keep_expiry(self, request: RunRequest, clients: Clients) -> StepRecord:
        """Keep in evidence that nobody answered this question."""
        from kafka_dr.approvals.approval import record_expiry
        from kafka_dr.runs.request import StepName

        return record_expiry(request, clients, StepName(self.step))


class UnplannedApprovalSensor(TwoPeopleSensor):
    """Asks about an unplanned failover. How many have to say yes is ``disaster.approvers_needed`` of the topology."""

    consequence = "leaves the old side behind, with whatever has not crossed"

    def __init__(self, *, step: str, number: int, **kwargs: Any) -> None:
        super().__init__(step=step, number=number, verb="unplanned_failover", **kwargs)


class FailbackApprovalSensor(TwoPeopleSensor):
    """Asks about a failback. The second approval is asked where data is deleted, and never of who gave the first."""

    consequence = "lets the run do exactly this"
    one_is_enough = "Nothing is deleted, so one approval is enough: nobody else is asked."

    def __init__(self, *, step: str, number: int, **kwargs: Any) -> None:
        super().__init__(step=step, number=number, verb="failback", **kwargs)
