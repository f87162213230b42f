"""The audit of one flow by Spark, as a task that submits it and judges its report. A failback waits for such a task."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafka_dr_airflow.links import AuditLink
from kafka_dr_airflow.operators.flow_audit import (
    FlowAudit,
    chosen_flow,
    is_whole,
    part_arguments,
    watch_of,
)
from kafka_dr_airflow.operators.kept_results import LookResult, kept_result
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.spark_job import SparkJobOperator
from kafka_dr_airflow.topology_file import TOPOLOGY

if TYPE_CHECKING:
    from kafka_dr.runs.clients import Clients
    from kafka_dr.topology.audited import AuditedFlow


class SparkAuditOperator(SparkJobOperator):
    """Submits the audit of a group's flow and shows its verdict. Red unless the verdict is good.

    A good verdict on the whole flow creates an event of the flow's asset: a DAG can wait for a verified copy. The flow
    is known only when the task runs, so ``outlets`` are aliases.

    :param protection_group: the group whose flow is audited, unless the run names a flow
    :param audit: ``checksum`` or ``lag``: the job, and the folder of its reports
    """

    operator_extra_links = (AuditLink(),)

    def __init__(self, *, protection_group: str, audit: str, **kwargs: Any) -> None:
        kwargs.setdefault("name", f"kafka-dr {audit} audit of {protection_group}")
        super().__init__(job=f"{audit}_audit", **kwargs)
        self.protection_group = protection_group
        self.audit = audit

    @fails_plainly
    def execute(self, context: Any) -> dict[str, str]:
        """Audit the flow, judge the report, and keep the result, unless only a part or another flow was asked for."""
        params, watch = context["params"], watch_of(self.audit)
        keeps = is_whole(params) and not params.get("flow")
        with kept_result(self.log, context, group=self.protection_group, watch=watch, keeps=keeps) as kept:
            return self._audited(context, kept)

    def _audited(self, context: Any, kept: LookResult) -> dict[str, str]:
        from kafka_dr_airflow.task_clients import open_clients

        params = context["params"]
        with plain_errors(), open_clients() as clients:
            flow = self.chosen_flow(params.get("flow"), clients)
            one = FlowAudit.of(flow, self.audit, context)
            self.report_path = one.report_path
            one.drop_unrecorded(clients, self.log)
        named = ("--topology", os.environ[TOPOLOGY], "--flow", flow.name, "--out", one.out)
        self.application_args = [*named, *self.arguments(params)]
        with self.reachable(one.connections):
            problem = self._submitted(context, one)
        with plain_errors(), open_clients() as clients:
            one.record(clients)
        found = one.judge(problem, kept, self.log)
        for alias in self.outlets if is_whole(params) else ():
            context["outlet_events"][alias].add(one.asset(), extra={"at": found["at"]})
        return {"verdict": found["verdict"], "report": found["report"]}

    def arguments(self, params: Mapping[str, Any]) -> list[str]:
        """Return what the parameters of the run add to the command line of the job."""
        return part_arguments(params)

    def chosen_flow(self, wanted: str | None, clients: Clients) -> AuditedFlow:
        """Return the flow to audit; one of a group that a run holds is left alone.

        :param wanted: its name; ``None``: the group's flow from its active cluster
        """
        return chosen_flow(self.protection_group, wanted, clients, audit=self.audit)

    def _submitted(self, context: Any, one: FlowAudit) -> str | None:
        """Run the job; if this task is ended meanwhile, the next audit continues from what the job has kept."""
        try:
            return self.submit(context)
        except BaseException:
            # What ended the task is to be said, and not that its digests could not be written as well.
            from kafka_dr_airflow.task_clients import open_clients

            with suppress(Exception), open_clients() as clients:
                one.record(clients)
            raise
