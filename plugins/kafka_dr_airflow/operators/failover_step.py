"""The task that runs one step of a verb."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from kafka_dr_airflow.links import EvidenceLink
from kafka_dr_airflow.operators.open_runs import dry_run_began
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly
from kafka_dr_airflow.operators.receipt import Receipt, perform, run_request

if TYPE_CHECKING:
    from kafka_dr.register import Verb
    from kafka_dr.runs.request import RunRequest, StepName

#: A failover waits for no other work of Airflow: these tasks go first.
URGENT: dict[str, Any] = {"priority_weight": 1000, "weight_rule": "absolute"}
#: Each wait inside a step has its own deadline in the topology. This one only ends a step that hangs in spite of that.
HANGING = timedelta(minutes=15)
#: The same where a task may wait until others have compared all access rules: some pipelines do that once an hour.
COMPARED = timedelta(hours=3)


def numbered(number: int, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Add the number of a step in front of its name, as evidence and runbooks number it.

    :param kwargs: the arguments of an operator
    """
    return {"task_display_name": f"{number} {kwargs['task_id']}", **kwargs}


class FailoverStepOperator(FirstTask):
    """Runs one step: its check, its act, its proof. The request is read from the parameters of the run.

    A step waits for clusters by itself, as long as the topology allows, so by default Airflow retries nothing: up to
    the point of no return a failed step is rolled back, and until then nobody can write. Later steps can only go
    forward; for those the DAG sets ``retries``. A refusal is never retried.

    In a dry run the first task shows what every step would do, and the later ones are skipped: one that is green did
    something.

    :param step: the name of the step, which is also the id of the task
    :param number: the position of the step in the verb, from 1
    :param verb: the procedure that the step is part of
    """

    ui_color = "#dbe8f4"
    operator_extra_links = (EvidenceLink(),)

    def __init__(self, *, step: str, number: int, verb: Verb = "planned_failover", **kwargs: Any) -> None:
        defaults = {"task_id": step, "retries": 0, "execution_timeout": HANGING, **URGENT}
        super().__init__(**numbered(number, {**defaults, **kwargs}))
        self.step = step
        self.verb = verb
        self.first = number == 1

    @fails_plainly
    def execute(self, context: Any) -> Receipt:
        """Run the step and return where its evidence is."""
        from kafka_dr.runs.request import StepName, steps_without_approvals

        request = run_request(context, self.verb)
        if not (request.dry_run and self.first):
            return self._perform(StepName(self.step), request)
        dry_run_began(self.log, context, request.protection_group, self.verb)
        return [self._perform(step, request) for step in steps_without_approvals(self.verb)][-1]

    def _perform(self, step: StepName, request: RunRequest) -> Receipt:
        from kafka_dr.verbs.runner import run_step

        return perform(self.log, lambda clients: run_step(step, request, clients))
