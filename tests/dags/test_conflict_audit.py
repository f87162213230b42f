"""The conflict audit in Airflow: what Spark is asked for, and that only what is known and good is green."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.models.connection import Connection
from airflow.sdk.api.datamodels._generated import DagRunType

from kafka_dr.watch_results import CONFLICTS, WatchResultStore
from kafka_dr_airflow.operators.conflicts import ConflictAuditOperator
from support.conflict_block import conflict_report, declared_block
from support.spark_stand_in import PASSWORD, stand_in


@pytest.fixture
def declared(tmp_path: Path, lab_environ: dict[str, str]) -> Path:
    """Return the lab's topology with a block whose conflicts are audited."""
    return declared_block(Path(lab_environ["KAFKA_DR_TOPOLOGY"]), tmp_path)


@pytest.fixture
def audit(
    tmp_path: Path, declared: Path, lab_environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Return what runs the task, with a spark-submit that only says what it was given."""
    key = Connection(conn_id="kafka_dr_encryption", conn_type="generic", login="key-1", password="ab" * 32)
    stand_in(tmp_path, {**lab_environ, "KAFKA_DR_TOPOLOGY": str(declared)}, monkeypatch, connect=[key])

    runs = count()

    def run(code: int, found: Mapping[str, Any] | None, says: str = "", **params: Any) -> Any:
        for name, value in (("ENDS", str(code)), ("REPORT", json.dumps(found) if found else ""), ("SAYS", says)):
            monkeypatch.setenv(name, value)
        context: Any = {
            "params": {"block": None, "topic": None, "full": False, **params},
            "run_id": f"manual__{next(runs)}",
            "ti": SimpleNamespace(try_number=1, max_tries=0),
            "dag_run": SimpleNamespace(run_type=DagRunType.MANUAL),
        }
        return ConflictAuditOperator(block="shop").execute(context)

    return run


def kept(folder: Path) -> Any:
    return WatchResultStore(folder / "lab" / "evidence").read("shop", CONFLICTS.name)


def test_the_dag_loads_and_looks_by_itself_where_a_block_asks_for_it(
    parse: Callable[[dict[str, str]], Any], declared: Path, lab_environ: dict[str, str], bag: Any
) -> None:
    found = parse({**lab_environ, "KAFKA_DR_TOPOLOGY": str(declared)})
    assert found.import_errors == {}
    dag = found.dags["dr_conflict_audit"]
    assert dag.timetable.expression == CONFLICTS.cron(()) == "11 * * * *"
    assert [task.task_id for task in dag.topological_sort()] == ["blocks", "audit"]
    assert dag.params.get_param("block").schema["enum"] == [None, "shop"]
    assert bag.dags["dr_conflict_audit"].schedule is None


def test_spark_is_asked_for_one_block_without_a_secret_among_the_arguments(
    audit: Callable[..., Any], tmp_path: Path
) -> None:
    assert audit(0, conflict_report(), full=True)["verdict"] == "ok"
    seen = json.loads((tmp_path / "seen.json").read_text())
    asked = seen["argv"][seen["argv"].index("--topology") :]
    assert asked[2:4] == ["--block", "shop"]
    assert asked[6:] == ["--full"]
    assert PASSWORD not in json.dumps(seen["argv"])
    assert set(json.loads(seen["content"])) == {"kafka_east_audit", "kafka_west_audit", "kafka_dr_encryption"}
    audit(0, conflict_report(), topic="baskets")
    assert json.loads((tmp_path / "seen.json").read_text())["argv"][-2:] == ["--topics", "baskets"]


@pytest.mark.parametrize(
    ("code", "found", "says", "outcome"),
    [
        (0, conflict_report(), "", "ok"),
        (0, conflict_report("possible"), "", "warning"),
        (1, conflict_report("certain"), "findings: 3 certain", "failed"),
        (2, conflict_report("possible", expired=4), "unknown: 4 expired", "unknown"),
        (2, conflict_report("possible"), "unknown: the storage refuses", "unknown"),
        (2, None, "unknown: west does not answer", "unknown"),
        (1, None, "", "unknown"),
    ],
)
def test_the_result_is_kept_and_only_what_is_known_and_not_certain_is_green(
    audit: Callable[..., Any], tmp_path: Path, code: int, found: Any, says: str, outcome: str
) -> None:
    if outcome in ("ok", "warning"):
        answer = audit(code, found, says)
        page = (tmp_path / "lab" / "evidence" / answer["report"]).with_name("report.html").read_text()
        assert found["sentence"].split(";")[0] in page
    else:
        with pytest.raises(SystemExit, match="shop"):
            audit(code, found, says)
    assert kept(tmp_path).outcome == outcome
    if found is not None:
        assert kept(tmp_path).facts["certain"] == found["certain"]
    if "refuses" in says:
        assert "was not kept: the storage refuses" in kept(tmp_path).sentences[0]


def test_an_audit_of_one_topic_does_not_speak_for_the_block(audit: Callable[..., Any], tmp_path: Path) -> None:
    audit(0, conflict_report(), topic="baskets")
    assert kept(tmp_path) is None
