"""The task that ends a run that died, from the register and its journal alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_dr.quoting import inline
from kafka_dr_airflow.links import EvidenceLink
from kafka_dr_airflow.operators.failover_step import HANGING, URGENT
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly
from kafka_dr_airflow.operators.receipt import Receipt, perform, requester_of
from kafka_dr_airflow.run_note import noted

if TYPE_CHECKING:
    from kafka_dr.runs.clients import Clients
    from kafka_dr.runs.record import StepRecord


class ResumeOperator(FirstTask):
    """Finishes or abandons the run that holds a group. It needs nothing of the dead run in Airflow."""

    ui_color = "#f6e3c5"
    operator_extra_links = (EvidenceLink(),)

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "resume", "retries": 0, "execution_timeout": HANGING}
        super().__init__(**{**defaults, **URGENT, **kwargs})
        #: The run that died. The evidence of resuming it is kept with that run.
        self.resumed_run = ""

    @fails_plainly
    def execute(self, context: Any) -> Receipt:
        """Carry out the decision of the run's parameters."""
        from kafka_dr.runs.request import ResumeRequest
        from kafka_dr.verbs.resume import resume

        params = context["params"]
        request = ResumeRequest(
            protection_group=params["protection_group"],
            decision=params["decision"],
            run=params.get("run") or None,
            reason=params["reason"],
            requester=requester_of(context),
            confirmed=bool(params.get("confirmed")),
        )
        self.resumed_run = request.run or ""

        with noted(self.log, context) as note:

            def resumed(clients: Clients) -> StepRecord:
                record = resume(request, clients)
                self.resumed_run = record.run
                note.extend(("FINISHED" if request.decision == "finish" else "ABANDONED", inline(record.detail)))
                return record

            return perform(self.log, resumed)
