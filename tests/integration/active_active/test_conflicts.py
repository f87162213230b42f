"""Two members fight over keys while their flows run and while nothing is copied: judged by the test's own log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.audit.report_folders import report_folder
from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.topology.conflicts import ConflictsSpec, OwnershipSpec, ProvenanceSpec
from lab import rights
from support.auditing import job_environ, topology_file
from support.checksum import Auditor
from support.members import Members
from support.three_clusters import GroupOfThree
from support.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(900)]

SKEW = 300


@dataclass(frozen=True, slots=True)
class OwnLogLine:
    """What this test wrote, and when."""

    site: str
    partition: int
    offset: int
    time_ms: int
    value: bytes | None


@dataclass(slots=True)
class Fighters:
    """Clients of two members, and what they wrote."""

    members: Members
    ends: dict[tuple[str, int], int] = field(default_factory=dict)
    written: list[OwnLogLine] = field(default_factory=list)

    def write(self, site: str, key: str, value: bytes | None, *, partition: int = 0) -> OwnLogLine:
        group, at = self.members[site], (site, partition)
        time_ms = int(time.time() * 1000)
        with group.protection.cluster(site, rights.ORDERS_APP) as client:
            client.writing.append([NewRecord(group.local(partition), key.encode(), value, (), time_ms)])
        offset = self.ends.get(at, 0)
        self.ends[at] = offset + 1
        self.written.append(OwnLogLine(site, partition, offset, time_ms, value))
        return self.written[-1]

    def readers_read_all(self, union: str) -> None:
        """Let the readers of each member commit the ends of what it holds."""
        for site in self.members:
            block = self.members[site].name.rpartition("-")[0]
            other = next(each for each in self.members if each != site)
            logs = [self.members.log(n, origin, site) for origin in (site, other) for n in range(2)]
            with self.members[site].protection.cluster(site, "admin") as admin:
                ends: dict[TopicPartition, int] = admin.topics.high_watermarks(logs)
            for readers in (union, f"{block}-{site}-moves"):
                self.members[site].protection.commit(site, readers, ends)

    def audit_flows(self, spark: SparkSession, folder: Path) -> None:
        """Audit each flow as the DAG does, with its report below the evidence root."""
        for source, target in self.members.ends:
            group = self.members[source]
            root = Path(group.protection.topology.evidence.root)
            name = report_folder(datetime.now(UTC), "scheduled", 1)
            out = root / "audits" / group.name / "checksum" / f"{source}-to-{target}" / name
            audited = Auditor(group.protection, spark, folder)(flow=f"{group.name}.{source}-to-{target}", out=out)
            assert audited.report["self_test"]["passed"], audited.report["sentence"]


def audited(
    members: Members, spark: SparkSession, out: Path, *more: str
) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
    """Audit the conflicts by the job itself: its exit code, its report and all its findings."""
    from jobs.conflicts.job import main

    @contextmanager
    def shared(_name: str) -> Iterator[SparkSession]:
        yield spark

    protection = members["east"].protection
    block = members["east"].name.rpartition("-")[0]
    arguments = ["--topology", str(topology_file(protection)), "--block", block, "--out", str(out), *more]
    code = main(arguments, job_environ(protection), shared)
    report = json.loads((out / "report.json").read_text())
    return code, report, [row.asDict() for row in spark.read.parquet(f"file://{out}/findings").collect()]


def named(one: OwnLogLine, other: OwnLogLine, kind: str, certainty: str) -> tuple[Any, ...]:
    earlier, later = sorted((one, other), key=lambda each: (each.time_ms, each.site))
    winner = later.site if later.time_ms > earlier.time_ms else earlier.site
    ends = [(each.site, each.partition, each.offset, each.time_ms) for each in (earlier, later)]
    return kind, certainty, *ends, winner, one.value == other.value


def rows_of(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(
        (
            row["kind"],
            row["certainty"],
            *(
                tuple(row[f"{which}_{name}"] for name in ("origin", "partition", "offset", "ms"))
                for which in ("earlier", "later")
            ),
            row["winner"],
            row["equal"],
        )
        for row in found
    )


def test_what_two_members_wrote_to_the_same_keys_is_named_as_their_own_log_says(
    members: Members, spark: SparkSession, tmp_path: Path
) -> None:
    fighters, east, west = Fighters(members), members["east"], members["west"]
    readers = f"{east.name}-union"
    members.read_by_union(readers)
    members.audit_conflicts(ConflictsSpec(skew_ms=SKEW, keys="plain"))

    calm = [fighters.write("east", f"calm-{n}", b"%d" % n) for n in range(6)]
    fighters.write("west", "of west alone", b"1", partition=1)
    members.wait_copied()
    fighters.audit_flows(spark, tmp_path)
    fighters.readers_read_all(readers)
    code, report, found = audited(members, spark, tmp_path / "first")
    assert (code, report["verdict"], found) == (0, "ok", []), report["sentence"]

    # What was read before is followed, on purpose, after more than the clocks may differ.
    followed = time.time() + 2 * SKEW / 1000
    eventually(lambda: time.time() > followed, seconds=5)
    for n in range(6):
        fighters.write("west", f"calm-{n}", b"after")
    assert all(int(time.time() * 1000) - each.time_ms > SKEW for each in calm)

    for source, target in members.ends:
        GroupOfThree(members[source].protection).stop_flow(source, target)
    wanted = []
    for n in range(8):
        key = f"apart-{n}"
        one = fighters.write("east", key, b"same" if n % 2 else None)
        other = fighters.write("west", key, b"same", partition=1 if n == 7 else 0)
        wanted.append(named(one, other, "write_write" if n % 2 else "delete_write", "certain"))
    wanted.append(named(one, other, "partition_differs", "certain"))
    apart = time.time() + 2 + SKEW / 1000
    eventually(lambda: time.time() > apart, seconds=10)
    fighters.audit_flows(spark, tmp_path)

    members.flows()
    for n in range(5):
        ours, theirs = (fighters.write(site, f"mixed-{n}", site.encode()) for site in ("west", "east"))
        wanted.append(named(ours, theirs, "write_write", "possible"))
    members.wait_copied()

    code, report, found = audited(members, spark, tmp_path / "second")
    assert rows_of(found) == sorted(wanted)
    assert (code, report["verdict"], report["certain"], report["possible"]) == (1, "findings", 8, 5)
    assert report["sentence"].startswith("8 certain conflicts and 5 possible ones between east, west")
    assert {row["key"] for row in found} == {f"apart-{n}" for n in range(8)} | {f"mixed-{n}" for n in range(5)}
    assert not report["full"]

    code, report, found = audited(members, spark, tmp_path / "third")
    assert (code, found, report["records_read"]) == (0, [], 0), "each conflict is named once"
    code, report, found = audited(members, spark, tmp_path / "full", "--full")
    assert rows_of(found) == sorted(wanted)
    assert report["full"]

    declared = ConflictsSpec(
        skew_ms=SKEW,
        keys="plain",
        strategy="keep_both",
        ownership=OwnershipSpec(by_partition=("east",)),
        provenance=ProvenanceSpec(required=()),
    )
    members.audit_conflicts(declared)
    code, report, found = audited(members, spark, tmp_path / "strays", "--full")
    assert rows_of([row for row in found if row["earlier_origin"]]) == sorted(
        (*row[:4], None, row[5]) for row in wanted
    )
    strays = [row for row in found if not row["earlier_origin"]]
    ends = ("later_origin", "later_partition", "later_offset", "later_ms", "kind", "seen")
    assert sorted(tuple(row[name] for name in ends) for row in strays) == sorted(
        (each.site, each.partition, each.offset, each.time_ms, *said)
        for each in fighters.written
        for said in (("origin_missing", "origin-dc"), ("no_owner", None) if each.partition else ("not_owner", "east"))
        if (each.site, *said) != ("east", "not_owner", "east")
    )
    assert (code, report["stray_records"], len(report["strays"])) == (1, len(strays), len(strays))
    assert report["strategy"] == "keep_both"
    members.audit_conflicts(declared.model_copy(update={"strategy": "custom", "custom": "shop_rules:missing"}))
    with pytest.raises(FileNotFoundError):
        audited(members, spark, tmp_path / "refused", "--full")
    members.audit_conflicts(ConflictsSpec(skew_ms=SKEW, keys="plain"))
    audited(members, spark, tmp_path / "again", "--full")

    root = Path(east.protection.topology.evidence.root) / "audits" / report["block"] / "conflicts" / "all-members"
    state = (root / "state.json").read_bytes()
    _, _, found = audited(members, spark, tmp_path / "part", "--topics", west.local(0).topic)
    assert rows_of(found) == sorted(wanted)
    assert (root / "state.json").read_bytes() == state, "a part is nothing to continue from"
    assert [path.name for path in (root / "records").iterdir()] == [json.loads(state)["kept"]]
    assert not list((root / "records").rglob("*.scan"))
