"""Refuses parameters with unknown names: Airflow would accept them, and no task would read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from kafka_dr.quoting import line
from kafka_dr_airflow.operators.plain_failure import fails_plainly


class FirstTask(BaseOperator):
    """An operator that may be the first task of a run. If it is, it refuses parameters that the DAG does not have.

    Airflow refuses values of a wrong type and accepts unknown names: ``{"dryrun": true}`` would start a real run. Later
    tasks do not check this: a run that has begun must be finished or rolled back.
    """

    @fails_plainly
    def pre_execute(self, context: Any) -> None:
        """Check the parameters before anything else is done."""
        super().pre_execute(context)
        if self.upstream_task_ids:
            return
        given = context["dag_run"].conf or {}
        if sentence := misread(given, known=set(context["dag"].params), carried=context["params"]):
            raise AirflowFailException(f"{context['dag'].dag_id} was triggered with {sentence}. Nothing was changed")


def misread(given: Mapping[str, Any], *, known: Collection[str], carried: Mapping[str, Any]) -> str:
    """Say which of the given parameters no task would read; empty if there is none.

    :param given: the parameters that the run was triggered with
    :param known: the names of the DAG's parameters
    :param carried: the parameters as the tasks read them
    """
    if unknown := sorted(set(given) - set(known)):
        named = "; ".join(_with_nearest(name, known) for name in unknown)
        may = f"it has {', '.join(sorted(known))}" if known else "it has none"
        word = "a parameter" if len(unknown) == 1 else "parameters"
        return f"{word} that it does not have: {named} ({may})"
    if lost := sorted(name for name in given if carried.get(name) != given[name]):
        setting = "core.dag_run_conf_overrides_params"
        return f"{', '.join(lost)}, which Airflow does not hand to its tasks: set {setting} to True"
    return ""


def _with_nearest(name: str, known: Collection[str]) -> str:
    by_letters = {_letters(each): each for each in known}
    found = get_close_matches(_letters(name), by_letters, n=1, cutoff=0.5)
    shown = f"'{line(name)}'"
    return f"{shown}, did you mean '{by_letters[found[0]]}'?" if found else shown


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))
