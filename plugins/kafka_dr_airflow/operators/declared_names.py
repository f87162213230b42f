"""Names what a DAG looks at, for a task of each: entries of a section of the topology."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from airflow.sdk.exceptions import AirflowSkipException

from kafka_dr.topology.declared import declared
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.topology_file import read_topology


class DeclaredNamesOperator(FirstTask):
    """Returns the names of entries: the one that the run chooses, else every one that the topology declares.

    :param parameter: the parameter of the run that chooses one
    :param section: of the topology
    :param kind: what an entry is called
    :param add: what to add to the topology if there is none; an entry of the section if left out
    """

    ui_color = "#dfeedd"

    def __init__(self, *, parameter: str, section: str, kind: str, add: str = "", **kwargs: Any) -> None:
        super().__init__(**{"retries": 0, "execution_timeout": timedelta(minutes=1), **kwargs})
        self.parameter, self.section, self.kind = parameter, section, kind
        self.add = add or f"one to {section}"

    @fails_plainly
    def execute(self, context: Any) -> list[str]:
        """Return them."""
        with plain_errors():
            found = getattr(read_topology(os.environ), self.section)
            if wanted := context["params"].get(self.parameter):
                declared(found, wanted, kind=self.kind)
                return [str(wanted)]
        if not found:
            raise AirflowSkipException(f"the topology declares no {self.kind}: add {self.add}")
        return sorted(found)
