"""A consumer that keeps its offsets itself, as Flink does, maps them with the exported CSV and resumes without loss."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.group_offsets.offset_preview import preview_offsets
from kafka_dr.runs.request import StepName
from kafka_dr.topology.readers import GroupsPolicy
from support.kept_map import keep_map
from support.protection import Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka
Log = list[tuple[int, bytes]]
#: Records that no audit has matched yet when the map is exported.
_UNMATCHED = 7


def test_every_offset_of_its_own_becomes_one_that_skips_nothing_and_repeats_only_what_no_audit_has_matched(
    protection: Protection,
) -> None:
    protection.changes["groups_policy"] = GroupsPolicy(external_offsets=(f"{protection.name}-flink",))
    group = SwitchedGroup.adopt(protection, records=0)
    for _ in range(3):  # several transactions of the flow: the copy has markers in between
        protection.produce("east", 30)
        group.wait_equal()
    before = {p: (log_of(protection, "east", p), log_of(protection, "west", p)) for p in group.at(0, 0)}
    folder = protection.folder / "evidence" / "audits" / group.name
    keep_map(folder / "checksum" / "east-to-west", protection, {p: runs_of(*logs) for p, logs in before.items()})
    with protection.clients() as clients:
        preview_offsets(group.name, clients, folder=f"audits/{group.name}/offsets/east-to-west/one")
    rows = exported(folder / "offsets" / "east-to-west" / "one" / "offset_map.csv")

    group.go(StepName.REPORT)
    protection.produce("west", 10)
    for p, (east, _) in before.items():
        west = log_of(protection, "west", p)
        for position in range(east[-1][0] + 2):
            at = mapped(rows, p, position)
            unread = [value for offset, value in east if offset >= position]
            read = [value for offset, value in west if offset >= at]
            assert set(unread) <= set(read), f"{p} at {position} becomes {at}, which skips records"
            again = [value for offset, value in east if offset < position and value in set(read)]
            assert len(again) <= max(0, position - (east[-1][0] + 1 - _UNMATCHED)), f"{p} at {position} becomes {at}"


def mapped(rows: list[dict[str, str]], p: TopicPartition, position: int) -> int:
    """Follow ``include/guide/readers.md``."""
    mine = [row for row in rows if (row["topic"], int(row["partition"])) == (p.topic, p.partition)]
    below = [row for row in mine if int(row["source_start"]) <= position]
    if not below:
        return 0
    row = max(below, key=lambda each: int(each["source_start"]))
    return int(row["target_start"]) + min(position - int(row["source_start"]), int(row["length"]))


def exported(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def log_of(protection: Protection, cluster: str, p: TopicPartition) -> Log:
    with protection.cluster(cluster, "admin") as admin:
        end = admin.topics.last_stable_offsets([p])[p]
        return [(record.offset, record.value or b"") for record in admin.log.read({p: OffsetRange(0, end)})]


def runs_of(east: Log, west: Log) -> list[OffsetRun]:
    """Return what an audit would have matched: runs of equal records, all but the newest."""
    runs: list[OffsetRun] = []
    for (here, _), (there, _) in list(zip(east, west, strict=True))[:-_UNMATCHED]:
        last = runs[-1] if runs else None
        if last and (last.source + last.length, last.target + last.length) == (here, there):
            runs[-1] = OffsetRun(last.source, last.target, last.length + 1)
        else:
            runs.append(OffsetRun(here, there, 1))
    assert len(runs) > 1, "the copy has no marker in between, so the test shows less than it says"
    return runs
