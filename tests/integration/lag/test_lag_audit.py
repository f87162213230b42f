"""The lag audit on real clusters: figures against what was written, findings against what was done."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.audit.gate import GateAnswer, ask
from kafka_dr.audit.result import AuditKind
from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.writing import NewRecord
from lab import rights
from support.auditing import job_environ, topology_file
from support.held_back import held_back
from support.plain_flow import PlainFlow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

Run = Callable[..., "LagAuditRun"]


@dataclass(frozen=True, slots=True)
class LagAuditRun:
    """How an audit ended."""

    code: int
    report: dict[str, Any]

    @property
    def partitions(self) -> dict[tuple[str, int], dict[str, Any]]:
        return {(each["topic"], each["partition"]): each for each in self.report["replication"]["partitions"]}

    @property
    def findings(self) -> dict[tuple[str, str], dict[str, Any]]:
        return {(each["kind"], each["where"]): each for each in self.report["findings"]}


@pytest.fixture
def audit(flowing: PlainFlow, spark: SparkSession, tmp_path: Path) -> Run:
    """Run the audit of the group's flow in the shared session, as the job would in its own."""

    @contextmanager
    def shared(_name: str) -> Iterator[SparkSession]:
        yield spark

    def run(
        *more: str,
        flow: str | None = None,
        environ: dict[str, str] | None = None,
        west: dict[str, str] | None = None,
    ) -> LagAuditRun:
        from jobs.lag.job import main

        out = tmp_path / f"out-{time.monotonic_ns()}"
        arguments = ["--topology", str(topology_file(flowing.protection, west=west)), "--out", str(out)]
        arguments += ["--flow", flow or f"{flowing.protection.name}.east-to-west", *more]
        code = main(arguments, job_environ(flowing.protection) | (environ or {}), shared)
        place = out / "report.json"
        return LagAuditRun(code, json.loads(place.read_text()) if place.exists() else {})

    return run


def write(flowing: PlainFlow, partition: int, sizes: list[int], *, age_seconds: float = 0.0) -> None:
    at = round((time.time() - age_seconds) * 1000)
    place = TopicPartition(flowing.protection.topic, partition)
    with flowing.protection.cluster("east", rights.ORDERS_APP) as client:
        client.writing.append(NewRecord(place, b"key", b"v" * size, (("h", b"12"),), timestamp_ms=at) for size in sizes)


def gate(flowing: PlainFlow, *, epoch: int = 1) -> GateAnswer:
    return ask(
        flowing.protection.folder / "evidence",
        AuditKind.LAG,
        group=flowing.protection.name,
        source="east",
        target="west",
        epoch=epoch,
        now=datetime.now(UTC),
        max_age=timedelta(minutes=10),
    ).answer


def denied(flowing: PlainFlow) -> list[str]:
    """Return what both clusters' authorizers logged as denied to audits."""
    supervisor = flowing.protection.lab.supervisor
    logs = [supervisor.log(name).read_text() for name in supervisor.names() if "-broker-" in name]
    return [line for text in logs for line in text.splitlines() if f"User:{rights.AUDIT} is Denied" in line]


def test_figures_are_those_of_what_was_written(flowing: PlainFlow, audit: Run) -> None:
    topic, name = flowing.protection.topic, f"{flowing.protection.name}-readers"
    write(flowing, 0, [10] * 30)
    flowing.write_in_transactions(3)
    flowing.start()
    flowing.wait_copied()
    flowing.stop()
    write(flowing, 0, [100] * 7, age_seconds=20)
    flowing.protection.commit("east", name, {TopicPartition(topic, 0): 25, TopicPartition(topic, 1): 0})
    denied_before = denied(flowing)
    found = audit()
    assert found.code == 0, found.report
    assert denied(flowing) == denied_before, "a log of denials means something only if audits cause none"
    flow, group = found.partitions[topic, 0], found.report["groups"][0]
    # Each record has a key of 3 bytes and a header of 1 + 2.
    assert (flow["records"], flow["bytes"], flow["exact"]) == (7, 7 * 106, True)
    assert 19 < flow["seconds"] < 60
    assert flow["headroom_seconds"] > 6 * 86400
    assert found.partitions[topic, 1]["records"] == 0
    # Two of three transactions were committed, with a record of 16 bytes and a key of 2 in each partition.
    assert (group["group"], group["state"]) == (name, "EMPTY")
    by_partition = {each["partition"]: each for each in group["partitions"]}
    assert (by_partition[0]["records"], by_partition[0]["bytes"]) == (5 + 2 + 7, 5 * 16 + 2 * 18 + 7 * 106)
    assert (by_partition[1]["records"], by_partition[1]["bytes"]) == (2, 2 * 18)
    latency = found.report["replication"]["latency"]
    assert latency["samples"] >= 2
    assert 0 <= latency["p50_seconds"] <= latency["max_seconds"] < 60
    assert found.report["records_read"] <= 30 + 4 + 7
    assert gate(flowing) is GateAnswer.GREEN
    assert gate(flowing, epoch=2) is GateAnswer.NEVER, "that is another flow, which nobody audited"


def test_acknowledged_records_that_an_open_transaction_holds_back_are_not_copied_and_the_report_says_so(
    flowing: PlainFlow, audit: Run
) -> None:
    topic = flowing.protection.topic
    write(flowing, 0, [10] * 30)
    flowing.start()
    flowing.wait_copied()
    with held_back(flowing.protection, "east", 25, of_the_transaction=2):
        denied_before = denied(flowing)
        found = audit()
        assert denied(flowing) == denied_before
    assert found.code == 0, found.report
    flow = found.partitions[topic, 0]
    assert (flow["records"], flow["exact"], flow["held_back_offsets"]) == (25, True, 27)
    assert 0 <= flow["seconds"] < 60
    sentence = found.report["sentence"]
    assert "25 records wait to be copied" in sentence
    said = "25 acknowledged records and 2 records that may still be aborted are held back by the open transaction of"
    assert f"{said} the producer with the id " in sentence


def test_a_flow_that_was_stopped_is_found_out_by_age_and_then_by_its_trend(flowing: PlainFlow, audit: Run) -> None:
    write(flowing, 0, [10] * 3)
    flowing.start()
    flowing.wait_copied()
    flowing.stop()
    write(flowing, 0, [10] * 4, age_seconds=1000)
    where = f"{flowing.protection.topic}-0"
    first, second = audit(), audit()
    assert (first.code, set(first.findings)) == (1, {("late", where)})
    assert first.findings["late", where]["blocks_failover"]
    assert set(second.findings) == {("late", where), ("not_moving", where)}
    assert second.report["replication"]["verdict"] == "STOP"
    assert gate(flowing) is GateAnswer.RED
    flowing.replicator.resume()
    flowing.wait_copied()
    late = audit()
    # They have arrived; how long that took is said for a while, and holds nothing back.
    assert set(late.findings) == {("latency", "")}
    assert late.findings["latency", ""]["value"] > 1000
    assert gate(flowing) is GateAnswer.WARNING


def test_what_the_source_deleted_before_it_was_copied_is_named(flowing: PlainFlow, audit: Run) -> None:
    from confluent_kafka import TopicPartition as ClientPartition
    from confluent_kafka.admin import AdminClient

    topic = flowing.protection.topic
    write(flowing, 0, [10] * 10)
    flowing.start()
    flowing.wait_copied()
    flowing.stop()
    write(flowing, 0, [10] * 10)
    with AdminClient(flowing.protection.lab.client_settings("east", "admin")) as admin:
        for future in admin.delete_records([ClientPartition(topic, 0, 16)]).values():
            future.result(30)
    found = audit()
    assert found.code == 1
    assert found.findings["deleted", f"{topic}-0"]["value"] == 6
    assert found.partitions[topic, 0]["records"] == 4


def test_long_stretches_are_estimated_and_said_to_be(flowing: PlainFlow, audit: Run) -> None:
    flowing.start()
    flowing.stop()
    write(flowing, 0, [10] * 40)
    found = audit("--most-offsets", "10").partitions[flowing.protection.topic, 0]
    assert (found["records"], found["bytes"], found["exact"]) == (40, 640, False)


@pytest.mark.long
def test_what_cannot_be_audited_is_unknown_in_one_sentence_and_changes_nothing(
    flowing: PlainFlow, audit: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flowing.start()
    assert audit().code == 0
    (window,) = (flowing.protection.folder / "evidence").rglob("window.json")
    kept = window.read_bytes()

    def refused(said: str, **how: Any) -> None:
        found = audit(**how)
        assert (found.code, found.report) == (2, {})
        (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("unknown: ")]
        assert said in line

    refused("the topology has no flow 'nothing.east-to-west': choose one of", flow="nothing.east-to-west")
    for key, holds in (
        ("connect_status_topic", "states of connectors"),
        ("connect_offsets_topic", "positions of flows"),
    ):
        # Configurations are in this topic, so an audit may not read it.
        right = f"An audit reads the {holds} from connect-west-configs: give its principal READ and DESCRIBE"
        refused(right, west={key: "connect-west-configs"})
    strangers = tmp_path / "strangers.json"
    settings = json.loads(Path(job_environ(flowing.protection)["KAFKA_DR_SECRETS_FILE"]).read_text())
    for change, said in (
        (settings["kafka_east_audit"] | {"bootstrap.servers": "127.0.0.1:9"}, "east as audit"),
        (flowing.protection.lab.client_settings("east", rights.BILLING_APP), "east as billing-app"),
    ):
        strangers.touch(mode=0o600)
        strangers.write_text(json.dumps(settings | {"kafka_east_audit": change}))
        refused(said, environ={"KAFKA_DR_SECRETS_FILE": str(strangers)})
    assert window.read_bytes() == kept
    assert gate(flowing) is GateAnswer.GREEN
    window.write_bytes(b"{")
    refused("is not the window of a lag audit")
    assert window.read_bytes() == b"{"
