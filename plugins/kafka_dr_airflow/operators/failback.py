"""The Spark jobs of a failback: the list of stranded records, and the audit of everything on the old cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException

from kafka_dr.quoting import line
from kafka_dr_airflow.links import StrandedLink
from kafka_dr_airflow.operators.open_runs import running_step
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.spark_audit import SparkAuditOperator
from kafka_dr_airflow.operators.spark_job import SparkJobOperator, audit_connections
from kafka_dr_airflow.topology_file import TOPOLOGY, evidence_root, read_topology

if TYPE_CHECKING:
    from kafka_dr.audit.stranded import StrandedList
    from kafka_dr.register import RegisterState
    from kafka_dr.register.abandonment import Abandonment
    from kafka_dr.runs.clients import Clients
    from kafka_dr.topology.audited import AuditedFlow

#: Large groups take long to read; this only ends a job that hangs.
_LONGEST = timedelta(hours=6)


def old_cluster(group: str, chosen: str | None) -> Abandonment:
    """Return how the cluster was left that is to become a copy again.

    :param chosen: its name; ``None``: the only one
    :raises KafkaDrError: there is none, or the registers cannot be read
    """
    from kafka_dr.errors import Refused
    from kafka_dr.register.abandonment import abandonment
    from kafka_dr.runs.request import RunRequest
    from kafka_dr.runs.run import Run
    from kafka_dr_airflow.task_clients import open_clients

    with open_clients() as clients:
        run = Run(RunRequest(group, "", target=chosen, verb="failback"), clients)
        if run.register_state is None:
            raise Refused(f"no register has a record of {group}: adopt it first, there is nothing to fail back")
        return abandonment(clients.register(run.source).history(group), run.record(), run.target)


def record_of(group: str) -> RegisterState:
    """Return the record of a group that a failback holds.

    :raises KafkaDrError: there is none, or the registers cannot be read
    """
    from kafka_dr.runs.request import RunRequest
    from kafka_dr.runs.run import Run
    from kafka_dr_airflow.task_clients import open_clients

    with open_clients() as clients:
        return Run(RunRequest(group, "", verb="failback"), clients).record()


class StrandedRecordsOperator(FirstTask, SparkJobOperator):
    """Lists the records of the old cluster that were never replicated, and keeps them below the evidence root.

    The task is green if it finds stranded records, because it has kept them. It is red if it could not make the list.
    """

    operator_extra_links = (StrandedLink(),)

    def __init__(self, **kwargs: Any) -> None:
        defaults = {
            "task_id": "stranded_records",
            "name": "kafka-dr stranded records",
            "retries": 0,
            "execution_timeout": _LONGEST,
        }
        super().__init__(job="stranded_records", **{**defaults, **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> dict[str, Any]:
        """List the records, and return where they are kept."""
        group = context["params"]["protection_group"]
        with plain_errors():
            left = old_cluster(group, context["params"].get("target") or None)
            clusters = read_topology(os.environ).group(group).clusters
        self.application_args = ["--topology", os.environ[TOPOLOGY], "--group", group, "--cluster", left.old]
        with (
            running_step(context, group, "failback", holds=False),
            self.reachable(audit_connections(clusters), encrypts=True),
        ):
            problem = self.submit(context)
        self.report_path = f"stranded/{group}/{left.name}"
        found = _list_of(group, left.name)
        if problem is not None or found is None:
            raise AirflowFailException(f"{group}: unknown: {problem or 'the job ended without a list: see its log'}")
        self.log.info("%s", line(found.sentence))
        return {"verdict": found.verdict, "records": found.records, "list": self.report_path}

    def is_an_answer(self, ended: str) -> bool:
        """Return whether records were found. Exit code 1 alone does not say so: a failed start has it, too."""
        return "Error code is: 1." in ended and any(line.startswith("stranded: ") for line in ended.splitlines())


class FailbackAuditOperator(SparkAuditOperator):
    """Audits the whole flow to the old cluster while the group is diverged; quarantined offsets are left out."""

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "checksum_audit", "retries": 0, "execution_timeout": _LONGEST}
        super().__init__(protection_group="", audit="checksum", **{**defaults, **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> dict[str, str]:
        """Audit the flow and judge the report."""
        self.protection_group = context["params"]["protection_group"]
        with running_step(context, self.protection_group, "failback", holds=True):
            return super().execute(context)

    def arguments(self, params: Mapping[str, Any]) -> list[str]:
        """Return the option for a full audit: records that were verified before the disaster are compared again."""
        return ["--full"]

    def chosen_flow(self, wanted: str | None, clients: Clients) -> AuditedFlow:
        """Return the flow to the old cluster, which its own run holds."""
        from kafka_dr.topology.audited import audited_flow

        with plain_errors():
            state = record_of(self.protection_group)
            return audited_flow(clients.topology, f"{self.protection_group}.{state.active}-to-{state.standby}")


def _list_of(group: str, run: str) -> StrandedList | None:
    from kafka_dr.audit.stranded import StrandedStore, StrandedUnreadable

    root = evidence_root(read_topology(os.environ).evidence)
    try:
        return StrandedStore(root, group, run).read()
    except StrandedUnreadable as error:
        raise AirflowFailException(str(error)) from None
