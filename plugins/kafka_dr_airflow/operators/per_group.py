"""Tasks that run on a schedule, one for each protection group."""

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


#: How a task is mapped over the groups. It is not tried again: the next run starts soon enough.
PER_GROUP: dict[str, Any] = {
    "map_index_template": "{{ task.protection_group }}",
    "retries": 0,
    "execution_timeout": timedelta(minutes=4),
}
#: A cluster that returned accepts writes until such a task has run, so only the steps of a failover go first. The next
#: run starts when all groups of this one have ended, so no group may take longer than a minute.
SOON: dict[str, Any] = {"priority_weight": 500, "weight_rule": "absolute"}
WITHIN_THE_MINUTE: dict[str, Any] = {**PER_GROUP, **SOON, "execution_timeout": timedelta(seconds=55)}


class DeclaredGroupsOperator(FirstTask):
    """Returns the declared protection groups for the mapped tasks, or shows every error of the topology."""

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "protection_groups", "retries": 0, "execution_timeout": timedelta(minutes=1)}
        super().__init__(**{**defaults, **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> list[str]:
        """Return the names, sorted."""
        with plain_errors():
            return sorted(read_topology(os.environ).protection_groups)


class WatchOperator(BaseOperator):
    """Checks one protection group: red if something is wrong or unknown, skipped if nothing was to be checked.

    :param protection_group: the group that is checked
    """

    ui_color = "#dfeedd"

    def __init__(self, *, protection_group: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.protection_group = protection_group

    @abstractmethod
    def look(self, clients: Clients) -> WatchResult:
        """Check the group, and correct what the watch may correct."""

    def at_its_limit(self) -> str:
        """Say what is known of a group whose check ran out of time, and what to do."""
        return (
            f"{self.protection_group} is unknown. The next run checks it again; if that takes too long, too, look at "
            "the load of this worker, and at what the log above shows last"
        )

    @fails_plainly
    def execute(self, context: Any) -> None:
        """Run the check and show what was found."""
        from kafka_dr_airflow.task_clients import open_clients

        with plain_errors(), open_clients() as clients:
            watched = self.look(clients)
        for sentence in watched.sentences:
            self.log.info("%s", line(sentence))
        if watched.outcome == "left_alone":
            raise AirflowSkipException(line(watched.summary))
        if watched.outcome != "ok":
            raise AirflowException(line(watched.summary))


class CanaryOperator(WatchOperator):
    """Sends canary records through the flow of the group and judges how they arrive."""

    def look(self, clients: Clients) -> WatchResult:
        """Send, wait and judge."""
        from kafka_dr.watch.canary_check import watch_canary

        return watch_canary(self.protection_group, clients)


class FlowsOperator(WatchOperator):
    """Compares the connectors with what the register requires, corrects them, and checks that they make progress."""

    def look(self, clients: Clients) -> WatchResult:
        """Compare, correct and measure."""
        from kafka_dr.watch.reconcile_flows import reconcile_flows

        return reconcile_flows(self.protection_group, clients)


class HealthOperator(WatchOperator):
    """Checks that each cluster is in the role that the register says. Fences a cluster that returned."""

    def look(self, clients: Clients) -> WatchResult:
        """Fence what returned, and name what differs from the register."""
        from kafka_dr.health.health_check import check_health

        return check_health(self.protection_group, clients)
