"""The audits' tasks: how they hang together, what they ask Spark for, and that no secret is part of it."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from airflow.models.connection import Connection
from airflow.sdk import AssetAlias, TriggerRule
from airflow.sdk.api.datamodels._generated import DagRunType
from airflow.sdk.exceptions import AirflowTaskTimeout

from kafka_dr.watch_results import WATCHES
from kafka_dr_airflow.operators.audit_shares import GROUPS_OF_AN_APPLICATION
from kafka_dr_airflow.operators.flow_audit import watch_of
from kafka_dr_airflow.operators.rounds import RedGroupOperator
from kafka_dr_airflow.operators.shared_audits import SharedAuditsOperator
from kafka_dr_airflow.operators.spark_audit import SparkAuditOperator
from kafka_dr_airflow.secrets_file import SecretsFile
from support.spark_stand_in import PASSWORD, stand_in

DAGS = {"dr_lag_audit": "lag", "dr_checksum_audit": "checksum"}


@pytest.fixture
def spark(tmp_path: Path, lab_environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Spark]:
    """A machine with connections, a topology of the test's own, and a spark-submit that only says what it was given."""
    connect = Connection(conn_id="connect_west", conn_type="http", host="127.0.0.1", port=8083, password=PASSWORD)
    connect.login = "someone"
    stand_in(tmp_path, lab_environ, monkeypatch, connect=[connect])
    found = Spark(tmp_path, monkeypatch)
    found.ends(0, {"verdict": "ok", "sentence": "Nothing waits.", "at": "2026-03-01T12:00:00+00:00"})
    yield found
    monkeypatch.setattr("tempfile.tempdir", None)


class Spark:
    """What the replacement of spark-submit was given, and what it saw."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, patch
        self.added: list[str] = []
        self.started_by = DagRunType.MANUAL

    def ends(self, code: int, report: object = None, says: str = "") -> None:
        text = report if isinstance(report, str) else json.dumps(report) if report is not None else ""
        for name, value in (("ENDS", str(code)), ("REPORT", text), ("SAYS", says)):
            self._patch.setenv(name, value)

    @property
    def seen(self) -> Any:
        return json.loads((self._folder / "seen.json").read_text())

    @property
    def submitted(self) -> bool:
        try:
            return bool(self.seen)
        except (OSError, ValueError):
            return False

    @property
    def files(self) -> list[str]:
        return [path.name for path in self._folder.glob("kafka-dr-secrets-*")]

    def run(self, audit: str = "lag", **params: object) -> dict[str, str]:
        outlets = [AssetAlias("verified")]
        operator = SparkAuditOperator(task_id="audit", protection_group="orders", audit=audit, outlets=outlets)
        return operator.execute(self.context(operator, {"flow": "orders.east-to-west", **params}))

    def context(self, operator: SparkAuditOperator, params: Mapping[str, object]) -> dict[str, Any]:
        events = SimpleNamespace(add=lambda asset, extra: self.added.append(f"{asset.uri} {extra['at']}"))
        ti = SimpleNamespace(try_number=1, max_tries=0)
        return {
            "params": params,
            "run_id": "manual__1",
            "ti": ti,
            "outlet_events": dict.fromkeys(operator.outlets, events),
            "dag_run": SimpleNamespace(run_type=self.started_by),
        }


@pytest.mark.parametrize(("dag_id", "audit"), DAGS.items())
def test_groups_share_applications_and_a_red_one_has_a_line_of_its_own(bag: Any, dag_id: str, audit: str) -> None:
    dag = bag.dags[dag_id]
    tasks = {task.task_id: task for task in dag.tasks}
    assert [task.task_id for task in dag.topological_sort()] == ["shares", f"{audit}_audit", "results", "red"]
    audits, results, red = tasks[f"{audit}_audit"], tasks["results"], tasks["red"]
    assert audits.is_mapped
    assert issubclass(audits.operator_class, SharedAuditsOperator)
    assert (audits.partial_kwargs["audit"], audits.partial_kwargs["retries"]) == (audit, 0)
    assert red.is_mapped
    assert issubclass(red.operator_class, RedGroupOperator)
    assert results.upstream_task_ids == {"shares", f"{audit}_audit"}
    # It also collects what applications have left that were killed, and does nothing if no group is due.
    assert results.trigger_rule == TriggerRule.ALL_DONE_MIN_ONE_SUCCESS
    assert red.trigger_rule == audits.trigger_rule == TriggerRule.ALL_SUCCESS


@pytest.mark.parametrize("dag_id", DAGS)
def test_an_application_has_time_for_all_its_audits_to_reach_their_limit(bag: Any, dag_id: str) -> None:
    task = bag.dags[dag_id].get_task(f"{DAGS[dag_id]}_audit")
    given = task.partial_kwargs
    turns = math.ceil(GROUPS_OF_AN_APPLICATION / given["side_by_side"])
    assert task.execution_timeout > turns * given["each"] + given["longest"]
    assert given["each"] <= given["longest"]
    # A group that hangs delays the next look at the others by this much at most.
    assert given["each"] < 2 * WATCHES[watch_of(DAGS[dag_id])].every
    assert task.max_active_tis_per_dagrun


def test_the_forms_offer_every_direction(bag: Any) -> None:
    for dag_id in DAGS:
        param = bag.dags[dag_id].params.get_param("flow")
        assert param.schema["enum"] == [None, "orders.east-to-west", "orders.west-to-east"]


def test_the_job_learns_of_connections_from_a_private_file_that_is_gone_afterwards(spark: Spark) -> None:
    spark.run()
    seen = spark.seen
    assert seen["mode"] == stat.S_IRUSR | stat.S_IWUSR
    content = json.loads(seen["content"])
    assert set(content) == {"kafka_east_audit", "kafka_west_audit"}, "a job gets no login of Connect"
    assert content["kafka_east_audit"]["sasl.password"] == PASSWORD
    assert not Path(seen["secrets"]).exists()
    assert spark.files == []
    assert "KAFKA_DR_SECRETS_FILE" not in os.environ


@pytest.mark.parametrize("started_by", [DagRunType.SCHEDULED, DagRunType.BACKFILL, DagRunType.ASSET_TRIGGERED])
def test_a_job_that_nobody_waits_for_gives_way_to_a_failover_on_the_same_machine(
    spark: Spark, started_by: DagRunType
) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    spark.started_by = started_by
    spark.run()
    assert spark.seen["niceness"] > before
    assert os.getpriority(os.PRIO_PROCESS, 0) in (before, spark.seen["niceness"])


@pytest.mark.parametrize("started_by", [DagRunType.MANUAL, DagRunType.OPERATOR_TRIGGERED])
def test_a_job_that_somebody_waits_for_gives_way_to_nothing(spark: Spark, started_by: DagRunType) -> None:
    spark.started_by = started_by
    spark.run()
    assert spark.seen["niceness"] == os.getpriority(os.PRIO_PROCESS, 0)


def test_no_secret_is_an_argument_a_setting_or_a_rendered_field(spark: Spark) -> None:
    operator = SparkAuditOperator(task_id="audit", protection_group="orders", audit="lag")
    operator.execute(spark.context(operator, {"flow": "orders.east-to-west"}))
    rendered = {field: getattr(operator, field) for field in operator.template_fields}
    assert PASSWORD not in json.dumps(rendered)
    assert operator.env_vars is None
    assert not operator.conf
    seen = spark.seen
    assert PASSWORD not in json.dumps(seen["argv"])
    inherited = {name: value for name, value in seen["environ"].items() if not name.startswith("AIRFLOW_CONN_")}
    assert PASSWORD not in json.dumps(inherited)


def test_spark_is_asked_for_the_flow_and_where_its_report_belongs(spark: Spark, tmp_path: Path) -> None:
    left = spark.run()
    assert left["verdict"] == "ok"
    assert re.fullmatch(r"audits/orders/lag/east-to-west/\d{8}T\d{6}Z\.manual__1\.1/report\.json", left["report"])
    argv = spark.seen["argv"]
    assert argv[:2] == ["--master", "local[1]"]
    job = next(number for number, each in enumerate(argv) if each.endswith("/spark/jobs/lag_audit.py"))
    assert argv[job + 1 :] == [
        *("--topology", os.environ["KAFKA_DR_TOPOLOGY"], "--flow", "orders.east-to-west"),
        *("--out", f"{tmp_path}/lab/evidence/{left['report'].removesuffix('/report.json')}"),
    ]


def test_what_the_form_says_reaches_the_checksum_audit(spark: Spark) -> None:
    spark.run("checksum", full=True, topics=["orders.a", "orders.b"], since="2026-03-01T00:00:00Z", until=None)
    argv = spark.seen["argv"]
    assert argv[argv.index("--full") :] == [
        "--full",
        "--topics",
        "orders.a",
        "orders.b",
        "--since",
        "2026-03-01T00:00:00Z",
    ]


def test_a_range_of_offsets_reaches_the_checksum_audit(spark: Spark) -> None:
    spark.run("checksum", offsets=["orders.a-0:10-20", "orders.b-1:5-"])
    assert spark.seen["argv"][-3:] == ["--offsets", "orders.a-0:10-20", "orders.b-1:5-"]


def test_a_good_verdict_is_an_event_of_the_flows_asset(spark: Spark) -> None:
    spark.run("checksum")
    assert spark.added == ["kafka-dr://orders/east-to-west/checksum 2026-03-01T12:00:00+00:00"]


@pytest.mark.parametrize(
    "part",
    [
        {"topics": ["orders.a"]},
        {"since": "2026-03-01T00:00:00Z"},
        {"until": "2026-03-01T00:00:00Z"},
        {"offsets": ["orders.a-0:10-20"]},
    ],
)
def test_a_good_verdict_on_a_part_of_the_flow_is_no_event(spark: Spark, part: dict[str, object]) -> None:
    assert spark.run("checksum", **part)["verdict"] == "ok"
    assert spark.added == []


def test_a_finding_is_red_with_the_reports_sentence_and_no_event(spark: Spark) -> None:
    spark.ends(1, {"verdict": "findings", "sentence": "2 records are lost.", "findings": [{"sentence": "lost: 7"}]})
    with pytest.raises(SystemExit, match=r"orders\.east-to-west: findings: 2 records are lost\."):
        spark.run("checksum")
    assert spark.added == []
    assert spark.files == []


@pytest.mark.parametrize("report", [None, "{", "[]", "{}"])
def test_an_audit_that_could_not_judge_is_red_and_unknown(spark: Spark, report: str | None) -> None:
    spark.ends(2, report, says="WARN something\nunknown: west does not answer.\nWARN closing")
    with pytest.raises(SystemExit, match=r"orders\.east-to-west: unknown: west does not answer\.$"):
        spark.run()
    assert spark.added == []


def test_an_audit_that_ends_well_without_a_report_is_unknown(spark: Spark) -> None:
    spark.ends(0, None)
    with pytest.raises(SystemExit, match="unknown: the audit ended without a report"):
        spark.run()


def test_a_good_report_of_a_job_that_failed_is_not_good(spark: Spark) -> None:
    spark.ends(137, {"verdict": "ok", "sentence": "Nothing waits."})
    with pytest.raises(SystemExit, match=r"unknown: Spark ended the job \(exit code 137\) without an answer"):
        spark.run()
    assert spark.added == []


def test_a_task_that_is_killed_leaves_no_file(spark: Spark, tmp_path: Path) -> None:
    operator = SparkAuditOperator(task_id="audit", protection_group="orders", audit="lag")
    with operator.reachable(("kafka_east_audit", "kafka_west_audit")):
        assert len(spark.files) == 1
        operator.on_kill()
        assert spark.files == []


def test_an_audit_that_reaches_its_limit_says_so_in_a_sentence_and_ends_its_driver(
    spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANGS", "600")
    limit = timedelta(minutes=4)
    operator = SparkAuditOperator(task_id="audit", protection_group="orders", audit="lag", execution_timeout=limit)
    driver: list[int] = []

    def expire(*_: object) -> None:
        # What Airflow does when the limit is reached.
        raise AirflowTaskTimeout("Timeout")

    def submitted() -> None:
        """Let the limit be reached as soon as the driver runs."""
        while not spark.submitted:
            time.sleep(0.05)
        driver.append(spark.seen["driver"])
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, expire)
    try:
        Thread(target=submitted, daemon=True).start()
        with pytest.raises(SystemExit) as ended:
            operator.execute(spark.context(operator, {"flow": "orders.east-to-west"}))
    finally:
        signal.signal(signal.SIGUSR1, before)
    said = str(ended.value)
    assert said.startswith("audit was ended after 4 min, its time limit (execution_timeout), and had not finished: its")
    assert "The next run asks again" in said
    assert ended.value.__cause__ is None
    assert spark.files == []
    assert psutil.wait_procs(_running(driver), timeout=60)[1] == []


def _running(pids: Iterable[int]) -> list[psutil.Process]:
    return [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]


def test_the_file_of_a_killed_task_is_removed_by_the_next_task(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    orphan, living = (
        tmp_path / f"kafka-dr-secrets-{gone.pid}-x.json",
        tmp_path / f"kafka-dr-secrets-{os.getpid()}-y.json",
    )
    for path in (orphan, living):
        path.touch()
    with SecretsFile({}, folder=tmp_path):
        assert not orphan.exists()
        assert living.exists()


@pytest.mark.parametrize(("dag_id", "audit"), DAGS.items())
def test_assets_are_published_through_an_alias_that_airflow_knows_before_the_task_runs(
    bag: Any, dag_id: str, audit: str
) -> None:
    """An alias that only the unmapped task has is none to Airflow: its events would be dropped."""
    task = bag.dags[dag_id].get_task(f"{audit}_audit")
    assert task.partial_kwargs["outlets"] == [AssetAlias(f"kafka_dr_{audit}_audit")]
