"""The addresses that pages about groups lead to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatusLinks:
    """The addresses that the status page leads to.

    :param airflow: Airflow's first page
    :param dag: the page of a DAG
    :param dag_run: the page of a run of a DAG
    :param evidence: the evidence page of a protection group and a run
    :param group: the page of everything that is kept of a protection group
    :param result: the newest result of a watch for a group
    :param question: where a run of a DAG is answered about a protection group
    :param start: a DAG's form that is filled in for a protection group
    """

    airflow: str
    dag: Callable[[str], str]
    dag_run: Callable[[str, str], str]
    evidence: Callable[[str, str], str]
    group: Callable[[str], str]
    result: Callable[[str, str], str]
    question: Callable[[str, str, str], str]
    start: Callable[[str, str], str]

    def drills(self, group: str) -> str:
        """Return the address of the drills of a protection group."""
        return f"{self.group(group)}#drills"
