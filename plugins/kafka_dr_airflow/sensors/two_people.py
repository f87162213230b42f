"""Approvals that may need two different people: unplanned failover and failback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_dr_airflow.operators.plain_failure import plain_errors
from kafka_dr_airflow.sensors.manual_approval import ManualApprovalSensor

if TYPE_CHECKING:
    from kafka_dr.approvals.approval import ApprovalQuestion
    from kafka_dr.approvals.journaled import Answer
    from kafka_dr.register import Verb
    from kafka_dr.runs.clients import Clients
    from kafka_dr.runs.record import StepRecord
    from kafka_dr.runs.request import RunRequest


class TwoPeopleSensor(ManualApprovalSensor):
    """Asks for the first or the second approval. The second is asked only if two are needed, and of other people.

    :param step: ``approval`` or ``second_approval``, which is also the id of the task
    """

    #: What the log says if one approval is enough.
    one_is_enough = "One approval is enough for this group: nobody else is asked."

    def __init__(self, *, step: str, number: int, verb: Verb, **kwargs: Any) -> None:
        super().__init__(number=number, verb=verb, **{"task_id": step, **kwargs})
        self.step = step

    def question(self, context: Any) -> ApprovalQuestion | None:
        """Return the question; ``None`` if no second person is needed."""
        from kafka_dr.approvals.who_may_answer import needs_second
        from kafka_dr.failover.ask_approval import ask_approval
        from kafka_dr.runs.request import StepName
        from kafka_dr_airflow.task_clients import open_clients

        request = self.request(context)
        with plain_errors(), open_clients() as clients:
            if self.step == "approval" or needs_second(request, clients):
                return ask_approval(request, clients, StepName(self.step), page=self.page(context))
        self.log.info("%s", self.one_is_enough)
        return None

    def keep(self, request: RunRequest, clients: Clients, answer: Answer) -> StepRecord:
        """Journal an answer in the register, where the step ``claim`` reads it, and keep a copy in evidence."""
        from kafka_dr.approvals.approval import record_answer
        from kafka_dr.runs.request import StepName

        return record_answer(request, clients, answer, StepName(self.step))

    def keep_expiry(self, request: RunRequest, clients: Clients) -> StepRecord:
        """Keep in evidence that nobody answered in time."""
        from kafka_dr.approvals.approval import record_expiry
        from kafka_dr.runs.request import StepName

        return record_expiry(request, clients, StepName(self.step))


class UnplannedApprovalSensor(TwoPeopleSensor):
    """Asks for the approvals of an unplanned failover: as many as ``disaster.approvers_needed`` of the topology."""

    consequence = "moves the group without the records that have not been replicated"

    def __init__(self, *, step: str, number: int, **kwargs: Any) -> None:
        super().__init__(step=step, number=number, verb="unplanned_failover", **kwargs)


class FailbackApprovalSensor(TwoPeopleSensor):
    """Asks for the approvals of a failback: two if data is deleted, never from the same person."""

    consequence = "lets the run do exactly this"
    one_is_enough = "Nothing is deleted, so one approval is enough: nobody else is asked."

    def __init__(self, *, step: str, number: int, **kwargs: Any) -> None:
        super().__init__(step=step, number=number, verb="failback", **kwargs)
