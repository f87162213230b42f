"""The decisions of people about a failback: one, or two different ones where data is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_dr_airflow.operators.record import plain_errors
from kafka_dr_airflow.sensors.manual_approval import ManualApprovalSensor

if TYPE_CHECKING:
    from kafka_dr.failover import Answer, ApprovalQuestion, RunRequest, StepRecord, World


class FailbackApprovalSensor(ManualApprovalSensor):
    """Asks about a failback. The second approval is asked where data is deleted, and never of who gave the first.

    :param step: ``approval`` or ``second_approval``, which is the task's id too
    """

    consequence = "lets the run do exactly this"

    def __init__(self, *, step: str, number: int, **kwargs: Any) -> None:
        super().__init__(number=number, verb="failback", **{"task_id": step, **kwargs})
        self.step = step

    def question(self, context: Any) -> ApprovalQuestion | None:
        """Make the question; ``None`` in a dry run, and where nothing is deleted no second person is asked."""
        from kafka_dr.failover import StepName, ask_approval
        from kafka_dr.failover.approval import needs_second
        from kafka_dr_airflow.world import open_world

        request = self.request(context)
        if request.dry_run:
            self.log.info("Dry run: nobody is asked.")
            return None
        with plain_errors(), open_world() as world:
            if self.step == "approval" or needs_second(request, world):
                return ask_approval(request, world, StepName(self.step))
        self.log.info("Nothing is deleted, so one approval is enough: nobody else is asked.")
        return None

    def keep(self, request: RunRequest, world: World, answer: Answer) -> StepRecord:
        """Keep an answer in evidence, where the claim looks for it."""
        from kafka_dr.failover import StepName, record_answer

        return record_answer(request, world, answer, StepName(self.step))
