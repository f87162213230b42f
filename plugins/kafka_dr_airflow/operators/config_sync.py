"""The config sync: plan for every group, apply safe changes, judge the standby; then ask about the other changes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import BaseOperator, chain, task_group

from kafka_dr_airflow.links import EvidenceLink
from kafka_dr_airflow.operators.plain_failure import fails_plainly
from kafka_dr_airflow.operators.receipt import Receipt, perform
from kafka_dr_airflow.operators.rounds import RedGroup, RoundOperator
from kafka_dr_airflow.sensors.config_approval import ConfigApprovalSensor

#: No task is tried again: the next run starts soon, with the changes that are left.
ONCE: dict[str, Any] = {
    "map_index_template": "{{ task.protection_group }}",
    "retries": 0,
    "execution_timeout": timedelta(minutes=5),
}


class ConfigSyncRound(RoundOperator):
    """Shows how each standby's configuration differs, makes the safe changes, and judges whether it can take over."""

    watch, look = "config_sync", "kafka_dr.rounds.looks:config_sync"
    seconds = 300.0

    def settings(self, context: Any) -> dict[str, Any]:
        """Return whether other cluster ids are accepted."""
        return {"accept_cluster_ids": bool(context["params"].get("accept_cluster_ids"))}


class ConfigApplyOperator(BaseOperator):
    """Makes the approved changes of this run's newest plan, if both clusters are still as the plan shows.

    :param row: what the round said of the group whose standby is changed
    """

    ui_color = "#dfeedd"
    template_fields = ("row",)
    operator_extra_links = (EvidenceLink(),)

    def __init__(self, *, row: RedGroup, **kwargs: Any) -> None:
        super().__init__(**{"task_id": "apply", **ONCE, **kwargs})
        self.row = row
        self.evidence_kept = True

    @property
    def protection_group(self) -> str:
        """The group whose standby is changed."""
        return self.row["protection_group"]

    @fails_plainly
    def execute(self, context: Any) -> Receipt | None:
        """Apply the changes, prove them by reading back, and plan what is left."""
        from kafka_dr.watch.apply_config import apply_config

        group, run = self.protection_group, context["run_id"]
        return perform(self.log, lambda clients: apply_config(group, clients, run, approved=True))


@task_group(group_id="ask", prefix_group_id=False)
def ask_and_apply(row: RedGroup) -> None:
    """Return the tasks of one group about whose changes somebody has to be asked."""
    chain(ConfigApprovalSensor(row=row), ConfigApplyOperator(row=row))
