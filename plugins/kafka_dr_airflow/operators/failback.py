"""What Spark does for a failback: the list of stranded records, and the audit of everything that was copied home."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException

from kafka_dr.quoting import line
from kafka_dr_airflow.links import StrandedLink
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.spark_audit import SparkAuditOperator
from kafka_dr_airflow.operators.spark_job import SparkJobOperator
from kafka_dr_airflow.topology_file import TOPOLOGY, evidence_root, read_topology

if TYPE_CHECKING:
    from kafka_dr.audit.stranded import StrandedList
    from kafka_dr.register import RegisterState
    from kafka_dr.replication import Flow

#: Reading a large group takes as long as it takes.
_LONGEST = timedelta(hours=6)


def standing(group: str) -> tuple[RegisterState, str]:
    """Return how a group stands, and which unplanned run left its standby.

    :raises KafkaDrError: no side of it was left, or the registers cannot be read
    """
    from kafka_dr.errors import Refused
    from kafka_dr.register.abandonment import abandonment
    from kafka_dr.runs.group_context import GroupContext
    from kafka_dr_airflow.connections import open_clients

    with open_clients() as clients:
        state = GroupContext(group, clients).read_register_state()
        if state is None:
            raise Refused(f"no register has a record of {group}: nothing was left behind")
        return state, abandonment(clients.register(state.active).history(group), state).run


class StrandedRecordsOperator(FirstTask, SparkJobOperator):
    """Lists what the side that was left holds and never crossed, and keeps it below the evidence root.

    Records that are found are no reason to be red: they are kept, which is what this is for. A list that could not be
    made is.
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
        """List the records, and say where they are."""
        group = context["params"]["protection_group"]
        with plain_errors():
            _, run = standing(group)
            both = read_topology(os.environ).group(group).clusters
        self.application_args = ["--topology", os.environ[TOPOLOGY], "--group", group]
        with self.reachable(logs=both, connect=both):
            problem = self.submit(context)
        self.report_place = f"stranded/{group}/{run}"
        found = _list_of(group, run)
        if problem is not None or found is None:
            raise AirflowFailException(f"{group}: unknown: {problem or 'the job ended without a list'}")
        self.log.info("%s", line(found.sentence))
        return {"verdict": found.verdict, "records": found.records, "list": self.report_place}

    def is_an_answer(self, ended: str) -> bool:
        """Return whether records were found; Java and Python end with 1 as well, when they cannot even begin."""
        return "Error code is: 1." in ended and any(line.startswith("stranded: ") for line in ended.splitlines())


class FailbackAuditOperator(SparkAuditOperator):
    """Audits the flow home, all of it, while the group is still diverged; offsets that stay aside are left out."""

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "checksum_audit", "retries": 0, "execution_timeout": _LONGEST}
        super().__init__(protection_group="", audit="checksum", **{**defaults, **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> dict[str, str]:
        """Audit the flow and judge the report; a dry run has copied nothing."""
        if context["params"].get("dry_run"):
            self.log.info("Dry run: nothing was copied, so nothing is audited.")
            return {}
        self.protection_group = context["params"]["protection_group"]
        return super().execute(context)

    def arguments(self, params: Mapping[str, Any]) -> list[str]:
        """Everything is compared, also what was verified before the disaster."""
        return ["--full"]

    def _flow(self, wanted: str | None) -> Flow:
        from kafka_dr.replication import Flow

        with plain_errors():
            state, _ = standing(self.protection_group)
        return Flow(self.protection_group, state.active, state.standby)


def _list_of(group: str, run: str) -> StrandedList | None:
    from kafka_dr.audit.stranded import StrandedStore, StrandedUnreadable

    root = evidence_root(read_topology(os.environ).evidence.root)
    try:
        return StrandedStore(root, group, run).read()
    except StrandedUnreadable as error:
        raise AirflowFailException(str(error)) from None
