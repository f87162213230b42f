"""The config sync of one protection group: plan, apply what is safe, ask for the rest, and say whether it will do."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, TriggerRule
from airflow.sdk.exceptions import AirflowSkipException

from kafka_dr_airflow.links import EvidenceLink
from kafka_dr_airflow.operators.per_group import WatchOperator
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.receipt import Receipt, perform

if TYPE_CHECKING:
    from kafka_dr.runs.at_rest import WatchResult
    from kafka_dr.runs.clients import Clients

#: A look or a change is not tried again: the next run comes soon, and begins with what is left.
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
    """Shows what differs between the active cluster and the standby; skipped for a group that does not stand still.

    :param protection_group: whose turn it is
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"task_id": "plan", **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> Receipt | None:
        """Plan, show the plan, and say where it is kept."""
        from kafka_dr.runs.at_rest import WatchResult
        from kafka_dr.watch.config_changes import plan_config
        from kafka_dr_airflow.connections import open_clients

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
    """Makes the changes of this run's newest plan, if both clusters still are as it shows.

    :param protection_group: whose turn it is
    :param approved: whether to make what needs an approval as well, which needs one; else only what is safe
    """

    def __init__(self, *, approved: bool, **kwargs: Any) -> None:
        super().__init__(**{"task_id": "apply" if approved else "apply_safe", **kwargs})
        self.approved = approved

    @fails_plainly
    def execute(self, context: Any) -> Receipt | None:
        """Apply, prove by reading back, and plan what is left."""
        from kafka_dr.watch.config_changes import apply_config, has_safe_changes
        from kafka_dr_airflow.connections import open_clients

        group, run = self.protection_group, context["run_id"]
        if not self.approved:
            with plain_errors(), open_clients() as clients:
                wanted = has_safe_changes(group, clients, run)
            if not wanted:
                self.evidence_kept = False
                self.log.info("Nothing is changed without asking: no safe change is left, or the topology wants none.")
                return None
        return perform(self.log, lambda clients: apply_config(group, clients, run, approved=self.approved))


class ConfigGateOperator(WatchOperator):
    """Says whether the standby is configured to take over; red where something that must match does not."""

    template_fields = ("protection_group",)

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "standby_configured", "trigger_rule": TriggerRule.ALL_DONE}
        super().__init__(**{**defaults, **ONCE, **kwargs})

    def look(self, clients: Clients) -> WatchResult:
        """Compare once more, with what was just applied."""
        from kafka_dr.watch.config_changes import watch_config

        return watch_config(self.protection_group, clients)
