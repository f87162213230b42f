"""The DAG folder of a company that only observes: it loads, its forms work, and nothing takes an observed flow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import ParamValidationError

from kafka_dr.watch_results import OBSERVATION

#: No protection group, no cluster of one, and one flow that somebody else runs.
ONLY_OBSERVED = """
observed_flows:
  invoices:
    source: {name: berlin, connection: kafka_berlin_observer}
    target: {name: hamburg, connection: kafka_hamburg_observer}
    naming: {policy: default, source_alias: berlin}
    topic_prefixes: [invoices.]
    audits: {}
evidence: {root: %s}
"""
#: What changes something, and its first task.
CHANGING = {
    "dr_adopt": "plan",
    "dr_un_adopt": "preflight",
    "dr_planned_failover": "preflight",
    "dr_unplanned_failover": "gather_evidence",
    "dr_failback": "stranded_records",
    "dr_resume": "resume",
    "dr_drill": "begin",
}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "topology.yaml"
    path.write_text(ONLY_OBSERVED % tmp_path)
    return {"KAFKA_DR_TOPOLOGY": str(path)}


@pytest.fixture
def observing(parse: Callable[[dict[str, str]], Any], environ: dict[str, str]) -> Any:
    return parse(environ)


def test_every_dag_loads_and_the_flow_is_looked_at_by_itself(observing: Any) -> None:
    assert observing.import_errors == {}
    dag = observing.dags["dr_observe"]
    assert dag.timetable.expression == OBSERVATION.cron(()) == "12 */6 * * *"
    field = dag.params.get_param("flow")
    assert field.schema["enum"] == [None, "invoices"]
    assert field.resolve("invoices") == "invoices"
    with pytest.raises(ParamValidationError):
        field.resolve("orders")


@pytest.mark.parametrize("dag_id", ["dr_checksum_audit", "dr_lag_audit"])
def test_a_flow_with_audits_can_be_chosen_and_no_other_direction(observing: Any, dag_id: str) -> None:
    field = observing.dags[dag_id].params.get_param("flow")
    assert field.schema["enum"] == [None, "invoices.berlin-to-hamburg"]


def test_no_form_has_a_choice_of_nothing(observing: Any) -> None:
    empty = [
        (dag_id, name)
        for dag_id, dag in observing.dags.items()
        for name, param in dag.params.items()
        if dag.params.get_param(name).schema.get("enum") == []
    ]
    assert empty == []
    said = observing.dags["dr_adopt"].params.get_param("protection_group")
    assert "declares no protection group" in str(said.description)


@pytest.mark.parametrize("dag_id", CHANGING)
def test_a_dag_that_changes_something_refuses_the_flow_by_name(
    observing: Any, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, dag_id: str
) -> None:
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", environ["KAFKA_DR_TOPOLOGY"])
    dag = observing.dags[dag_id]
    try:
        asked = dag.params.get_param("protection_group").resolve("invoices")
    except ParamValidationError:
        return  # its form does not take the name
    params = dict.fromkeys(dag.params) | {"protection_group": asked, "reason": "a test", "decision": "finish"}
    run = SimpleNamespace(run_after=SimpleNamespace(), conf={}, triggering_user_name="alice")
    context: Any = {"params": params, "run_id": "run-1", "dag_run": run, "dag": dag, "ti": SimpleNamespace()}
    with pytest.raises(SystemExit, match="invoices is an observed flow: it is read and reported about, and"):
        dag.get_task(CHANGING[dag_id]).execute(context)
