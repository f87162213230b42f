"""The tasks of a take over that no other verb has: which way a group is adopted, and the audit of its copy."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.branch import BaseBranchOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_dr.quoting import line
from kafka_dr_airflow.links import AuditLink, EvidenceLink
from kafka_dr_airflow.operators.failover_step import COMPARED
from kafka_dr_airflow.operators.flow_audit import FlowAudit
from kafka_dr_airflow.operators.kept_results import LookResult, kept_result
from kafka_dr_airflow.operators.open_runs import running_step
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.receipt import run_request
from kafka_dr_airflow.operators.spark_job import SparkJobOperator
from kafka_dr_airflow.topology_file import TOPOLOGY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafka_dr.adoption.way import AdoptionWay
    from kafka_dr.outcomes import Check
    from kafka_dr.topology.audited import AuditedFlow

#: Large groups take long to read; this only ends a job that hangs.
_LONGEST = timedelta(hours=24)


class AdoptionWayOperator(FirstTask, BaseBranchOperator):
    """Finds out which way a group is adopted, and refuses a take over that cannot be done before hours of audit.

    :param ways: the tasks that follow, for each way
    """

    ui_color = "#dfeedd"

    def __init__(self, *, ways: dict[AdoptionWay, list[str]], **kwargs: Any) -> None:
        super().__init__(**{"task_id": "plan", "retries": 0, "execution_timeout": COMPARED, **kwargs})
        self.ways = ways

    @fails_plainly
    def execute(self, context: Any) -> Any:
        """Choose the tasks that follow; Airflow skips the others."""
        return super().execute(context)

    def choose_branch(self, context: Any) -> list[str]:
        """Return the tasks that follow."""
        from kafka_dr.adoption.way import before_the_audit, way_of
        from kafka_dr_airflow.task_clients import open_clients

        request = run_request(context, "take_over")
        with plain_errors(), open_clients() as clients:
            way = way_of(request.protection_group, clients)
            create = bool(context["params"].get("create_canary_topic", False))
            checks = before_the_audit(request, clients, create_canary_topic=create) if way == "take_over" else ()
        self.log.info(
            "%s", "existing replication is taken over" if way == "take_over" else "there is nothing to take over"
        )
        self._refuse(checks)
        return self.ways[way]

    def _refuse(self, checks: Sequence[Check]) -> None:
        """End the run if a check does not let it begin.

        :raises AirflowFailException: one failed
        :raises AirflowException: nobody knows the answer to one; a new run asks again
        """
        for each in checks:
            (self.log.info if each.passes else self.log.error)("%s: %s", each.name, line(each.detail))
        stops = [each for each in checks if not each.passes]
        if stops:
            kind = AirflowFailException if any(each.outcome == "failed" for each in stops) else AirflowException
            raise kind(f"it cannot be taken over: {'; '.join(line(each.detail) for each in stops)}")


class CopyAuditOperator(SparkJobOperator):
    """Audits all that the existing replication has copied, while it runs. Its faults are shown to the approvers.

    The task is green if it finds faults: they are approved as they are, or the run is rejected. It is red if it could
    not compare everything.
    """

    operator_extra_links = (AuditLink(), EvidenceLink())

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "audit", "name": "kafka-dr audit of a copy", "retries": 0, "execution_timeout": _LONGEST}
        super().__init__(job="checksum_audit", **{**defaults, **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> dict[str, str]:
        """Audit the copy from the beginning of the logs, and return where the report is."""
        one = FlowAudit.of(self._flow(context), "checksum", context)
        self.report_path = one.report_path
        named = ["--topology", os.environ[TOPOLOGY], "--flow", one.name, "--out", one.out]
        self.application_args = [*named, "--full"]
        group = context["params"]["protection_group"]
        with running_step(context, group, "take_over", holds=False), self.reachable(one.connections):
            problem = self.submit(context)
        found = LookResult()
        try:
            # Whatever it found is what is known of the group's copy until the next audit.
            with kept_result(self.log, context, group=one.declared.subject, watch=one.watch) as found:
                one.judge(problem, found, self.log)
        except AirflowFailException:
            if found.outcome != "failed":
                raise
            self.log.warning("The approvers are asked whether these faults may stay as they are.")
        return {"verdict": str(found.facts["verdict"]), "report": one.report_path}

    def _flow(self, context: Any) -> AuditedFlow:
        from kafka_dr.runs.run import Run
        from kafka_dr.topology.audited import audited_flow
        from kafka_dr_airflow.task_clients import open_clients

        with plain_errors(), open_clients() as clients:
            flow = Run(run_request(context, "take_over"), clients).flow
            return audited_flow(clients.topology, f"{flow.group}.{flow.source}-to-{flow.target}")
