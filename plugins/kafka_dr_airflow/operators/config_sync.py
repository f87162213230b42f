"""The config sync of one protection group: plan, apply safe changes, and judge whether the standby can take over."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, TriggerRule, chain, task_group
from airflow.sdk.exceptions import AirflowSkipException

from kafka_dr_airflow.links import EvidenceLink
from kafka_dr_airflow.operators.per_group import WatchOperator
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.receipt import Receipt, perform
from kafka_dr_airflow.sensors.config_approval import ConfigApprovalSensor

if TYPE_CHECKING:
    from kafka_dr.runs.at_rest import WatchResult
    from kafka_dr.runs.clients import Clients

#: No task is tried again: the next run starts soon, with the changes that are left.
ONCE: dict[str, Any] = {
    "map_index_template": "{{ task.protection_group }}",
    "retries": 0,
    "execution_timeout": timedelta(minutes=5),
}


class _OfGroup(BaseOperator):
    """A task about one protection group."""

    ui_color = "#dfeedd"
    template_fields = ("protection_group",)
    operator_extra_links = (EvidenceLink(),)

    def __init__(self, *, protection_group: str, **kwargs: Any) -> None:
        super().__init__(**{**ONCE, **kwargs})
        self.protection_group = protection_group
        self.evidence_kept = True


class ConfigPlanOperator(_OfGroup):
    """Shows how the standby's configuration differs from the active cluster's; skipped while a run holds the group.

    :param protection_group: the group that is planned for
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"task_id": "plan", **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> Receipt | None:
        """Plan, show the plan in the log, and return where it is kept."""
        from kafka_dr.runs.at_rest import WatchResult
        from kafka_dr.watch.config_plan import plan_config
        from kafka_dr_airflow.task_clients import open_clients

        accept = bool(context["params"].get("accept_cluster_ids"))
        with plain_errors(), open_clients() as clients:
            planned = plan_config(self.protection_group, clients, context["run_id"], accept_cluster_ids=accept)
        if isinstance(planned, WatchResult):
            self.evidence_kept = False
            raise AirflowSkipException(planned.summary)
        for line in planned.lines:
            self.log.info("%s", line)
        if (kept := planned.record) is None:
            self.evidence_kept = False
            return None
        return Receipt(outcome=kept.outcome, evidence=kept.evidence, evidence_sha256=kept.evidence_sha256)


class ConfigApplyOperator(_OfGroup):
    """Makes the changes of this run's newest plan, if both clusters are still as the plan shows.

    :param protection_group: the group whose standby is changed
    :param approved: ``True`` makes the changes that need an approval, if there is one; ``False`` only the safe ones
    """

    def __init__(self, *, approved: bool, **kwargs: Any) -> None:
        super().__init__(**{"task_id": "apply" if approved else "apply_safe", **kwargs})
        self.approved = approved

    @fails_plainly
    def execute(self, context: Any) -> Receipt | None:
        """Apply the changes, prove them by reading back, and plan what is left."""
        from kafka_dr.watch.apply_config import apply_config
        from kafka_dr.watch.config_plan import has_safe_changes
        from kafka_dr_airflow.task_clients import open_clients

        group, run = self.protection_group, context["run_id"]
        if not self.approved:
            with plain_errors(), open_clients() as clients:
                wanted = has_safe_changes(group, clients, run)
            if not wanted:
                self.evidence_kept = False
                self.log.info(
                    "Nothing was changed: no safe change is left, or the topology wants an approval for every change."
                )
                return None
        return perform(self.log, lambda clients: apply_config(group, clients, run, approved=self.approved))


class ConfigGateOperator(WatchOperator):
    """Says whether the standby is configured to take over. Red if something differs that must not."""

    template_fields = ("protection_group",)

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "standby_configured", "trigger_rule": TriggerRule.ALL_DONE}
        super().__init__(**{**defaults, **ONCE, **kwargs})

    def look(self, clients: Clients) -> WatchResult:
        """Compare once more, after the safe changes were made."""
        from kafka_dr.watch.config_plan import watch_config

        return watch_config(self.protection_group, clients)


@task_group(group_id="flow", prefix_group_id=False)
def config_sync_flow(protection_group: str) -> None:
    """Return the tasks of one group: plan, apply safe changes, judge the standby, ask about the rest and apply that."""
    plan = ConfigPlanOperator(protection_group=protection_group)
    apply_safe = ConfigApplyOperator(protection_group=protection_group, approved=False)
    configured = ConfigGateOperator(protection_group=protection_group)
    approval = ConfigApprovalSensor(protection_group=protection_group)
    apply = ConfigApplyOperator(protection_group=protection_group, approved=True)

    # People are asked after the safe changes were made: before, the answer would belong to an old plan.
    chain(plan, apply_safe, approval, apply)
    # The standby is judged whether or not they could be made, and without waiting for a person.
    apply_safe >> configured
