"""One step of a verb is one task."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from kafka_dr_airflow.links import EvidenceLink
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly
from kafka_dr_airflow.operators.receipt import Receipt, perform, run_request

if TYPE_CHECKING:
    from kafka_dr.register import Verb

#: A failover waits behind nothing else that Airflow does: these tasks go first, whatever hangs on them.
URGENT: dict[str, Any] = {"priority_weight": 1000, "weight_rule": "absolute"}
#: Each wait inside a step has its own deadline, from the topology. This one only ends what hangs in spite of that.
HANGING = timedelta(minutes=15)


def numbered(number: int, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Show a step's place in front of its name, as evidence and runbooks number it.

    :param kwargs: what an operator is made with
    """
    return {"task_display_name": f"{number} {kwargs['task_id']}", **kwargs}


class FailoverStepOperator(FirstTask):
    """Runs one step: its check, its act, its proof. What was asked for is read from the run's parameters.

    A step waits for the world by itself, as long as the topology allows, so Airflow retries nothing by default: up to
    the point of no return a failed step is rolled back, and each second until then is a second without writes. Steps
    behind it can only go forward; there ``retries`` belongs in the DAG. A refusal is never retried.

    :param step: the step's name, which is the task's id too
    :param number: its place in the verb
    :param verb: which procedure the step is part of
    """

    ui_color = "#dbe8f4"
    operator_extra_links = (EvidenceLink(),)

    def __init__(self, *, step: str, number: int, verb: Verb = "planned_failover", **kwargs: Any) -> None:
        defaults = {"task_id": step, "retries": 0, "execution_timeout": HANGING, **URGENT}
        super().__init__(**numbered(number, {**defaults, **kwargs}))
        self.step = step
        self.verb = verb

    @fails_plainly
    def execute(self, context: Any) -> Receipt:
        """Run the step and say where its evidence is."""
        from kafka_dr.failover.runner import run_step
        from kafka_dr.runs.request import StepName

        request = run_request(context, self.verb)
        return perform(self.log, lambda clients: run_step(StepName(self.step), request, clients))
