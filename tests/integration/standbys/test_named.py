"""Three clusters whose copies have other names: each holds copies of both others, and groups move between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.health.health_check import check_health
from kafka_dr.watch.canary_check import watch_canary
from lab import rights
from support import outside_view
from support.checksum import Auditor
from support.failback_run import FailbackRun
from support.named_group import NamedProtection
from support.stranding import list_stranded
from support.three_clusters import GroupOfThree
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]
#: A connector whose source is dead needs about a minute to stop.
SECONDS = 240.0
CLUSTERS = ("east", "west", "north")


@pytest.fixture(scope="module")
def group(three: Lab, tmp_path_factory: pytest.TempPathFactory) -> GroupOfThree:
    protection = NamedProtection(three, tmp_path_factory.mktemp("named"), changes={"clusters": CLUSTERS})
    protection.name_copies()
    made = GroupOfThree.adopt_as(protection)
    eventually(lambda: {made.flow_status(*ends).split()[0] for ends in permutations(CLUSTERS, 2)} == {"running"})
    return made


def logs(group: GroupOfThree, cluster: str) -> dict[str, list[TopicPartition]]:
    """Return what a cluster holds of the payments of each cluster."""
    found = {}
    for origin in CLUSTERS:
        naming = group.protection.group.naming(origin, cluster) if origin != cluster else None
        name = group.protection.topic if naming is None else str(naming.copy_of(group.protection.topic))
        found[origin] = [TopicPartition(name, number) for number in range(2)]
    return found


def values(group: GroupOfThree, cluster: str) -> dict[TopicPartition, list[bytes | None]]:
    """Return the values of all records of the payments on a cluster, by log."""
    wanted = [p for of in logs(group, cluster).values() for p in of]
    with group.protection.cluster(cluster, "admin") as admin:
        ends = admin.topics.last_stable_offsets(wanted)
        found: dict[TopicPartition, list[bytes | None]] = {p: [] for p in wanted}
        for record in admin.log.read({p: OffsetRange(0, end) for p, end in ends.items() if end}):
            found[record.topic_partition].append(record.value)
    return found


def write(group: GroupOfThree, cluster: str, count: int, named: str = "") -> None:
    with group.protection.cluster(cluster, rights.ORDERS_APP) as client:
        client.writing.append(
            NewRecord(logs(group, cluster)[cluster][n % 2], b"k", f"{named or cluster}-{n}".encode())
            for n in range(count)
        )


def unread(group: GroupOfThree, cluster: str, offsets: Mapping[TopicPartition, int]) -> dict[str, bytes | None]:
    """Return the value that comes next in each log, by origin and partition; ``None`` at its end."""
    found: dict[str, bytes | None] = {}
    with group.protection.cluster(cluster, "admin") as admin:
        for origin, partitions in logs(group, cluster).items():
            for p in partitions:
                end = admin.topics.high_watermarks([p])[p]
                rest = admin.log.read({p: OffsetRange(offsets[p], end)}) if offsets[p] < end else ()
                found[f"{origin}-{p.partition}"] = next((record.value for record in rest), None)
    return found


def wait_copied(group: GroupOfThree) -> None:
    for source, target in permutations(CLUSTERS, 2):
        group.protection.wait_copied(source=source, target=target)


def test_a_group_moves_round_all_clusters_and_continues_in_each_log_at_the_exact_record(group: GroupOfThree) -> None:
    protection, readers = group.protection, f"{group.name}-slow"
    for number, (source, target) in enumerate([("east", "west"), ("west", "north"), ("north", "east")]):
        write(group, source, 60)
        wait_copied(group)
        # Each log is read to another offset.
        ends = {p: len(found) for p, found in values(group, source).items()}
        at = {p: min(end, 5 * number + 7 * n) for n, (p, end) in enumerate(sorted(ends.items()))}
        protection.commit(source, readers, at)
        before = unread(group, source, at)
        group.move(source, target)
        assert group.roles == {name: "active" if name == target else "copy" for name in CLUSTERS}
        moved = outside_view.committed(protection, target)[readers]
        assert set(at) != set(moved)
        assert unread(group, target, moved) == before
        assert group.flows().outcome == "ok"
        with protection.clients() as clients:
            health = check_health(group.name, clients)
        assert health.outcome == "ok", health.sentences
    wait_copied(group)
    held = {name: sorted(v for of in values(group, name).values() for v in of if v) for name in CLUSTERS}
    assert held["east"] == held["west"] == held["north"]
    assert len(held["east"]) == 180


def test_what_a_lost_cluster_holds_alone_reaches_every_other_one_late_and_no_flow_of_it_runs_before(
    group: GroupOfThree, spark: SparkSession, tmp_path: Path
) -> None:
    protection, readers, active = group.protection, f"{group.name}-head", group.state.active
    first, second = (name for name in CLUSTERS if name != active)
    write(group, active, 60, "before")
    wait_copied(group)
    at = {p: min(len(found), 6) for p, found in values(group, active).items()}
    protection.commit(active, readers, at)
    before = unread(group, active, at)
    for standby in (first, second):
        group.stop_flow(active, standby)
    write(group, active, 10, "late")
    with protection.clients() as clients:
        assert watch_canary(group.name, clients).sentences
    protection.lab.kill(outside_view.broker_of(active))
    group.give_up(active, first, override="a test has one vantage")
    assert group.roles == {active: "unfenced", first: "active", second: "copy"}
    moved = outside_view.committed(protection, first)[readers]
    found = unread(group, first, moved)
    assert {name: value for name, value in found.items() if name.startswith(active)} == {
        name: value for name, value in before.items() if name.startswith(active)
    }
    for name, p in ((name, p) for name, of in logs(group, first).items() if name != active for p in of):
        assert moved[p] <= max(at.values()), "it may read again, and misses nothing"
        assert found[f"{name}-{p.partition}"] is not None or not values(group, first)[p]
    write(group, first, 20, "after")

    group.let_return(active, seconds=SECONDS)

    def fenced() -> bool:
        with protection.clients() as clients:
            check_health(group.name, clients)
        group.flows()
        return group.roles[active] == "diverged"

    eventually(fenced, seconds=SECONDS)
    group.flows()
    for cluster in (first, second):
        assert refused(group, cluster, rights.REPLICATOR, logs(group, cluster)[active][0])
        assert not [v for p in logs(group, cluster)[active] for v in values(group, cluster)[p] if b"late" in (v or b"")]
    listed = list_stranded(protection, spark, run=group.state.run)
    of_canary = [each["value"] for each in listed.records if each["topic"] != protection.topic]
    assert sorted({*listed.values} - {*of_canary}) == sorted(f"late-{n}".encode() for n in range(10))

    def audit() -> None:
        judged = Auditor(protection, spark, tmp_path)("--full", flow=f"{group.name}.{first}-to-{active}")
        assert judged.code == 0, judged.report["findings"]

    failback = FailbackRun(protection, audit, target=active)
    failback.begin()
    failback.finish()
    assert set(group.roles.values()) == {"active", "copy"}
    eventually(lambda: group.flows().outcome == "ok", seconds=SECONDS)
    wait_copied(group)
    held = {name: Counter(v for of in values(group, name).values() for v in of) for name in CLUSTERS}
    assert held["east"] == held["west"] == held["north"]
    for kind, count in (("before", 60), ("late", 10), ("after", 20)):
        wanted = {f"{kind}-{n}".encode(): 1 for n in range(count)}
        assert {v: n for v, n in held[first].items() if v and v.startswith(kind.encode())} == wanted
    group.move(first, second)
    assert group.state.active == second


def refused(group: GroupOfThree, cluster: str, principal: str, partition: TopicPartition) -> bool:
    """Return whether a principal may not write there, by trying."""
    with group.protection.cluster(cluster, principal) as client:
        return {answer.verdict for answer in client.write_permission.ask([partition])} == {"refused"}
