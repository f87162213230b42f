"""What is looked at on a schedule: one mapped task for each protection group."""

from __future__ import annotations

import os
from abc import abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from kafka_dr.quoting import line
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.topology_file import read_topology

if TYPE_CHECKING:
    from kafka_dr.runs.at_rest import WatchResult
    from kafka_dr.runs.clients import Clients


#: How a task is mapped over the groups. A look is not tried again: the next one comes soon enough.
PER_GROUP: dict[str, Any] = {
    "map_index_template": "{{ task.protection_group }}",
    "retries": 0,
    "execution_timeout": timedelta(minutes=4),
}
#: A cluster that came back takes writes until this has run: only the steps of a failover go before it. And no group
#: keeps the others waiting: the next minute's look begins when all of this one's have ended.
SOON: dict[str, Any] = {"priority_weight": 500, "weight_rule": "absolute"}
WITHIN_THE_MINUTE: dict[str, Any] = {**PER_GROUP, **SOON, "execution_timeout": timedelta(seconds=55)}


class DeclaredGroupsOperator(FirstTask):
    """Names each protection group, for the tasks that are mapped over them; lists every mistake of the topology."""

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "protection_groups", "retries": 0, "execution_timeout": timedelta(minutes=1)}
        super().__init__(**{**defaults, **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> list[str]:
        """Return the names, sorted."""
        with plain_errors():
            return sorted(read_topology(os.environ).protection_groups)


class WatchOperator(BaseOperator):
    """Looks at a protection group; red for what is wrong or unknown, skipped for what is left alone.

    :param protection_group: whose turn it is
    """

    ui_color = "#dfeedd"

    def __init__(self, *, protection_group: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.protection_group = protection_group

    @abstractmethod
    def look(self, clients: Clients) -> WatchResult:
        """Look at the group, and do what is due."""

    @fails_plainly
    def execute(self, context: Any) -> None:
        """Show what was found."""
        from kafka_dr_airflow.connections import open_clients

        with plain_errors(), open_clients() as clients:
            watched = self.look(clients)
        for sentence in watched.sentences:
            self.log.info("%s", line(sentence))
        if watched.outcome == "left_alone":
            raise AirflowSkipException(line(watched.summary))
        if watched.outcome != "ok":
            raise AirflowException(line(watched.summary))


class CanaryOperator(WatchOperator):
    """Sends canaries across the group's flow and judges how they arrive."""

    def look(self, clients: Clients) -> WatchResult:
        """Send, wait, judge."""
        from kafka_dr.watch.canary_check import watch_canary

        return watch_canary(self.protection_group, clients)


class FlowsOperator(WatchOperator):
    """Compares the connectors that exist with what the register asks for, mends them, and sees that they move."""

    def look(self, clients: Clients) -> WatchResult:
        """Compare, mend, measure."""
        from kafka_dr.watch.reconcile_flows import reconcile_flows

        return reconcile_flows(self.protection_group, clients)


class HealthOperator(WatchOperator):
    """Sees that each cluster is what the register says: fences what returned, and names what does not follow."""

    def look(self, clients: Clients) -> WatchResult:
        """Close, prove, name."""
        from kafka_dr.health.health_check import check_health

        return check_health(self.protection_group, clients)
