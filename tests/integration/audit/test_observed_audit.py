"""Spark's audits of a copy that somebody else made, under MirrorMaker's usual names, by reading alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.audit.difference import REPEATED
from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.result import AuditKind, AuditVerdict, ResultStore
from support.checksum import minutes_ago
from support.faulty_copy import KINDS, FaultyCopy, Known, Written
from support.observed_audits import ObservedAudits
from support.others_copy import Content, OthersCopy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture
def audits(lab: Lab, spark: SparkSession, tmp_path: Path) -> ObservedAudits:
    made = ObservedAudits(OthersCopy(lab, tmp_path), spark)
    made.allow()
    return made


def test_every_kind_of_fault_is_found_at_its_offsets_and_then_only_what_is_new_is_read(audits: ObservedAudits) -> None:
    topic = audits.copy.topic
    whole = FaultyCopy.make(partitions=2, records=200, faults=KINDS, seed=7, start=minutes_ago(30))
    audits.write(whole)
    before, denied = audits.ends(), audits.denied()

    found = audits.checksum()

    assert (found.code, found.found(topic)) == (1, whole.truth)
    assert found.report["self_test"] == {"passed": True, "missed": []}
    assert audits.ends() == before, "an observed flow is only read"
    assert audits.denied() == denied, "and nothing more is asked than may be read"
    (shown,) = found.report["topics"]
    assert (shown["topic"], shown["copy"]) == (topic, audits.remote)
    duplicate = next(known for known in whole.truth if known.kind is FindingKind.DUPLICATE)
    said = f"source offset {duplicate.source_offset}, target offset {duplicate.target_offset} of {audits.remote}:"
    assert [said in each["sentence"] for each in found.report["findings"]].count(True) == 1
    coverage = found.report["coverage"]
    assert coverage["produced"] == sum(count for name, count in coverage.items() if name != "produced") == 400

    # A restart at least once: some come again, some are new, and one is not copied yet.
    later = FaultyCopy.make(partitions=1, records=30, faults=[], seed=8, start=minutes_ago(20))
    audits.append("east", topic, {1: later.source[0]})
    audits.append("west", audits.remote, {1: [*whole.source[1][-6:], *later.source[0][:-1]]})
    again = audits.checksum()
    first = len(whole.target[1])
    assert again.found(topic) == [
        Known(FindingKind.LATE, 1, 229, None),
        Known(FindingKind.REPLAY, 1, 194, first, 6),
    ]
    assert (again.code, again.report["records_read"]) == (1, 30 + 35)
    kept = ResultStore(audits.root).newest(AuditKind.CHECKSUM, group="theirs", source="east", target="west")
    assert kept is not None
    assert (kept.verdict, kept.epoch) == (AuditVerdict.RED, None)

    # A look that reads only the newest records covers the whole log with that.
    audits.copy.allow()
    look = audits.copy.run("observe", "theirs", "--json", audits={}, records_per_partition=20)
    assert look.code == 1, look.err
    report = look.json
    repeated = sum(known.count for known in whole.truth if known.kind in REPEATED)
    totals = {kind: count for kind, count in report["totals"].items() if count}
    assert totals == {
        "records_read_on_source": 40,
        "lost": 1,
        "late": 1,
        "corrupted": 4,
        "reordered": 1,
        "moved": 1,
        "foreign": 1,
        "duplicated": repeated + 6,
    }
    assert "you would lose 2 records" in report["sentence"]
    assert "it verified 422 records" in report["sentence"]
    assert [row["audit"].partition(":")[0] for row in report["audits"]] == ["Checksum audit", "Lag audit"]
    assert [row["verdict"] for row in report["audits"]] == ["failed", "unknown"]


@pytest.mark.long
def test_repeated_copies_are_reported_and_what_is_not_copied_yet_is_measured(audits: ObservedAudits) -> None:
    topic, group = audits.copy.topic, f"orders-{audits.copy.alias}-ledger"
    made = FaultyCopy.make(partitions=2, records=40, faults=[], seed=3, start=minutes_ago(30))
    copied = {0: made.source[0], 1: [*made.source[1][:30], *made.source[1][20:30]]}
    audits.write(FaultyCopy(made.source, copied))
    audits.copy.commit("east", group, topic, {0: 40, 1: 38})

    code, lag = audits.lag()
    by_partition = {each["partition"]: each for each in lag["replication"]["partitions"]}
    assert (code, lag["verdict"]) == (1, "findings")
    assert [(each["position"], each["records"]) for _, each in sorted(by_partition.items())] == [(40, 0), (30, 10)]
    assert 29 * 60 < by_partition[1]["seconds"] < 32 * 60
    assert by_partition[1]["bytes"] > 10 * 12
    assert [(each["group"], each["records"]) for each in lag["groups"]] == [(group, 2)]
    assert lag["groups"][0]["ahead_of_copy_seconds"] > 29 * 60
    assert {finding["kind"] for finding in lag["findings"]} == {"late", "position_not_copied"}

    # Replication at least once repeats records: that is said, and no finding. What waits is.
    found = audits.checksum()
    assert (found.code, found.report["counts"]) == (1, {"LATE": 10, "REPLAY": 10})
    audits.append("west", audits.remote, {1: made.source[1][30:]})
    # Now the lag audit continues from where the checksum audit ended.
    code, lag = audits.lag()
    assert (code, lag["replication"]["records"], lag["replication"]["verdict"]) == (0, 0, "OK")
    found = audits.checksum()
    assert (found.code, found.report["verdict"], found.report["counts"]) == (0, "equal", {"REPLAY": 10})


@pytest.mark.parametrize("without", ["no timestamp", pytest.param("stamped by the target", marks=pytest.mark.long)])
def test_lag_knows_by_itself_of_records_without_a_time_that_can_be_compared(
    audits: ObservedAudits, without: str
) -> None:
    topic = audits.copy.topic
    made = FaultyCopy.make(partitions=2, records=20, faults=[], seed=5, start=minutes_ago(30))
    audits.write(FaultyCopy(made.source, {0: made.source[0], 1: made.source[1][:12]}))
    later = FaultyCopy.make(partitions=1, records=6, faults=[], seed=6, start=minutes_ago(20)).source[0]
    copied = [_at(minutes_ago(0), each) for each in later[:4]]
    if without == "no timestamp":
        later = [_at(-1, each) for each in later]
        audits.append("west", audits.remote, {0: copied})
    else:
        # The setting has its default again when the audit asks.
        with audits.copy.cluster("west", "admin") as admin:
            admin.configs.set({audits.remote: {"message.timestamp.type": "LogAppendTime"}})
            audits.append("west", audits.remote, {0: copied})
            admin.configs.set({audits.remote: {"message.timestamp.type": "CreateTime"}})
    audits.append("east", topic, {0: later})

    _, lag = audits.lag()
    places = [(each["partition"], each["position"], each["records"]) for each in lag["replication"]["partitions"]]
    assert sorted(places) == [(0, 24, 2), (1, 12, 8)], lag


def _at(milliseconds: int, record: Written) -> Written:
    return replace(record, payload=replace(record.payload, timestamp=milliseconds))


def test_what_was_copied_from_transactions_that_ended_badly_or_not_yet_is_no_strange_record(
    audits: ObservedAudits,
) -> None:
    """As MirrorMaker copies by default: it reads what is not committed."""
    copy, topic, remote = audits.copy, audits.copy.topic, audits.remote
    for cluster, name in (("east", topic), ("west", remote)):
        copy.create(cluster, name)
    numbered = [Content(f"record {n}", key=f"k{n}") for n in range(30)]
    copy.write("east", topic, numbered[:10], abort=False)
    copy.write("east", topic, numbered[10:13], abort=True)
    copy.write("east", topic, numbered[13:20])
    alien = Content("from nowhere")
    copy.write("west", remote, [*numbered[:12], alien, *numbered[12:20]])
    with copy.open_transaction("east", topic, numbered[20:25]) as transaction:
        copy.write("east", topic, numbered[25:30])
        copy.write("west", remote, numbered[20:28])
        found = audits.checksum()
        assert found.found(topic) == [
            *(Known(FindingKind.ABORTED, 0, None, offset, count) for offset, count in ((10, 2), (13, 1))),
            Known(FindingKind.FOREIGN, 0, None, 12),
        ]
        transaction.commit_transaction(30)
    found = audits.checksum()
    assert found.found(topic) == [Known(FindingKind.LATE, 0, 30, None, 2)]
    assert found.report["counts"] == {"ABORTED": 3, "FOREIGN": 1, "LATE": 2}
