"""The task that undoes a run that failed before its point of no return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, TriggerRule
from airflow.sdk.exceptions import AirflowSkipException

from kafka_dr_airflow.links import EvidenceLink
from kafka_dr_airflow.operators.failover_step import HANGING, URGENT
from kafka_dr_airflow.operators.plain_failure import fails_plainly
from kafka_dr_airflow.operators.receipt import Receipt, perform, run_request

if TYPE_CHECKING:
    from kafka_dr.register import Verb
    from kafka_dr.runs.clients import Clients
    from kafka_dr.runs.record import StepRecord
    from kafka_dr.runs.request import RunRequest


class RollBackOperator(BaseOperator):
    """Runs as soon as one of its upstream tasks has failed. What it does depends on the DR register.

    A failed task does not show how far the run came; the register does. If nothing was claimed, or the run is past the
    point of no return, the task changes nothing, says so, and ends as skipped. It is retried, because applications
    cannot write while the source is fenced.

    :param verb: the procedure that is rolled back
    """

    ui_color = "#f6e3c5"
    operator_extra_links = (EvidenceLink(),)

    def __init__(self, *, verb: Verb = "planned_failover", **kwargs: Any) -> None:
        defaults = {"task_id": "roll_back", "trigger_rule": TriggerRule.ONE_FAILED, "execution_timeout": HANGING}
        super().__init__(**{**defaults, **URGENT, **kwargs})
        self.verb = verb

    @fails_plainly
    def execute(self, context: Any) -> Receipt:
        """Roll back what the run began, according to the register."""
        from kafka_dr.verbs.roll_back import is_undone, roll_back

        request = run_request(context, self.verb)
        undone: list[bool] = []

        def undo(clients: Clients) -> StepRecord:
            self._skip_if_handed_over(request, clients)
            record = roll_back(request, clients)
            undone.append(is_undone(record))
            return record

        receipt = perform(self.log, undo)
        if not any(undone):
            raise AirflowSkipException("this run holds nothing, so nothing had to be undone")
        return receipt

    def _skip_if_handed_over(self, request: RunRequest, clients: Clients) -> None:
        """Leave a run alone that can only go forward: the task that failed is tried again, or somebody continues it."""
        from kafka_dr.verbs.switch import where_is
        from kafka_dr.verbs.switch_rules import RunProgress

        if where_is(request, clients) is RunProgress.HANDED_OVER:
            raise AirflowSkipException(
                "the point of no return is passed, so nothing is undone: clear the failed task, or finish the run with "
                "dr_resume"
            )
