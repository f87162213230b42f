"""Which groups are audited in one Spark application, and what becomes of the results: before and after the audits."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import BaseOperator, TriggerRule

from kafka_dr_airflow.operators.audited_group import AuditedGroup
from kafka_dr_airflow.operators.flow_audit import is_whole, subject_of, watch_of
from kafka_dr_airflow.operators.kept_results import keep_round
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.rounds import RedGroup, due_groups, shown_rows
from kafka_dr_airflow.topology_file import read_topology

if TYPE_CHECKING:
    from kafka_dr.runs.at_rest import WatchResult
    from kafka_dr.watch_results import WatchOutcome

#: How many groups one Spark application audits. More of them start Spark less often; fewer lose less if it dies.
GROUPS_OF_AN_APPLICATION = 25
#: How many of its audits run at the same time.
SIDE_BY_SIDE = 4
#: Spark's start, the registers before it, and the journaling after it.
_AROUND = timedelta(minutes=10)
#: The id of the task that says which groups are audited together.
SHARES = "shares"


def per_share(*, each: timedelta, longest: timedelta) -> dict[str, Any]:
    """Return how the audits are mapped. An audit is not tried again: the next run starts soon enough.

    :param each: how long the audit of a group may take at least
    :param longest: the most that it may take
    """
    turns = -(-GROUPS_OF_AN_APPLICATION // SIDE_BY_SIDE)
    return {
        "each": each,
        "longest": longest,
        "side_by_side": SIDE_BY_SIDE,
        "map_index_template": "{{ task.share }}",
        "retries": 0,
        # Each task is its own Spark application.
        "max_active_tis_per_dagrun": 2,
        # The application keeps each audit to its own limit; this one is for an application that hangs.
        "execution_timeout": _AROUND + turns * each + longest,
    }


class AuditSharesOperator(FirstTask):
    """Returns which groups are audited in which application, or shows every error of the topology.

    :param audit: ``checksum`` or ``lag``
    """

    def __init__(self, *, audit: str, **kwargs: Any) -> None:
        defaults = {"task_id": SHARES, "retries": 0, "execution_timeout": timedelta(minutes=1)}
        super().__init__(**{**defaults, **kwargs})
        self.audit = audit

    @fails_plainly
    def execute(self, context: Any) -> list[list[str]]:
        """Divide the groups and observed flows that are due; a run that names a flow has only that one."""
        from kafka_dr.rounds.shares import divided

        with plain_errors():
            topology = read_topology(os.environ)
        if wanted := context["params"].get("flow"):
            return [[subject_of(wanted, topology)]]
        groups = due_groups(self.log, topology, watch_of(self.audit), context)
        found = divided(tuple(groups), at_most=GROUPS_OF_AN_APPLICATION)
        self.log.info("%d groups are due: %d Spark applications", len(groups), len(found))
        return [list(share) for share in found]


class AuditResultsOperator(BaseOperator):
    """Collects the results of all applications, keeps them in one file, and returns the groups that need a line.

    It runs whatever became of the applications. A group without a result is unknown; every other result counts.

    :param audit: ``checksum`` or ``lag``
    """

    ui_color = "#dfeedd"

    def __init__(self, *, audit: str, **kwargs: Any) -> None:
        defaults = {
            "task_id": "results",
            # If no group is due, or the first task failed, there is nothing to collect.
            "trigger_rule": TriggerRule.ALL_DONE_MIN_ONE_SUCCESS,
            "retries": 1,
            "retry_delay": timedelta(seconds=5),
            "execution_timeout": timedelta(minutes=2),
        }
        super().__init__(**{**defaults, **kwargs})
        self.audit = audit

    @fails_plainly
    def execute(self, context: Any) -> list[RedGroup]:
        """Collect, keep and show."""
        from kafka_dr.runs.at_rest import WatchResult

        with plain_errors():
            topology = read_topology(os.environ)
        audits, ti, params = f"{self.audit}_audit", context["ti"], context["params"]
        shares: list[list[str]] = ti.xcom_pull(task_ids=SHARES)
        left = ti.xcom_pull(task_ids=audits, map_indexes=range(len(shares)))
        known = {each["group"]: each for share in left if share for each in share}
        silent = f"the task that audited it ended before its audit did: see the log of {audits}"
        found: dict[str, WatchResult] = {}
        for group in (group for share in shares for group in share):
            each = known.get(group)
            found[group] = _result(each) if each else WatchResult(group, "unknown", (silent,))
        scheduled = is_whole(params) and not params.get("flow")
        kept = [each for name, each in found.items() if (known[name]["kept"] if name in known else scheduled)]
        if kept:
            looked_at = {name: datetime.fromisoformat(each["at"]) for name, each in known.items()}
            keep_round(self.log, context, topology, watch=watch_of(self.audit), found=kept, looked_at=looked_at)
        return shown_rows(self.log, context, found)


def _result(found: AuditedGroup) -> WatchResult:
    from kafka_dr.runs.at_rest import WatchResult

    outcome = cast("WatchOutcome", found["outcome"])
    return WatchResult(found["group"], outcome, tuple(found["sentences"]), found["facts"])
