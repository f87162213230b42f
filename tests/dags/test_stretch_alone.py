"""The DAG folder of a company that has nothing but a stretch cluster: it loads, and its form works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import ParamValidationError

from kafka_dr.watch_results import STRETCH

ONLY_STRETCHED = "stretch_clusters: {metro: {connection: kafka_metro_observer}}\nevidence: {root: %s}\n"


@pytest.fixture
def judging(parse: Callable[[dict[str, str]], Any], tmp_path: Path) -> Any:
    path = tmp_path / "topology.yaml"
    path.write_text(ONLY_STRETCHED % tmp_path)
    return parse({"KAFKA_DR_TOPOLOGY": str(path)})


def test_every_dag_loads_and_the_cluster_is_looked_at_by_itself(judging: Any) -> None:
    assert judging.import_errors == {}
    dag = judging.dags["dr_stretch"]
    assert dag.timetable.expression == STRETCH.cron(()) == "14 * * * *"
    field = dag.params.get_param("cluster")
    assert field.schema["enum"] == [None, "metro"]
    assert field.resolve("metro") == "metro"
    with pytest.raises(ParamValidationError):
        field.resolve("orders")
    assert judging.dags["dr_observe"].schedule is None
