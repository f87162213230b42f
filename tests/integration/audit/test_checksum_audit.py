"""The checksum audit on real clusters, against faults that were made and against flows that did nothing wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jobs.fingerprint_log import FingerprintLog
from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.kept_frontier import FileFrontierStore
from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore
from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.writing import NewRecord
from lab import rights
from support.auditing import job_environ
from support.checksum import Auditor, ChecksumAuditRun, minutes_ago, write_copy
from support.configured_group import RawAdmin
from support.faulty_copy import FaultyCopy, Known
from support.plain_flow import PlainFlow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.mark.long
def test_a_flow_whose_worker_dies_in_mid_stream_has_copied_everything_once(flowing: PlainFlow, audit: Auditor) -> None:
    lab = flowing.protection.lab
    flowing.write(300)
    flowing.start()
    flowing.write_in_transactions(15)
    lab.kill("west-connect")
    flowing.write(300)
    lab.restart("west-connect")
    wait_for_connect(flowing)
    flowing.write_in_transactions(6)
    flowing.wait_copied()
    found = audit()
    assert (found.code, found.lines, found.report["verdict"]) == (0, [], "equal")
    coverage = found.report["coverage"]
    # Of 21 transactions 7 were aborted: their records cannot be read, nor can the marker that ends each transaction.
    assert (coverage["verified"], coverage["control"]) == (2 * (302 + 14), 2 * 28)
    assert found.report["verified_rpo_records"] == 0


def wait_for_connect(flowing: PlainFlow) -> None:
    deadline = time.monotonic() + 90
    while True:
        try:
            if flowing.replicator.status().state == "running":
                return
        except Exception:  # noqa: BLE001 - it answers anything until it is there
            assert time.monotonic() < deadline
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_an_audit_continues_where_the_last_one_ended_and_what_waits_too_long_is_late(
    flowing: PlainFlow, audit: Auditor
) -> None:
    protection = flowing.protection
    flowing.write(40)
    flowing.start()
    flowing.wait_copied()
    first = audit()
    flowing.stop()
    flowing.write(20)
    waiting = audit()
    assert [(first.code, first.report["records_read"]), waiting.code] == [(0, 2 * 42), 0]
    assert (waiting.report["coverage"]["in_flight"], waiting.report["verified_rpo_records"]) == (22, 22)
    never_read = write_to_a_partition_that_no_flow_knows(flowing)
    limits = ("max_record_age_seconds", "max_replication_latency_seconds", "max_lag_seconds")
    protection.changes["thresholds"] = protection.group.thresholds.model_copy(update=dict.fromkeys(limits, 1))
    time.sleep(1.1)
    late = audit()
    assert (late.code, late.report["counts"]) == (1, {"LATE": 23})
    assert Known(FindingKind.LATE, never_read.partition, 0, None) in late.found(never_read.topic)
    kept = newest(flowing)
    assert kept is not None
    assert (kept.verdict, "23 LATE" in kept.sentence) == (AuditVerdict.RED, True)
    flowing.replicator.resume()
    wait_read(flowing, never_read)
    flowing.wait_copied()
    last = audit()
    assert (last.code, last.lines) == (0, [])
    assert (last.report["coverage"]["verified"], last.report["coverage"]["in_flight"]) == (65, 0)
    kept = newest(flowing)
    assert kept is not None
    assert (kept.verdict, kept.epoch) == (AuditVerdict.GREEN, 1)
    remembered = FileFrontierStore(protection.folder / "evidence", protection.name).read("east-to-west")
    assert remembered is not None
    ends = flowing.audit("east").topics.last_stable_offsets(flowing.partitions)
    assert {p: remembered.points[p.topic, p.partition].source_offset for p in flowing.partitions} == ends


def write_to_a_partition_that_no_flow_knows(flowing: PlainFlow) -> TopicPartition:
    """Write a record that was made long ago, though nobody has seen it until now."""
    partition = TopicPartition(flowing.protection.topic, flowing.protection.partitions)
    with flowing.protection.cluster("east", "admin") as admin:
        admin.topics.add_partitions(partition.topic, partition.partition + 1)
        admin.writing.append([NewRecord(partition, b"k", b"v", (), minutes_ago(30))])
    return partition


def wait_read(flowing: PlainFlow, partition: TopicPartition) -> None:
    deadline = time.monotonic() + 60
    while not flowing.replicator.positions().get(partition):
        assert time.monotonic() < deadline, f"the flow does not read {partition}"
        time.sleep(0.2)


def test_headers_rewritten_by_a_workers_default_converter_are_found(flowing: PlainFlow, audit: Auditor) -> None:
    flowing.write(30)
    replicator = flowing.connector
    replicator.ensure(stopped=True)
    config = replicator.config() | {"header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter"}
    replicator.connect.update(flowing.flow.name, config)
    replicator.wait_stopped(30)
    replicator.seed({}, epoch=1)
    replicator.resume()
    replicator.wait_running(60)
    flowing.wait_copied()
    found = audit()
    assert found.code == 1
    assert set(found.report["counts"]) == {"CORRUPT_HEADER"}


def test_what_retention_takes_while_it_is_read_is_verified_and_what_it_took_from_a_stopped_flow_is_lost(
    flowing: PlainFlow, audit: Auditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    flowing.write(20)
    flowing.start()
    flowing.wait_copied()
    with monkeypatch.context() as patch:
        scan = FingerprintLog.scan

        def scan_and_forget(log: FingerprintLog, name: str, **what: Any) -> None:
            scan(log, name, **what)
            delete_before_the_end(flowing)

        patch.setattr(FingerprintLog, "scan", scan_and_forget)
        first = audit()
    assert (first.code, first.lines, first.report["coverage"]["verified"]) == (0, [], 22)
    flowing.stop()
    flowing.write(20)
    delete_before_the_end(flowing)
    flowing.write(20)
    found = audit()
    assert found.code == 1
    assert found.found(flowing.protection.topic) == [
        Known(FindingKind.LOST, partition.partition, 11, None, 11) for partition in flowing.partitions
    ]


def delete_before_the_end(flowing: PlainFlow) -> None:
    from confluent_kafka import TopicPartition as Place
    from confluent_kafka.admin import AdminClient

    ends = flowing.audit("east").topics.last_stable_offsets(flowing.partitions)
    with AdminClient(flowing.protection.lab.client_settings("east", "admin")) as client:
        wanted = [Place(p.topic, p.partition, end) for p, end in ends.items()]
        for future in client.delete_records(wanted).values():
            future.result(30)


def test_a_topic_that_was_deleted_and_created_again_on_either_cluster_is_found(
    flowing: PlainFlow, audit: Auditor
) -> None:
    topic = flowing.protection.topic
    flowing.write(20)
    flowing.start()
    flowing.wait_copied()
    assert audit().code == 0
    flowing.stop()
    flowing.create_again("west")
    flowing.replicator.resume()
    flowing.write(20)
    flowing.wait_copied()
    target = audit()
    assert target.found(topic) == sorted(
        known
        for partition in flowing.partitions
        for known in (
            Known(FindingKind.LOST, partition.partition, 0, None, 11),
            Known(FindingKind.UNVERIFIABLE, partition.partition, None, 12, 11),
        )
    )
    assert target.topic(topic)["coverage"]["verified"] == 22
    flowing.create_again("east")
    source = audit()
    assert source.code == 1
    assert {f.kind for f in source.found(topic)} == {FindingKind.UNVERIFIABLE}
    assert all("deleted" in line["sentence"] for line in source.report["findings"])


@pytest.mark.long
def test_a_record_without_a_timestamp_is_equal_to_its_copy_and_other_faults_of_its_topic_are_found(
    flowing: PlainFlow, audit: Auditor
) -> None:
    protection = flowing.protection
    flowing.write(20)
    with protection.cluster("east", rights.ORDERS_APP) as east:
        east.writing.append(NewRecord(each, b"untimed", b"v", (), -1) for each in flowing.partitions)
    flowing.write(20)
    flowing.start()
    flowing.wait_copied()
    found = audit()
    assert (found.code, found.lines, found.report["verdict"]) == (0, [], "equal")
    assert found.report["verified_rpo_records"] == 0
    assert f"records of {protection.topic} have no timestamp" in found.report["sentence"]
    assert audit().code == 0, "nor in a later audit"
    flowing.write_foreign("west")
    later = audit("--full")
    assert later.code == 1
    assert {each.kind for each in later.found(protection.topic)} == {FindingKind.FOREIGN}


@pytest.mark.parametrize("now", ["LogAppendTime", pytest.param("CreateTime", marks=pytest.mark.long)])
def test_a_target_that_stamps_records_itself_is_compared_without_time(
    flowing: PlainFlow, audit: Auditor, now: str
) -> None:
    name = flowing.protection.name
    faults = [FindingKind.LOST, FindingKind.CORRUPT_VALUE, FindingKind.DUPLICATE, FindingKind.FOREIGN]
    copy = FaultyCopy.make(partitions=2, records=80, faults=faults, seed=4, start=minutes_ago(30))
    topic = f"{name}.stamped"
    write_copy(flowing.protection, topic, copy, target={"message.timestamp.type": "LogAppendTime"})
    # What was stamped stays so, whatever the topic is set to afterwards.
    settings = dict(flowing.protection.lab.client_settings("west", "admin"))
    RawAdmin(settings).configure(topic, message_timestamp_type=now)
    found = audit()
    assert found.found(topic) == copy.truth
    assert found.topic(topic)["times"] == "lost"
    assert found.report["sentence"].count(f"west replaces the timestamps of {topic} ") == 1
    # On the target all of it was written just now.
    part = audit("--until", at(copy.source[0][40].payload.timestamp or 0))
    early = [known for known in copy.truth if known.source_offset is not None and known.source_offset < 40]
    assert set(early) <= set(part.found(topic)) <= set(copy.truth)
    assert 70 <= part.topic(topic)["coverage"]["produced"] - part.topic(topic)["coverage"]["excluded"] <= 90


def test_only_a_stretch_of_time_is_audited_where_that_was_asked_for(flowing: PlainFlow, audit: Auditor) -> None:
    name, start = flowing.protection.name, minutes_ago(30)
    copy = FaultyCopy.make(partitions=1, records=400, faults=[FindingKind.LOST] * 8, seed=2, start=start)
    write_copy(flowing.protection, f"{name}.long", copy)
    first = copy.truth[0].source_offset
    assert first is not None
    clean = audit("--until", at(start + 7 * first))
    assert (clean.code, clean.topic(f"{name}.long")["coverage"]["verified"]) == (0, first)
    assert newest(flowing) is None, "what is good about a part says nothing about the whole"
    found = audit("--until", at(start + 7 * 200))
    assert found.found(f"{name}.long") == [known for known in copy.truth if (known.source_offset or 0) < 200]
    assert found.topic(f"{name}.long")["coverage"]["excluded"] == 200
    red = newest(flowing)
    assert red is not None
    assert (red.verdict, red.sentence.startswith("in a part of the flow: ")) == (AuditVerdict.RED, True)
    folder = flowing.protection.folder / "evidence" / "audits"
    assert [file.name for file in folder.rglob("*") if file.is_file()] == ["newest.json"]


def at(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def newest(flowing: PlainFlow) -> AuditResult | None:
    root, name = flowing.protection.folder / "evidence", flowing.protection.name
    return ResultStore(root).newest(AuditKind.CHECKSUM, group=name, source="east", target="west")


def without(environ: Mapping[str, str], **changes: object) -> dict[str, str]:
    path = Path(environ["KAFKA_DR_SECRETS_FILE"])
    entries = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(entries))
    return dict(environ)


def test_what_cannot_be_audited_is_unknown_in_one_sentence(
    flowing: PlainFlow, audit: Auditor, capsys: pytest.CaptureFixture[str]
) -> None:
    protection = flowing.protection
    lab = protection.lab
    closed = {**lab.client_settings("east", rights.AUDIT), "bootstrap.servers": "127.0.0.1:9"}
    wrong = {**lab.client_settings("east", rights.AUDIT), "sasl.password": "not-it-at-all"}
    no_rights = lab.client_settings("east", rights.ORDERS_APP)
    cases: list[tuple[Callable[[], ChecksumAuditRun], str]] = [
        (lambda: audit(flow="nobody.east-to-west"), "the topology has no flow"),
        (lambda: audit(environ={}), "KAFKA_DR_SECRETS_FILE is not set"),
        (lambda: audit(environ=without(job_environ(protection), kafka_east_audit=closed)), "east"),
        (lambda: audit(environ=without(job_environ(protection), kafka_east_audit=wrong)), "east"),
        (lambda: audit(environ=without(job_environ(protection), kafka_east_audit=no_rights)), "authorization failed"),
        (lambda: audit("--topics", "no.such.topic"), "no.such.topic"),
    ]
    for run, said in cases:
        assert run().code == 2
        lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("unknown: ")]
        assert len(lines) == 1
        assert said in lines[0]
        assert "not-it-at-all" not in lines[0]
    assert not (protection.folder / "evidence" / "audits").exists()


def test_an_audit_that_another_one_overtook_says_so(
    flowing: PlainFlow, audit: Auditor, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit().code == 0
    state = next((flowing.protection.folder / "evidence").rglob("state.json"))
    content = json.loads(state.read_text())
    content["scans"][0]["at"] = "2100-01-01T00:00:00+00:00"
    state.write_text(json.dumps(content))
    assert audit().code == 2
    assert "another audit of this flow ended after this one had begun" in capsys.readouterr().err


@pytest.mark.long
def test_a_damaged_state_and_a_folder_that_cannot_be_written_change_nothing(
    flowing: PlainFlow, audit: Auditor, capsys: pytest.CaptureFixture[str]
) -> None:
    flowing.write(10)
    flowing.start()
    flowing.wait_copied()
    assert audit().code == 0
    folder = flowing.protection.folder / "evidence" / "audits" / flowing.protection.name / "checksum" / "east-to-west"
    before = (folder / "state.json").read_bytes()
    audit.folder.joinpath(f"out-{audit.number + 1}").write_text("a file is at the path of the folder")
    assert audit().code == 2
    assert (folder / "state.json").read_bytes() == before
    flowing.write_foreign("west")
    good = newest(flowing)
    # What cannot be written is found out only when there is something to write, and an old report exists.
    audit.folder.joinpath(f"out-{audit.number + 1}").mkdir()
    for name in ("report.json", "offset_map"):
        audit.folder.joinpath(f"out-{audit.number + 1}", name).write_text("what is in the way")
    assert audit().code == 2
    out = audit.folder / f"out-{audit.number}"
    assert (out / "findings.jsonl").read_text().count("FOREIGN") == 2
    assert sorted(each.name for each in out.glob("report*")) == ["report.before.json"]
    assert ((folder / "state.json").read_bytes(), newest(flowing)) == (before, good)
    found = audit()
    assert (found.code, {line["kind"] for line in found.lines}) == (1, {"FOREIGN"})
    before = (folder / "state.json").read_bytes()
    (folder / "state.json").write_bytes(before[: len(before) // 2])
    assert audit().code == 2
    assert "is damaged" in capsys.readouterr().err
    assert (folder / "state.json").read_bytes() == before[: len(before) // 2]


def test_no_secret_is_in_anything_that_is_kept(flowing: PlainFlow, audit: Auditor, spark: SparkSession) -> None:
    flowing.write(10)
    found = audit()
    passwords = [flowing.protection.lab.client_settings(c, rights.AUDIT)["sasl.password"] for c in ("east", "west")]
    kept = [file for top in (found.out, flowing.protection.folder / "evidence") for file in top.rglob("*")]
    assert len(kept) > 5
    for file in (each for each in kept if each.is_file()):
        assert not any(password.encode() in file.read_bytes() for password in passwords), file
    settings = str(spark.sparkContext.getConf().getAll())
    assert "spark.app.name" in settings
    assert not any(password in settings for password in passwords)
