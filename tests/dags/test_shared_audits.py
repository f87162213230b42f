"""Audits of many groups as one task: one submit, a result for each group, and a red line for each red one."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import AssetAlias
from airflow.sdk.exceptions import AirflowTaskTimeout

from kafka_dr.topology.audited import audited_flow
from kafka_dr.watch_results import KeptResult, WatchResultStore
from kafka_dr_airflow.operators.audit_shares import (
    GROUPS_OF_AN_APPLICATION,
    AuditResultsOperator,
    AuditSharesOperator,
)
from kafka_dr_airflow.operators.audited_group import AuditedGroup
from kafka_dr_airflow.operators.flow_audit import FlowAudit
from kafka_dr_airflow.operators.rounds import RedGroupOperator
from kafka_dr_airflow.operators.shared_audits import SharedAuditsOperator
from kafka_dr_airflow.topology_file import read_topology
from lab.bench.many_groups import written as many_groups_declared
from support.spark_stand_in import stand_in

GOOD = (0, "equal: all of it", {"verdict": "equal", "sentence": "all of it", "at": "2026-03-01T12:00:00+00:00"})
LOST = (1, "findings: 2 records", {"verdict": "findings", "sentence": "2 records are lost."})
SILENT = (2, "west does not answer", None)


@pytest.fixture
def spark(tmp_path: Path, lab_environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[SharedSpark]:
    stand_in(tmp_path, lab_environ, monkeypatch, connect=[])
    yield SharedSpark(tmp_path, monkeypatch)
    monkeypatch.setattr("tempfile.tempdir", None)


class SharedSpark:
    """A spark-submit that ends each audit as it is given."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, patch
        self.added: list[str] = []
        self.left: list[list[AuditedGroup]] = []

    def operator(self, ending: Any = None, *, audit: str = "checksum", ends: int = 0, **kwargs: Any) -> Any:
        given = {} if ending is None else {audit: ending}
        for name, value in (("GIVEN", json.dumps(given)), ("ENDS", str(ends)), ("SAYS", "something")):
            self._patch.setenv(name, value)
        return SharedAuditsOperator(
            task_id="audits",
            protection_groups=["orders"],
            audit=audit,
            outlets=[AssetAlias("verified")],
            each=timedelta(minutes=20),
            longest=timedelta(hours=6),
            **kwargs,
        )

    def run(self, ending: Any = None, *, audit: str = "checksum", ends: int = 0, **params: object) -> AuditedGroup:
        (found,) = self.execute(self.operator(ending, audit=audit, ends=ends), **params)
        return found

    def execute(self, operator: Any, **params: object) -> list[AuditedGroup]:
        events = SimpleNamespace(add=lambda asset, extra: self.added.append(f"{asset.uri} {extra['at']}"))
        ti = SimpleNamespace(try_number=1, max_tries=0, xcom_push=lambda *, key, value: self.left.append(value))
        found: list[AuditedGroup] = operator.execute(
            {
                "params": {"flow": "orders.east-to-west", **params},
                "run_id": "manual__1",
                "dag_run": SimpleNamespace(run_type="manual"),
                "ti": ti,
                "outlet_events": dict.fromkeys(operator.outlets, events),
            }
        )
        return found

    @property
    def seen(self) -> Any:
        return json.loads((self._folder / "seen.json").read_text())

    @property
    def asked(self) -> Any:
        return json.loads((self._folder / "seen.json.requests").read_text())


def test_one_submit_asks_for_every_audit(spark: SharedSpark, tmp_path: Path) -> None:
    left = spark.run(GOOD, full=True)
    (asked,) = spark.asked["requests"]
    assert (asked["audit"], asked["flow"], asked["arguments"][2:]) == ("checksum", "orders.east-to-west", ["--full"])
    assert asked["arguments"][1] == f"{tmp_path}/lab/evidence/{Path(left['facts']['report']).parent}"
    assert set(json.loads(spark.seen["content"])) == {"kafka_east_audit", "kafka_west_audit"}
    assert not Path(spark.seen["secrets"]).exists()
    assert spark.added == ["kafka-dr://orders/east-to-west/checksum 2026-03-01T12:00:00+00:00"]
    assert (left["outcome"], left["sentences"]) == ("ok", ["all of it"])


def test_what_the_form_says_is_for_checksum_audits_alone(spark: SharedSpark) -> None:
    spark.run(GOOD, audit="lag", full=True)
    (asked,) = spark.asked["requests"]
    assert asked["arguments"][2:] == []


def test_an_audit_that_somebody_asked_for_has_more_time(spark: SharedSpark) -> None:
    spark.run(GOOD)
    assert spark.asked["requests"][0]["deadline_seconds"] == 6 * 3600


@pytest.mark.parametrize(("kept", "seconds"), [(False, 6 * 3600), (True, 20 * 60)])
def test_an_audit_that_has_to_begin_again_has_more_time(
    spark: SharedSpark, tmp_path: Path, *, kept: bool, seconds: float
) -> None:
    if kept:
        state = tmp_path / "lab" / "evidence" / "audits" / "orders" / "checksum" / "east-to-west" / "state.json"
        state.parent.mkdir(parents=True)
        state.write_text("{}")
    operator = spark.operator(GOOD)
    flow = audited_flow(read_topology(os.environ), "orders.east-to-west")
    one = FlowAudit(flow, "checksum", "", tmp_path / "lab" / "evidence", datetime.now(UTC))
    assert operator._seconds({}, one) == seconds


@pytest.mark.parametrize(
    ("took", "seconds"), [(None, 20 * 60), (3.0, 20 * 60), (20 * 60, 80 * 60), (3 * 3600, 6 * 3600)]
)
def test_an_audit_has_four_times_what_the_last_one_took_also_if_that_was_ended_within_bounds(
    spark: SharedSpark, tmp_path: Path, took: float | None, seconds: float
) -> None:
    root = tmp_path / "lab" / "evidence"
    now, facts = datetime.now(UTC), {} if took is None else {"audit_seconds": took}
    WatchResultStore(root).keep(KeptResult("orders", "lag", "unknown", ("it was ended",), now, facts=facts))
    flow = audited_flow(read_topology(os.environ), "orders.east-to-west")
    one = FlowAudit(flow, "lag", "", root, now)
    assert spark.operator(GOOD)._seconds({}, one) == seconds


def test_how_long_an_audit_took_is_kept_whether_or_not_it_has_a_report(spark: SharedSpark) -> None:
    assert spark.run((2, "no result within 300 s, so it was ended", None))["facts"] == {"audit_seconds": 1.0}
    assert spark.run(GOOD, audit="lag")["facts"]["audit_seconds"] == 1.0


def test_a_red_audit_is_a_result_and_no_event(spark: SharedSpark) -> None:
    found = spark.run(LOST)
    assert (found["outcome"], found["sentences"]) == ("failed", ["2 records are lost."])
    assert found["facts"]["report"].startswith("audits/orders/checksum/east-to-west/")
    assert spark.added == []


def test_a_flow_that_is_well_and_whose_consumer_groups_do_not_keep_up_is_not_simply_ok(spark: SharedSpark) -> None:
    late = {"verdict": "groups late", "sentence": "2 of 4 consumer groups do not keep up.", "at": "2026-03-01T12:00Z"}
    assert spark.run((0, "groups late: 2 of 4", late), audit="lag")["outcome"] == "warning"
    assert spark.run(GOOD)["outcome"] == "ok"


def test_an_audit_that_could_not_find_out_is_unknown(spark: SharedSpark) -> None:
    found = spark.run(SILENT)
    assert (found["outcome"], found["sentences"]) == ("unknown", ["west does not answer"])


def test_an_application_that_fails_leaves_no_audit_good(spark: SharedSpark) -> None:
    found = spark.run(ends=137)
    assert found["outcome"] == "unknown"
    assert found["sentences"][0].startswith("its Spark application ended (exit code 137) before this audit did")
    assert spark.added == []


def test_an_application_that_dies_takes_nothing_from_an_audit_that_had_ended(spark: SharedSpark) -> None:
    assert spark.run(GOOD, ends=137)["outcome"] == "ok"
    assert len(spark.added) == 1


def test_an_audit_without_a_result_is_unknown(spark: SharedSpark) -> None:
    found = spark.run()
    assert found["outcome"] == "unknown"
    assert "the application stopped without recording a result" in found["sentences"][0]


def test_a_part_of_a_flow_is_no_event(spark: SharedSpark) -> None:
    assert spark.run(GOOD, topics=["orders.a"])["outcome"] == "ok"
    assert spark.added == []


def test_nothing_is_submitted_for_a_group_that_cannot_be_audited(spark: SharedSpark, tmp_path: Path) -> None:
    found = spark.run(flow="other.east-to-west")
    assert (found["outcome"], found["sentences"]) == ("left_alone", ["this run audits only other.east-to-west"])
    assert not (tmp_path / "seen.json").exists()


@pytest.mark.parametrize(("ending", "outcome"), [(GOOD, "ok"), (None, "unknown")])
def test_at_its_limit_a_task_has_left_the_results_of_the_audits_that_had_ended(
    spark: SharedSpark, monkeypatch: pytest.MonkeyPatch, ending: Any, outcome: str
) -> None:
    monkeypatch.setenv("HANGS", "600")
    operator = spark.operator(ending, execution_timeout=timedelta(minutes=24))

    def expire(*_: object) -> None:
        # What Airflow does when the limit is reached.
        raise AirflowTaskTimeout("Timeout")

    def reach_the_limit() -> None:
        while not (spark.left or (ending is None and (Path(os.environ["SEEN"] + ".requests")).exists())):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, expire)
    try:
        Thread(target=reach_the_limit, daemon=True).start()
        with pytest.raises(SystemExit) as ended:
            spark.execute(operator)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert f"{int(ending is not None)} of 1 audits had ended, and their results count" in str(ended.value)
    assert [each["outcome"] for each in spark.left[-1]] == [outcome]


class AroundTheAudits:
    """What a task's context is for the tasks before and after the audits."""

    def __init__(self, xcoms: dict[str, Any] | None = None, *, scheduled: bool = True) -> None:
        self._xcoms, self._scheduled = xcoms or {}, scheduled

    def context(self, **params: object) -> dict[str, Any]:
        def pull(*, task_ids: str, map_indexes: Any = None) -> Any:
            found = self._xcoms[task_ids]
            return (
                found if map_indexes is None else [found[each] if each < len(found) else None for each in map_indexes]
            )

        return {
            "params": params,
            "run_id": "scheduled__1",
            "dag_run": SimpleNamespace(run_type="scheduled" if self._scheduled else "manual"),
            "ti": SimpleNamespace(try_number=1, max_tries=0, xcom_pull=pull, dag_id="d", run_id="scheduled__1"),
        }


@pytest.fixture
def hundred(spark: SharedSpark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Declare a hundred groups, and return the evidence root."""
    declared = many_groups_declared(Path(os.environ["KAFKA_DR_TOPOLOGY"]), 100, tmp_path)
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(declared))
    return tmp_path / "lab" / "evidence"


def test_each_group_is_in_one_application_and_none_is_larger_than_the_rule_says(hundred: Path) -> None:
    shares = AuditSharesOperator(audit="lag").execute(AroundTheAudits().context())
    groups = [group for share in shares for group in share]
    assert len(groups) == len(set(groups)) == 100
    assert [len(share) for share in shares] == [GROUPS_OF_AN_APPLICATION] * 4


def test_a_run_for_one_flow_audits_its_group_alone_and_refuses_one_that_is_not_declared(hundred: Path) -> None:
    shares = AuditSharesOperator(audit="lag")
    assert shares.execute(AroundTheAudits().context(flow="bench-007.west-to-east")) == [["bench-007"]]
    with pytest.raises(SystemExit, match=r"the topology has no flow 'nothing\.a-to-b': choose one of bench-0"):
        shares.execute(AroundTheAudits().context(flow="nothing.a-to-b"))


def result(group: str, outcome: str, said: str, *, kept: bool = True) -> AuditedGroup:
    report = f"audits/{group}/lag/east-to-west/x/report.json"
    return AuditedGroup(
        group=group,
        outcome=outcome,
        sentences=[said],
        facts={"report": report},
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        kept=kept,
    )


def test_a_red_group_is_one_red_line_and_a_group_that_nobody_heard_of_is_unknown_alone(hundred: Path) -> None:
    shares = [["bench-000", "bench-001"], ["bench-002", "bench-003"], ["bench-004"]]
    left = [
        [result("bench-000", "ok", "Nothing waits."), result("bench-001", "failed", "7 records are late.")],
        # Its task was killed when one of two had ended.
        [result("bench-002", "ok", "Nothing waits.")],
    ]
    airflow = AroundTheAudits({"shares": shares, "lag_audit": left})
    rows = AuditResultsOperator(audit="lag").execute(airflow.context())
    assert [(row["protection_group"], row["outcome"], row["red"]) for row in rows] == [
        ("bench-001", "failed", True),
        ("bench-003", "unknown", True),
        ("bench-004", "unknown", True),
    ]
    red = RedGroupOperator(task_id="red", row=rows[0])
    with pytest.raises(SystemExit, match=r"^bench-001 is failed: 7 records are late\.$"):
        red.execute(airflow.context())
    assert red.report_path == "audits/bench-001/lag/east-to-west/x/report.json"
    kept = WatchResultStore(hundred).read_round("lag")
    assert {name: each.outcome for name, each in kept.items()} == {
        **dict.fromkeys(("bench-000", "bench-002"), "ok"),
        "bench-001": "failed",
        **dict.fromkeys(("bench-003", "bench-004"), "unknown"),
    }
    assert "ended before its audit did" in kept["bench-003"].sentences[0]


def test_what_answers_another_question_than_the_watch_is_not_kept(hundred: Path) -> None:
    left = [[result("bench-000", "failed", "1 record is lost.", kept=False)]]
    airflow = AroundTheAudits({"shares": [["bench-000"]], "checksum_audit": left})
    (row,) = AuditResultsOperator(audit="checksum").execute(airflow.context(topics=["bench-000.a"]))
    assert row["red"]
    assert WatchResultStore(hundred).read_round("checksum") == {}


def test_an_audit_that_somebody_asked_for_of_the_present_flow_is_the_groups_newest(hundred: Path) -> None:
    left = [[result("bench-000", "ok", "All of it is equal.")]]
    airflow = AroundTheAudits({"shares": [["bench-000"]], "checksum_audit": left})
    AuditResultsOperator(audit="checksum").execute(airflow.context(flow="bench-000.east-to-west"))
    assert WatchResultStore(hundred).read_round("checksum")["bench-000"].outcome == "ok"


def test_a_group_that_was_just_audited_is_left_to_the_next_run_of_the_schedule_and_not_to_a_person(
    hundred: Path,
) -> None:
    groups = sorted(f"bench-{number:03d}" for number in range(100))
    shares = AuditSharesOperator(audit="checksum")

    def looked_and_due() -> list[list[str]]:
        left = [[result(group, "ok", "all of it") for group in groups]]
        AuditResultsOperator(audit="checksum").execute(
            AroundTheAudits({"shares": [groups], "checksum_audit": left}).context()
        )
        return shares.execute(AroundTheAudits().context())

    # Between the two an interval of a quarter of an hour may end, but not twice.
    assert [] in (looked_and_due(), looked_and_due())
    assert len(shares.execute(AroundTheAudits(scheduled=False).context())) == 4
