"""Stranded records on real clusters; the test itself knows which records were never copied."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import TopicPartition as Deleted
from confluent_kafka.admin import AdminClient

from kafka_dr.approvals.journaled import BY_KEY
from kafka_dr.audit.erasure import erasures_in
from kafka_dr.audit.stranded import StrandedStore
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.errors import NeedsPerson
from kafka_dr.rescue.compared import Compared, compare_with
from kafka_dr.rescue.kept import missing_from, read_partition
from kafka_dr.runs.sealing import seal_run
from lab import rights
from support import damaged_files, outside_view
from support.command_line import CommandLine
from support.kept_list import CONTENT_KEYS
from support.old_cluster import RUN, OldClusterGroup
from support.stranding import Listed, list_stranded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


_NOW = int(time.time() * 1000)


def twins(left: OldClusterGroup, topic: str, count: int) -> None:
    """Write equal records, with equal timestamps."""
    record = NewRecord(TopicPartition(topic, 0), b"twin", b"twin", (), _NOW)
    with left.protection.cluster("east", rights.ORDERS_APP) as client:
        client.writing.append([record] * count)


@pytest.mark.long
def test_the_list_holds_exactly_the_records_that_were_never_copied_and_loses_none(
    left: OldClusterGroup, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    protection, name = left.protection, left.protection.name
    with protection.cluster("east", "admin") as east, protection.cluster("west", "admin") as west:
        for cluster in (east, west):
            cluster.topics.create(f"{name}.twins", partitions=1, replication_factor=1, config={})
            config = {"cleanup.policy": "compact"}
            cluster.topics.create(f"{name}.state", partitions=2, replication_factor=1, config=config)
    left.write("east", 60)
    left.write_committed("east", 6)
    left.write("east", 10, topic=f"{name}.state", keys=3)
    twins(left, f"{name}.twins", 2)
    left.stop_flow()
    crossed = outside_view.contents(protection, "east")
    assert list_stranded(protection, spark, run=RUN).code == 2
    assert "no cluster can hold stranded records" in capsys.readouterr().err

    # From here on nothing is copied: records are written before the failover and after it, as nobody fences east.
    stranded = left.write("east", 11) + left.write_committed("east", 4)
    left.write_aborted("east", 5)
    twins(left, f"{name}.twins", 3)
    state = left.write("east", 4, topic=f"{name}.state", keys=2)
    left.leave()
    left.write("west", 30)
    # The stranded keys are written to the new active cluster, too, which does not make the old records copied.
    left.write("west", 4, topic=f"{name}.state", keys=2)
    late = left.write("east", 7)
    left.fence_on_return()

    found = list_stranded(protection, spark, run=RUN)

    assert found.code == 1, capsys.readouterr().err
    assert found.values == sorted([*stranded, *state, *late, *[b"twin"] * 3])
    east_now = outside_view.contents(protection, "east")
    for row in found.records:
        partition = TopicPartition(row["topic"], row["partition"])
        headers = tuple((h["key"], h["value"]) for h in row["headers"] or ())
        with protection.cluster("east", "admin") as admin:
            (kept,) = admin.log.read({partition: OffsetRange(row["offset"], row["offset"] + 1)})
        assert (kept.timestamp_ms, kept.key, kept.value, kept.headers) == (
            row["timestamp"],
            row["key"],
            row["value"],
            headers,
        )
    for partition, contents in east_now.items():
        here = [r for r in found.records if (r["topic"], r["partition"]) == (partition.topic, partition.partition)]
        assert len(here) == len(contents) - len(crossed[partition])
    summary = found.summary
    assert (summary["verdict"], summary["records"]) == ("stranded", len(found.records))
    by_place = {(row["topic"], row["partition"]): row for row in summary["partitions"]}
    payments = [by_place[protection.topic, number] for number in range(2)]
    assert sum(row["records"] for row in payments) == len(stranded) + len(late)
    assert sum(row["keys"] for row in payments) >= 8
    assert all(row["oldest_ms"] <= row["newest_ms"] and row["size"] > 0 for row in payments)

    assert_only_what_is_kept_as_it_is_there_is_equal(left, found)

    assert_an_erased_key_is_gone_recorded_and_never_kept_again(left, found, spark)

    assert_an_encrypted_list_holds_the_same_and_nothing_of_it_in_the_clear(left, found, spark)

    # The old cluster is emptied: the kept records are still in the list.
    _delete_topics(left, [protection.topic])
    values = found.values
    again = list_stranded(protection, spark, run=RUN)
    assert (again.code, again.values) == (1, values)
    assert "kept before" in capsys.readouterr().out
    passwords = [protection.lab.client_settings(c, rights.AUDIT)["sasl.password"] for c in ("east", "west")]
    for file in (each for each in (protection.folder / "evidence").rglob("*") if each.is_file()):
        assert not any(password.encode() in file.read_bytes() for password in passwords), file


def assert_only_what_is_kept_as_it_is_there_is_equal(left: OldClusterGroup, listed: Listed) -> None:
    """Compare the kept records with the old cluster: as they are, and damaged in every way that stays readable."""
    protection = left.protection
    store = StrandedStore(protection.folder / "evidence", protection.name, RUN)
    found = store.read()
    assert found is not None
    assert all(
        file.sha256 == hashlib.sha256((listed.folder / file.path).read_bytes()).hexdigest() for file in found.files
    )

    with protection.cluster("east", rights.AUDIT) as east:

        def compared(folder: Path, *topics: str) -> Compared:
            return compare_with(east, found, folder, topics=topics or tuple(found.topic_ids))

        assert compared(store.folder) == Compared(len(listed.records), 0, "")
        assert compared(store.folder, protection.topic).equal == len(
            [r for r in listed.records if r["topic"] == protection.topic]
        )
        for number, (change, said) in enumerate(_DAMAGE.items()):
            damaged = damaged_files.copied(
                found, store.folder, protection.folder / f"damaged-{number}", _CHANGES[change]
            )
            assert said in compared(damaged).wrong, change


def assert_an_erased_key_is_gone_recorded_and_never_kept_again(
    left: OldClusterGroup, listed: Listed, spark: SparkSession
) -> None:
    """Erase the records with one key on the command line; then make the list again."""
    protection, command = left.protection, CommandLine(left.protection)
    wanted = [row for row in listed.records if row["key"] == b"tx"]
    others = [row for row in listed.records if row["key"] != b"tx"]
    assert wanted
    asked = ("erase", "--group", protection.name, "--key-file", "-", "--by", "dana", "--reason", "request 4711")

    dry = command.typed("tx", *asked, "--json")
    assert (dry.code, dry.json["lists"][0]["records"]) == (1, len(wanted)), dry.err
    assert len(listed.records) == len(wanted) + len(others)
    done = command.typed("tx", *asked, "--confirmed")
    assert (done.code, "nobody confirms this" in done.err) == (2, True)
    files, lines = command.keys("alice", "mallory")
    with protection.changed(approver_keys={"alice": lines["alice"]}):
        refused = command.typed("tx", *asked, "--confirmed", "--approver-key", str(files["mallory"]))
        assert (refused.code, "is not the key of an approver" in refused.err) == (4, True), refused.err
        done = command.typed("tx", *asked, "--confirmed", "--approver-key", str(files["alice"]))
        assert done.code == 0, done.err
        assert f"the content of {len(wanted)} records was erased" in done.out
        again = command.typed("tx", *asked, "--confirmed", "--approver-key", str(files["alice"]))
        assert (again.code, "no record that is kept matches" in again.out) == (0, True), again.err
        checked = command.run("verify", str(listed.folder))
        assert (checked.code, "alice signed it with the key that the topology declares" in checked.out) == (3, True)

    assert listed.records == others
    with protection.clients() as clients:
        facts = clients.register("west").facts(protection.name, RUN)
        (erasure,) = erasures_in(facts)
        assert clients.register("east").facts(protection.name, RUN)["erased-1"] == facts["erased-1"]
        assert seal_run(clients, protection.name, erasure.run).run == erasure.run
    assert (erasure.by, erasure.reason, erasure.records) == ("dana", "request 4711", len(wanted))
    assert (erasure.approver, erasure.verified) == ("alice", BY_KEY)
    checked = command.run("verify", str(listed.folder))
    assert checked.code == 3, checked.out
    assert "by dana (request 4711)" in checked.out
    evidence = protection.folder / "evidence"
    page = (evidence / "runs" / protection.name / erasure.run / "report.html").read_text()
    assert "request 4711" in page
    for row in wanted:
        assert not [file for file in evidence.rglob("*") if file.is_file() and row["value"] in file.read_bytes()]

    found = StrandedStore(evidence, protection.name, RUN).read()
    assert found is not None
    with protection.cluster("east", rights.AUDIT) as east:
        compared = compare_with(east, found, listed.folder, topics=tuple(found.topic_ids), erasures=(erasure,))
        assert compared == Compared(len(others), 0, "", len(wanted))
        forged = compare_with(east, found, listed.folder, topics=tuple(found.topic_ids))
        assert "no register knows of an erasure of it" in forged.wrong
    # The old cluster still holds these records: a new list knows their offsets, and keeps their content no more.
    remade = list_stranded(protection, spark, run=RUN)
    assert remade.code == 1
    assert remade.records == others
    assert remade.summary["records"] == len(wanted) + len(others)
    with protection.cluster("east", rights.AUDIT) as east:
        found = StrandedStore(evidence, protection.name, RUN).read()
        assert found is not None
        assert missing_from(found, listed.folder, (erasure,)) == ""
        compared = compare_with(east, found, listed.folder, topics=tuple(found.topic_ids), erasures=(erasure,))
        assert compared == Compared(len(others), 0, "", len(wanted))


def assert_an_encrypted_list_holds_the_same_and_nothing_of_it_in_the_clear(
    left: OldClusterGroup, listed: Listed, spark: SparkSession
) -> None:
    """Make the list again with a key: Spark encrypts, and this project reads, compares and counts the same."""
    protection, plain, summary = left.protection, listed.records, listed.summary
    assert plain
    former = set(listed.folder.glob("records-*"))
    # A list that may know less than the former one is not made: without one, it is.
    kept_plain = (listed.folder / "summary.json").rename(listed.folder / "summary.plain.json")
    protection.evidence["encryption_connection"] = "kafka_dr_encryption"
    assert list_stranded(protection, spark, run=RUN).code == 1
    protection.evidence.clear()
    store = StrandedStore(protection.folder / "evidence", protection.name, RUN)
    found = store.read()
    assert found is not None
    assert found.encryption is not None
    assert found.encryption.key_id == CONTENT_KEYS.current
    # Keys, sizes and times of erased records were counted in the former list alone.
    counted = ("topic", "partition", "records")
    assert [[row[name] for name in counted] for row in listed.summary["partitions"]] == [
        [row[name] for name in counted] for row in summary["partitions"]
    ]
    (folder,) = set(listed.folder.glob("records-*")) - former
    content = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert not [row for row in plain if row["value"] and len(row["value"]) > 8 and row["value"] in content]

    with protection.clients() as clients:
        erasures = erasures_in(clients.register("west").facts(protection.name, RUN))
    assert missing_from(found, store.folder, erasures) == ""
    where = sorted({(row["topic"], row["partition"]) for row in plain})
    kept = [
        record
        for topic, partition in where
        for record in read_partition(found, store.folder, topic=topic, partition=partition, keys=CONTENT_KEYS)
        if not record.erased
    ]
    assert [(each.topic, each.partition, each.offset, each.timestamp_ms, each.key, each.value) for each in kept] == [
        tuple(row[name] for name in ("topic", "partition", "offset", "timestamp", "key", "value")) for row in plain
    ]
    with protection.cluster("east", rights.AUDIT) as east:
        topics = tuple(found.topic_ids)
        compared = compare_with(east, found, store.folder, topics=topics, erasures=erasures, keys=CONTENT_KEYS)
        assert (compared.equal, compared.wrong) == (len(plain), "")
        with pytest.raises(NeedsPerson, match="are encrypted with the key 2026-02, and the topology names no key"):
            compare_with(east, found, store.folder, topics=topics, erasures=erasures)
    kept_plain.rename(listed.folder / "summary.json")


_DAMAGE = {
    "value": "is kept differently from what east holds",
    "key": "is kept differently from what east holds",
    "headers": "is kept differently from what east holds",
    "time": "is kept differently from what east holds",
    "lost": "is on east and is not kept",
}
_CHANGES: dict[str, Callable[[damaged_files.Rows], damaged_files.Rows]] = {
    "value": lambda rows: [{**rows[0], "value": b"another"}, *rows[1:]],
    "key": lambda rows: [*rows[:-1], {**rows[-1], "key": b"another"}],
    "headers": lambda rows: [{**rows[0], "headers": [{"key": "another", "value": None}]}, *rows[1:]],
    "time": lambda rows: [{**rows[0], "timestamp": rows[0]["timestamp"] + 1}, *rows[1:]],
    "lost": lambda rows: rows[1:],
}


def _delete_topics(left: OldClusterGroup, topics: list[str]) -> None:
    from confluent_kafka.admin import AdminClient

    with AdminClient(left.protection.lab.client_settings("east", "admin")) as client:
        for future in client.delete_topics(topics).values():
            future.result(30)


def test_a_log_that_ends_before_its_seed_was_created_again_and_is_compared_as_a_whole(
    left: OldClusterGroup, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    protection = left.protection
    left.write("east", 20)
    left.stop_flow()
    stranded = left.write("east", 9)
    left.leave()
    left.fence_on_return()
    begun = [[protection.topic, number, 5_000_000] for number in (0, 1)]
    seed = {"epoch": 2, "source": "east", "target": "west", "source_positions": begun, "target_positions": begun}
    with protection.clients() as clients:
        clients.register("west").write_fact(protection.name, "a-way-home", "flow_seed", seed)

    found = list_stranded(protection, spark, run=RUN)

    assert found.code == 1, capsys.readouterr()
    assert found.values == sorted(stranded)


def test_what_expired_before_the_cluster_was_back_is_not_called_copied(
    left: OldClusterGroup, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    protection = left.protection
    left.write("east", 20, partition=0)
    left.stop_flow()
    stranded = left.write("east", 9, partition=0)
    left.leave()
    left.fence_on_return()
    with AdminClient(protection.lab.client_settings("east", "admin")) as client:
        for future in client.delete_records([Deleted(protection.topic, 0, 24)]).values():
            future.result(30)

    found = list_stranded(protection, spark, run=RUN)

    assert (found.code, found.values) == (1, sorted(stranded[4:]))
    (first,) = [row for row in found.summary["partitions"] if (row["topic"], row["partition"]) == (protection.topic, 0)]
    assert first["expired"] == 4
    assert "4 offsets had expired there, and it is not known" in capsys.readouterr().out
