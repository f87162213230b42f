"""What logs live through between and during audits: killed drivers, the cleaner, open transactions, new partitions."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Deleted
from confluent_kafka.admin import AdminClient

from jobs.checksum.payloads import payloads_of
from kafka_dr.audit.corruption import Parts, Unseen
from kafka_dr.audit.difference import Suspects, UnmatchedRecord
from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.result import AuditKind, AuditVerdict, ResultStore
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.errors import KafkaDrError
from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.translate.anchor_cache import AnchorCache
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.by_content import translate_by_content
from lab import rights
from support.auditing import topology_file
from support.checksum import Auditor, ChecksumAuditRun, write_copy
from support.cleaner import a_quick_cleaner
from support.driver import half_way
from support.faulty_copy import FaultyCopy, Known
from support.held_back import held_back
from support.plain_flow import PlainFlow
from support.protection import Protection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
_SECONDS = 60.0
_OLD_MS = 1_800_000  # nothing as old as this is still on its way
_UI_PORT = 790  # from the first port of the tests on
#: What has to be seen wherever secrets are looked for: a page that shows nothing hides nothing.
_SHOWN_IN = {
    "argv": "checksum_audit.py",
    "environ": "KAFKA_DR_SECRETS_FILE",
    "ui environment": "spark.app.name",
    "ui sql": "BatchScan KafkaTable",
    "events": "SparkListenerSQLExecutionStart",
}


def now_ms() -> int:
    return int(time.time() * 1000)


def kept(protection: Protection) -> dict[str, bytes]:
    """Return the files that the next audit continues from."""
    folder = protection.folder / "evidence" / "audits" / protection.name
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def scans(protection: Protection) -> set[str]:
    folder = protection.folder / "evidence" / "fingerprints" / protection.name / "east-to-west"
    return {each.name for each in folder.iterdir()}


def map_parts(protection: Protection) -> set[str]:
    return {name.partition(".")[0] for name in kept(protection) if "/map/" in name}


def test_a_driver_that_is_killed_half_way_shows_no_secret_and_leaves_everything_as_it_was(
    flowing: PlainFlow, audit: Auditor, port_base: int
) -> None:
    protection = flowing.protection
    # What is written before the driver starts is still on its way after it was killed, however slow the machine is.
    slow = {"max_record_age_seconds": 900, "max_lag_seconds": 900}
    protection.changes["thresholds"] = protection.group.thresholds.model_copy(update=slow)
    topic = f"{protection.name}.killed"
    copy = FaultyCopy.make(partitions=2, records=200, faults=[FindingKind.LOST] * 3, seed=3, start=now_ms() - _OLD_MS)
    write_copy(protection, topic, copy)
    assert audit().found(topic) == copy.truth
    before, begun = kept(protection), scans(protection)
    flowing.write(20)
    with half_way(protection, audit.folder / "killed", begun, ui_port=port_base + _UI_PORT) as driver:
        shown = driver.shown()
    assert kept(protection) == before
    assert not (audit.folder / "killed" / "report.json").exists()
    again = audit()
    assert (again.found(topic), again.report["counts"]) == ([], {"LOST": 3})
    assert again.report["coverage"]["in_flight"] == 22
    left = scans(protection) - begun
    assert len(left) == 2, "what the killed one had read stays for as long as the log is kept"
    state = json.loads(kept(protection)["checksum/east-to-west/state.json"])
    assert {each["name"] for each in state["scans"]} < begun | left
    passwords = [protection.lab.client_settings(name, rights.AUDIT)["sasl.password"] for name in ("east", "west")]
    for place, wanted in _SHOWN_IN.items():
        seen = [text for name, text in shown.items() if name.startswith(place)]
        assert seen, place
        assert all(wanted in text for text in seen), f"{place} does not show what it is read for"
    for place, text in shown.items():
        assert not any(password in text for password in passwords), f"{place} shows a password"


def test_what_the_cleaner_took_is_no_finding_and_what_it_left_is_compared(flowing: PlainFlow, audit: Auditor) -> None:
    protection = flowing.protection
    topic, partition = f"{protection.name}.table", TopicPartition(f"{protection.name}.table", 0)
    compacted = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "100"}
    start = now_ms() - _OLD_MS
    records = [NewRecord(partition, f"k{n % 4}".encode(), f"v{n}".encode(), (), start + n) for n in range(40)]
    for cluster, config in (("east", compacted), ("west", {"cleanup.policy": "compact"})):
        with protection.cluster(cluster, "admin") as admin:
            admin.topics.create(topic, partitions=1, replication_factor=1, config=config)
    with protection.cluster("west", "admin") as west:
        # The newest record of k1 never came.
        west.writing.append(record for number, record in enumerate(records) if number != 37)
    with protection.cluster("east", "admin") as east, a_quick_cleaner(protection, "east"):
        deadline = time.monotonic() + _SECONDS
        east.writing.append(records)
        while len(list(east.log.read({partition: OffsetRange(0, 40)}))) > 8:
            assert time.monotonic() < deadline, "the cleaner did nothing"
            time.sleep(0.2)
            # A segment is closed by the first record that comes when it is old enough; the last one is never cleaned.
            east.writing.append([NewRecord(partition, b"roll", None, (), now_ms())])
        gone = 40 - len(list(east.log.read({partition: OffsetRange(0, 40)})))
    found = audit("--topics", topic)
    lost = [each for each in found.found(topic) if each.source_offset == 37]
    assert (found.code, lost) == (1, [Known(FindingKind.LOST, 0, 37, None)])
    # What made the segments roll is on its way.
    assert {each["kind"] for each in found.lines if each["source_offset"] != 37} == {"IN_FLIGHT"}
    coverage = found.topic(topic)["coverage"]
    assert gone >= 32
    assert (coverage["differing"], coverage["compacted"] >= gone) == (1, True)


@pytest.mark.long
def test_a_deletion_lost_next_to_a_marker_is_found_and_what_waits_is_missed_when_its_scan_is_gone(
    flowing: PlainFlow, audit: Auditor, capsys: pytest.CaptureFixture[str]
) -> None:
    protection = flowing.protection
    topic, partition = f"{protection.name}.table", TopicPartition(f"{protection.name}.table", 0)
    start = now_ms() - _OLD_MS
    table = [NewRecord(partition, key, b"value", (), start) for key in (b"deleted", b"kept")]
    following = NewRecord(partition, b"kept", b"later", (), start)
    for cluster in ("east", "west"):
        with protection.cluster(cluster, "admin") as admin:
            admin.topics.create(topic, partitions=1, replication_factor=1, config={"cleanup.policy": "compact"})
            admin.writing.append(table)
    assert audit("--topics", topic).report["verdict"] == "equal"
    with protection.cluster("east", "admin") as east, protection.cluster("west", "admin") as west:
        east.writing.append([NewRecord(partition, b"deleted", None, (), start), following])
        east.writing.append([NewRecord(partition, b"kept", b"on its way", (), now_ms())])
        leave_a_marker(protection, "west", topic)
        west.writing.append([following])
    lost = Known(FindingKind.LOST, 0, 2, None)
    found = audit("--topics", topic)
    assert (found.code, found.found(topic), found.topic(topic)["coverage"]["in_flight"]) == (1, [lost], 1)
    full = audit("--topics", topic, "--full")
    assert (full.found(topic), full.topic(topic)["coverage"]["in_flight"]) == ([lost], 1)
    again = audit("--topics", topic)
    assert (again.found(topic), again.report["counts"]) == ([], {"LOST": 1})
    assert [(line["kind"], line["source_offset"]) for line in again.lines] == [("IN_FLIGHT", 4)]
    for scan in scans(protection):
        shutil.rmtree(protection.folder / f"evidence/fingerprints/{protection.name}/east-to-west/{scan}/source")
    assert audit("--topics", topic).code == 2
    assert f"holds records of {topic} that were not compared yet" in capsys.readouterr().err
    assert audit("--topics", topic, "--full").found(topic) == [lost]


def leave_a_marker(protection: Protection, cluster: str, topic: str) -> None:
    settings = protection.lab.client_settings(cluster, "admin")
    producer = Producer({**settings, "transactional.id": f"{protection.name}-aborts"})
    producer.init_transactions(_SECONDS)
    producer.begin_transaction()
    producer.produce(topic, partition=0, key=b"aborted", value=b"never seen")
    producer.flush(_SECONDS)
    producer.abort_transaction(_SECONDS)


@pytest.mark.long
def test_partitions_that_are_added_and_transactions_that_hang_between_audits(
    flowing: PlainFlow, audit: Auditor
) -> None:
    protection = flowing.protection
    quick = dict.fromkeys(("max_record_age_seconds", "max_replication_latency_seconds"), 1)
    protection.changes["thresholds"] = protection.group.thresholds.model_copy(update=quick)
    topic = f"{protection.name}.grows"
    copy = FaultyCopy.make(partitions=1, records=30, faults=[], seed=1, start=now_ms() - _OLD_MS)
    write_copy(protection, topic, copy)
    assert audit().report["verdict"] == "equal"
    start = now_ms() - _OLD_MS
    add_a_partition(protection, topic, "east", start)
    waiting = audit()
    assert waiting.found(topic) == [Known(FindingKind.LOST, 1, 0, None, 5)]
    assert waiting.topic(topic)["coverage"]["verified"] == 30
    open_transaction = begun_transaction(protection, topic)
    add_a_partition(protection, topic, "west", start)
    before = map_parts(protection)
    held = audit("--full").topic(topic)
    assert (held["verdict"], held["coverage"]["verified"]) == ("equal", 35)
    assert held["partitions"][0]["held_back"] == {"source": {"from_offset": 30, "offsets": 2}}
    assert (len(map_parts(protection)), map_parts(protection) & before) == (1, set()), "the old map is gone"
    time.sleep(1.1)
    hangs = audit()
    assert hangs.found(topic) == [Known(FindingKind.UNVERIFIABLE, 0, 30, None, 2)]
    assert "open transaction on the source" in hangs.report["findings"][0]["sentence"]
    open_transaction.abort_transaction(_SECONDS)
    over = audit()
    assert (over.code, over.lines) == (0, [])
    assert over.topic(topic)["coverage"]["control"] == 3


def test_acknowledged_records_after_an_open_transaction_are_part_of_the_verified_rpo(
    flowing: PlainFlow, audit: Auditor
) -> None:
    protection = flowing.protection
    flowing.start()
    flowing.wait_copied()
    before = audit().report
    with held_back(protection, "east", 20, of_the_transaction=2):
        time.sleep(1)
        found = audit().report
    assert found["verified_rpo_records"] - before["verified_rpo_records"] == 22
    assert 1 < found["verified_rpo_seconds"] < 60


def add_a_partition(protection: Protection, topic: str, cluster: str, start: int) -> None:
    with protection.cluster(cluster, "admin") as admin:
        admin.topics.add_partitions(topic, 2)
        partition = TopicPartition(topic, 1)
        admin.writing.append(NewRecord(partition, b"k", str(n).encode(), (), start + n) for n in range(5))


def begun_transaction(protection: Protection, topic: str) -> Producer:
    settings = protection.lab.client_settings("east", rights.BILLING_APP)
    producer = Producer({**settings, "transactional.id": f"{protection.name}-hangs"})
    producer.init_transactions(_SECONDS)
    producer.begin_transaction()
    for number in range(2):
        producer.produce(topic, partition=0, value=str(number))
    producer.flush(_SECONDS)
    return producer


@pytest.mark.long
def test_a_truncated_source_is_not_a_copy_that_has_too_much(flowing: PlainFlow, audit: Auditor) -> None:
    protection = flowing.protection
    topic = f"{protection.name}.cut"
    copy = FaultyCopy.make(partitions=1, records=200, faults=[], seed=1, start=now_ms() - _OLD_MS)
    write_copy(protection, topic, copy)
    last = NewRecord(TopicPartition(topic, 0), b"k", b"the last one", (), now_ms() - _OLD_MS)
    for cluster in ("east", "west"):  # a batch of its own, which can be cut off
        with protection.cluster(cluster, "admin") as admin:
            admin.writing.append([last])
    assert audit("--topics", topic).report["verdict"] == "equal"
    protection.lab.kill("east-broker-1")
    (log,) = protection.lab.home.root.glob(f"**/east*/**/{topic}-0/*.log")
    os.truncate(log, log.stat().st_size - 1)
    protection.lab.restart("east-broker-1")
    wait_for(protection, "east", topic)
    found = audit("--topics", topic)
    assert found.code == 1
    assert found.found(topic) == [Known(FindingKind.UNVERIFIABLE, 0, 201, None, 201)]
    assert found.topic(topic)["coverage"]["verified"] == found.topic(topic)["coverage"]["produced"] == 200


def wait_for(protection: Protection, cluster: str, topic: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            with protection.cluster(cluster, "admin") as admin:
                admin.topics.last_stable_offsets([TopicPartition(topic, 0)])
                return
        except KafkaDrError:
            assert time.monotonic() < deadline
            time.sleep(0.5)


def test_records_of_ten_megabytes_are_compared_and_distinguished(flowing: PlainFlow, audit: Auditor) -> None:
    protection = flowing.protection
    topic, size = f"{protection.name}.huge", 10 * 1024**2
    config = {"max.message.bytes": str(size + 4096)}
    same, other = os.urandom(size), bytearray(os.urandom(size))
    when = now_ms() - _OLD_MS
    for cluster in ("east", "west"):
        with protection.cluster(cluster, "admin") as admin:
            admin.topics.create(topic, partitions=1, replication_factor=1, config=config)
        producer = Producer(protection.lab.client_settings(cluster, "admin") | {"message.max.bytes": size + 4096})
        for value in (b"small", same, bytes(other), b"small again"):
            producer.produce(topic, value, partition=0, timestamp=when)
        assert producer.flush(_SECONDS) == 0
        other[-1] ^= 1
    found = audit("--topics", topic)
    assert found.found(topic) == [Known(FindingKind.CORRUPT_VALUE, 0, 2, 2)]
    assert found.topic(topic)["coverage"]["verified"] == 3


def test_a_stretch_of_offsets_is_audited_where_the_map_says_it_is(flowing: PlainFlow, audit: Auditor) -> None:
    protection = flowing.protection
    topic = f"{protection.name}.stretch"
    faults = [FindingKind.LOST, FindingKind.DUPLICATE, FindingKind.CORRUPT_VALUE] * 3
    copy = FaultyCopy.make(partitions=1, records=400, faults=faults, seed=6, start=now_ms() - _OLD_MS)
    write_copy(protection, topic, copy)
    assert audit().found(topic) == copy.truth
    before = kept(protection)
    found = audit("--offsets", f"{topic}-0:100-300")
    said = "checksum/east-to-west/newest.json"
    before[said], kept_now = b"", kept(protection) | {said: b""}
    assert found.found(topic) == [known for known in copy.truth if 100 <= (known.source_offset or 0) < 300]
    assert found.topic(topic)["coverage"]["excluded"] == 200
    assert kept_now == before
    translated = translated_by_the_map_alone(flowing, TopicPartition(topic, 0))
    assert all(found.kind == "exact" for found in translated.values())
    targets = {record.origin: record.offset for record in copy.target[0] if record.kind is None}
    assert {found.source_offset: found.target_offset for found in translated.values()} == {
        position: targets[position - 1] + 1 for position in (391, 398)
    }


def test_a_payload_that_is_not_read_is_not_one_that_is_gone(flowing: PlainFlow) -> None:
    protection = flowing.protection
    topic, offsets = f"{protection.name}.gone", (10, 100, 200, 300)
    copy = FaultyCopy.make(partitions=1, records=400, faults=[], seed=7, start=now_ms() - _OLD_MS)
    write_copy(protection, topic, copy)
    with AdminClient(protection.lab.client_settings("east", "admin")) as client:
        for future in client.delete_records([Deleted(topic, 0, 150)]).values():
            future.result(_SECONDS)
    records = tuple(UnmatchedRecord(0, offset, 0, offset, 0, 0) for offset in offsets)
    east, west = flowing.audit("east"), flowing.audit("west")

    def looked_at(most_bytes: int) -> list[list[object]]:
        fetch = payloads_of(topic, source=east, target=west, restamped=False, most_bytes=most_bytes)
        sides = [[of(record) for record in records] for of in fetch([Suspects(records, records)])]
        return [[each if isinstance(each, Unseen) else each.value for each in side] for side in sides]

    values = [Parts.of(copy.source[0][offset].payload).value for offset in offsets]
    assert looked_at(10**9) == [[Unseen.GONE, Unseen.GONE, *values[2:]], values]
    # A round is read as a whole; what it took is known only then.
    assert looked_at(most_bytes=1) == [
        [Unseen.GONE, Unseen.GONE, values[2], Unseen.TOO_MUCH],
        [values[0], *[Unseen.TOO_MUCH] * 3],
    ]


def translated_by_the_map_alone(
    flowing: PlainFlow, partition: TopicPartition
) -> Mapping[tuple[TopicPartition, int], Translation]:
    """Translate positions near the end, far from the beginning of the log, with nothing but what audits matched."""
    clusters = {name: (name, flowing.audit(name).topics.identity().cluster_id) for name in ("east", "west")}
    root, group = flowing.protection.folder / "evidence", flowing.protection.name
    basis = TranslationBasis(
        flowing.audit("east"),
        flowing.audit("west"),
        syncs=flowing.sync_lookup("east", "west"),
        maps=MapStore(root, group, source=clusters["east"], target=clusters["west"]),
        cache=AnchorCache(root, group),
    )
    return translate_by_content(basis, {partition: [391, 398]})


@pytest.mark.long
def test_evidence_may_be_where_only_spark_reaches(
    flowing: PlainFlow, audit: Auditor, spark: SparkSession, tmp_path: Path
) -> None:
    protection, far = flowing.protection, tmp_path / "far"
    far.mkdir()
    # Hadoop's own way to mount one file system in another: what it takes is what an object store would get.
    spark.conf.set(f"fs.viewfs.mounttable.{protection.name}.link./kept", f"file://{far}")
    declared = yaml.safe_load(topology_file(protection).read_text())
    declared["evidence"]["root"] = f"viewfs://{protection.name}/kept"
    there = tmp_path / "there.yaml"
    there.write_text(yaml.safe_dump(declared))
    topic = f"{protection.name}.far"
    copy = FaultyCopy.make(
        partitions=2, records=120, faults=[FindingKind.LOST, FindingKind.REPLAY], seed=9, start=now_ms() - _OLD_MS
    )
    write_copy(protection, topic, copy)

    def audited(*more: str) -> ChecksumAuditRun:
        code = audit("--topology", str(there), "--out", f"viewfs://{protection.name}/kept/out", *more).code
        return ChecksumAuditRun(code, far / "out")

    assert (audited().code, audited("--full").found(topic)) == (1, copy.truth)
    flowing.write(10)
    last = audited()
    assert (last.report["counts"], last.report["coverage"]["in_flight"]) == (
        {"LOST": 1, "REPLAY": sum(k.count for k in copy.truth if k.kind is FindingKind.REPLAY)},
        12,
    )
    (part,) = {file.stem for file in far.rglob("map/*") if not file.name.startswith(".")}
    assert json.loads(next(far.rglob("state.json")).read_text())["maps"] == [part]
    newest = ResultStore(far).newest(AuditKind.CHECKSUM, group=protection.name, source="east", target="west")
    assert newest is not None
    assert newest.verdict is AuditVerdict.RED
