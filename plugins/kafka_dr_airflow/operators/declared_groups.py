"""The protection groups of the topology, at run time."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly
from kafka_dr_airflow.operators.receipt import plain_errors
from kafka_dr_airflow.trigger_forms import read_topology


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
