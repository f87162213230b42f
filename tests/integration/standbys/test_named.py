"""Three clusters whose copies have other names: each holds copies of both others, and groups move between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from kafka_dr.checks.recorded_audits import record_inputs
from kafka_dr.clusters import TopicPartition
from kafka_dr.health.health_check import check_health
from kafka_dr.replication.flow import Flow
from kafka_dr.rescue.fetching import Fetch
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.watch.canary_check import watch_canary
from lab import rights
from support import outside_view
from support.checksum import Auditor
from support.failback_run import FailbackRun
from support.named_group import NamedGroup, NamedProtection
from support.stranding import list_stranded
from support.switched_group import Killed
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
def named(three: Lab, tmp_path_factory: pytest.TempPathFactory) -> NamedGroup:
    protection = NamedProtection(three, tmp_path_factory.mktemp("named"), changes={"clusters": CLUSTERS})
    protection.name_copies()
    return NamedGroup(protection)


@pytest.fixture(scope="module")
def group(named: NamedGroup) -> GroupOfThree:
    made = GroupOfThree.adopt_as(named.protection)
    eventually(lambda: {made.flow_status(*ends).split()[0] for ends in permutations(CLUSTERS, 2)} == {"running"})
    return made


def logs(named: NamedGroup, cluster: str) -> dict[str, list[TopicPartition]]:
    """Return what a cluster holds of the payments of each cluster."""
    return {origin: [named.log(number, origin, cluster) for number in range(2)] for origin in CLUSTERS}


def values(named: NamedGroup, cluster: str) -> dict[TopicPartition, list[bytes | None]]:
    """Return the values of all records of the payments on a cluster, by log."""
    return {p: named.values(cluster, p) for of in logs(named, cluster).values() for p in of}


def unread(named: NamedGroup, cluster: str, offsets: Mapping[TopicPartition, int]) -> dict[str, bytes | None]:
    """Return the value that comes next in each log, by origin and partition; ``None`` at its end."""
    found = named.unread(cluster, offsets)
    return {f"{origin}-{p.partition}": found[p] for origin, of in logs(named, cluster).items() for p in of}


def numbered(kind: str, count: int) -> list[bytes]:
    return [f"{kind}-{n}".encode() for n in range(count)]


def wait_copied(group: GroupOfThree) -> None:
    for source, target in permutations(CLUSTERS, 2):
        group.protection.wait_copied(source=source, target=target)


def returned_and_fenced(group: GroupOfThree, lost: str) -> None:
    """Let a lost cluster return, and look as ``dr_health`` and ``dr_flows`` do until it is fenced."""
    group.let_return(lost, seconds=SECONDS)

    def fenced() -> bool:
        with group.protection.clients() as clients:
            check_health(group.name, clients)
        group.flows()
        return group.roles[lost] == "diverged"

    eventually(fenced, seconds=SECONDS)


def test_a_group_moves_round_all_clusters_and_continues_in_each_log_at_the_exact_record(
    group: GroupOfThree, named: NamedGroup
) -> None:
    protection, readers = group.protection, f"{group.name}-slow"
    for number, (source, target) in enumerate([("east", "west"), ("west", "north"), ("north", "east")]):
        named.write(source, numbered(source, 60))
        wait_copied(group)
        # Each log is read to another offset.
        ends = {p: len(found) for p, found in values(named, source).items()}
        at = {p: min(end, 5 * number + 7 * n) for n, (p, end) in enumerate(sorted(ends.items()))}
        protection.commit(source, readers, at)
        before = unread(named, source, at)
        group.move(source, target)
        assert group.roles == {name: "active" if name == target else "copy" for name in CLUSTERS}
        moved = outside_view.committed(protection, target)[readers]
        assert set(at) != set(moved)
        assert unread(named, target, moved) == before
        assert group.flows().outcome == "ok"
        with protection.clients() as clients:
            health = check_health(group.name, clients)
        assert health.outcome == "ok", health.sentences
    wait_copied(group)
    held = {name: sorted(v for of in values(named, name).values() for v in of if v) for name in CLUSTERS}
    assert held["east"] == held["west"] == held["north"]
    assert len(held["east"]) == 180


def test_what_a_lost_cluster_holds_alone_reaches_every_other_one_late_and_no_flow_of_it_runs_before(
    group: GroupOfThree, named: NamedGroup, spark: SparkSession, tmp_path: Path
) -> None:
    protection, readers, active = group.protection, f"{group.name}-head", group.state.active
    first, second = (name for name in CLUSTERS if name != active)
    named.write(active, numbered("before", 60))
    wait_copied(group)
    at = {p: min(len(found), 6) for p, found in values(named, active).items()}
    protection.commit(active, readers, at)
    before = unread(named, active, at)
    for standby in (first, second):
        group.stop_flow(active, standby)
    named.write(active, numbered("late", 10))
    with protection.clients() as clients:
        assert watch_canary(group.name, clients).sentences
    protection.lab.kill(outside_view.broker_of(active))
    group.give_up(active, first, override="a test has one vantage")
    assert group.roles == {active: "unfenced", first: "active", second: "copy"}
    moved = outside_view.committed(protection, first)[readers]
    found = unread(named, first, moved)
    assert {name: value for name, value in found.items() if name.startswith(active)} == {
        name: value for name, value in before.items() if name.startswith(active)
    }
    for name, p in ((name, p) for name, of in logs(named, first).items() if name != active for p in of):
        assert moved[p] <= max(at.values()), "it may read again, and misses nothing"
        assert found[f"{name}-{p.partition}"] is not None or not values(named, first)[p]
    named.write(first, numbered("after", 20))

    returned_and_fenced(group, active)
    group.flows()
    for cluster in (first, second):
        assert named.refused(cluster, rights.REPLICATOR, named.log(0, active, cluster))
        assert not [v for p in logs(named, cluster)[active] for v in values(named, cluster)[p] if b"late" in (v or b"")]
    listed = list_stranded(protection, spark, run=group.state.run)
    of_canary = [each["value"] for each in listed.records if each["topic"] != protection.topic]
    assert sorted({*listed.values} - {*of_canary}) == sorted(numbered("late", 10))

    def audit() -> None:
        judged = Auditor(protection, spark, tmp_path)("--full", flow=f"{group.name}.{first}-to-{active}")
        assert judged.code == 0, judged.report["findings"]

    failback = FailbackRun(protection, audit, target=active)
    failback.begin()
    failback.finish()
    assert set(group.roles.values()) == {"active", "copy"}
    eventually(lambda: group.flows().outcome == "ok", seconds=SECONDS)
    wait_copied(group)
    held = {name: Counter(v for of in values(named, name).values() for v in of) for name in CLUSTERS}
    assert held["east"] == held["west"] == held["north"]
    for kind, count in (("before", 60), ("late", 10), ("after", 20)):
        wanted = dict.fromkeys(numbered(kind, count), 1)
        assert {v: n for v, n in held[first].items() if v and v.startswith(kind.encode())} == wanted
    group.move(first, second)
    assert group.state.active == second


def test_what_a_further_standby_has_more_is_fetched_and_its_cluster_does_not_deliver_it_again(
    group: GroupOfThree, named: NamedGroup, spark: SparkSession, tmp_path: Path
) -> None:
    protection, readers, active = group.protection, f"{group.name}-between", group.state.active
    first, second = (name for name in CLUSTERS if name != active)
    named.write(active, numbered("both", 60))
    wait_copied(group)
    group.stop_flow(active, first)
    named.write(active, numbered("more", 40))
    protection.wait_copied(source=active, target=second)
    # It has read a part of what one standby lacks.
    at = {p: len(found) for p, found in values(named, active).items()}
    at |= {p: end - 6 for p, end in at.items() if p.topic == protection.topic}
    protection.commit(active, readers, at)
    before = unread(named, active, at)
    group.stop_flow(active, second)
    named.write(active, numbered("alone", 10))
    with protection.clients() as clients:
        assert watch_canary(group.name, clients).sentences
    protection.lab.kill(outside_view.broker_of(active))
    records = group.give_up(active, first, override="a test has one vantage")
    fetched = records[StepName.FENCE].facts["fetched"]
    assert (fetched["left"], fetched["standbys"]) == ([], [second])
    assert fetched["records"] >= 40
    (said,) = records[StepName.GATHER_EVIDENCE].facts["measurements"]["others_hold"]
    assert "it arrives late, once the lost cluster is back" in said
    there = {cluster: held_of(named, cluster, active) for cluster in (first, second)}
    assert there[first] == there[second]
    assert {v: there[first][v] for v in numbered("more", 40)} == dict.fromkeys(numbered("more", 40), 1)
    found = unread(named, first, outside_view.committed(protection, first)[readers])
    of_lost = {name: value for name, value in before.items() if name.startswith(active)}
    assert {name: found[name] for name in of_lost} == of_lost
    assert named.refused(first, rights.REPLICATOR, named.log(0, active, first))
    assert named.refused(second, rights.REPLICATOR, named.log(0, active, second))
    named.write(first, numbered("since", 20))

    returned_and_fenced(group, active)
    listed = list_stranded(protection, spark, run=group.state.run)
    of_canary = [each["value"] for each in listed.records if each["topic"] != protection.topic]
    assert sorted({*listed.values} - {*of_canary}) == sorted(numbered("alone", 10))

    def audit() -> None:
        judged = Auditor(protection, spark, tmp_path)("--full", flow=f"{group.name}.{first}-to-{active}")
        assert judged.code == 0, judged.report["findings"]

    failback = FailbackRun(protection, audit, target=active)
    failback.begin()
    assert "Mm2Replicator.seed" in failback.wherever_it_dies(StepName.RESCUE) + "".join(
        map(failback.wherever_it_dies, (StepName.PREPARE_OLD_CLUSTER, StepName.REVERSE_FLOW))
    )
    failback.finish(StepName.CATCH_UP)
    assert set(group.roles.values()) == {"active", "copy"}
    eventually(lambda: group.flows().outcome == "ok", seconds=SECONDS)
    wait_copied(group)
    held = {name: Counter(v for of in values(named, name).values() for v in of) for name in CLUSTERS}
    assert held["east"] == held["west"] == held["north"]
    for kind, count in (("both", 60), ("more", 40), ("alone", 10), ("since", 20)):
        wanted = dict.fromkeys(numbered(kind, count), 1)
        assert {v: n for v, n in held[first].items() if v and v.startswith(kind.encode())} == wanted
    assert Auditor(protection, spark, tmp_path)("--full", flow=f"{group.name}.{active}-to-{first}").code == 0
    with protection.clients() as clients:
        record_inputs(clients, Flow(group.name, active, first))  # as the task of an audit does

    # Offsets before, among and after what was fetched are exact again, there and back.
    for number, (source, target) in enumerate([(first, active), (active, first)]):
        ends = {p: len(each) for p, each in values(named, source).items()}
        at = {p: max(0, end - 13 - 20 * number) for p, end in ends.items()}
        protection.commit(source, readers, at)
        before = unread(named, source, at)
        group.move(source, target)
        assert unread(named, target, outside_view.committed(protection, target)[readers]) == before
        eventually(lambda: group.flows().outcome == "ok", seconds=SECONDS)
        wait_copied(group)


def test_a_flow_continues_after_what_a_failover_fetched_that_was_given_up(
    group: GroupOfThree, named: NamedGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    protection, active = group.protection, group.state.active
    first, second = (name for name in CLUSTERS if name != active)
    wait_copied(group)
    group.stop_flow(active, first)
    named.write(active, numbered("given up", 40))
    protection.wait_copied(source=active, target=second)
    with protection.clients() as clients:
        assert watch_canary(group.name, clients).sentences
    protection.lab.kill(outside_view.broker_of(active))

    def run(fetch: Fetch) -> None:
        real_run(fetch)
        raise Killed

    real_run = Fetch.run
    with monkeypatch.context() as patched:
        patched.setattr(Fetch, "run", run)
        with pytest.raises(Killed):
            group.give_up(active, first, override="a test has one vantage")
    assert held_of(named, first, active)[b"given up-39"] == 1
    with protection.clients() as clients:
        resume(ResumeRequest(group.name, "abandon", reason="a test", confirmed=True), clients)
    assert group.roles == {active: "active", first: "copy", second: "copy"}
    group.let_return(active, seconds=SECONDS)
    named.write(active, numbered("after that", 10))
    eventually(lambda: group.flows().outcome == "ok", seconds=SECONDS)
    wait_copied(group)
    found = {cluster: held_of(named, cluster, active) for cluster in CLUSTERS}
    assert found[first] == found[second] == found[active]
    for value in (*numbered("given up", 40), *numbered("after that", 10)):
        assert found[first][value] == 1


def held_of(named: NamedGroup, cluster: str, origin: str) -> Counter[bytes | None]:
    """Return the values of all records that a cluster holds of the payments of one cluster."""
    return Counter(v for p in logs(named, cluster)[origin] for v in named.values(cluster, p))
