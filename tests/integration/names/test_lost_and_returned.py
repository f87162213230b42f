"""A cluster is lost whose copies have other names: what it holds alone arrives late, once that is approved."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.health.health_check import check_health
from kafka_dr.register import Phase
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.topology.group_keys import ConfigSyncSpec
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.apply_config import apply_config
from kafka_dr.watch.config_plan import has_safe_changes, plan_config, watch_config
from lab import rights
from lab.api import Lab
from support import outside_view
from support.checksum import Auditor
from support.disaster import Disaster, disaster_is_over
from support.failback_run import STEPS, FailbackRun
from support.named_group import NamedGroup, named_protection
from support.stranding import list_stranded
from support.switched_group import SwitchedGroup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture
def group(lab: Lab, tmp_path: Path) -> Iterator[NamedGroup]:
    with named_protection(lab, tmp_path) as made:
        declared = made.group
        made.changes["timing"] = declared.timing.model_copy(update={"confirm_seconds": 0.2})
        made.changes["disaster"] = declared.disaster.model_copy(update={"probe_seconds": 2.0})
        yield NamedGroup.adopt(made)


LATE = [f"late{n}".encode() for n in range(20)]


def lost_and_back(group: NamedGroup, read: Mapping[str, Mapping[TopicPartition, int]]) -> Disaster:
    """Lose east with the last twenty records that it has accepted, move to west, and let it come back.

    Twelve of these have the key of what is written on west since, four another one and four none.

    :param read: what consumer groups had committed on east
    """
    name, local, copy, protection = group.name, group.local, group.copy, group.protection
    group.write("east", (f"e{n}".encode() for n in range(300)))
    group.wait_copied()
    for consumer_group, offsets in read.items():
        protection.commit("east", consumer_group, offsets)
    unread = {g: group.unread("east", offsets) for g, offsets in read.items()}
    disaster = Disaster.of(SwitchedGroup(protection))
    try:
        with disaster.hanging("west-connect"):
            time.sleep(1.0)
            for late, key in ((LATE[:12], b"k"), (LATE[12:16], b"on east alone"), (LATE[16:], None)):
                group.write("east", late, key)
            disaster.look()
            protection.lab.kill(disaster.broker)
        disaster.go(StepName.REPORT)
        assert disaster.state().phase is Phase.UNFENCED
        moved = outside_view.committed(protection, "west")
        for consumer_group in read:
            found = group.unread("west", moved[consumer_group])
            again = {copy(n, "east"): unread[consumer_group][local(n)] for n in range(2)}
            if consumer_group == f"{name}-slow":
                assert found == again | dict.fromkeys((local(0), local(1)))
        assert not group.refused("west", rights.PROBE, local(0))
        assert group.refused("west", rights.PROBE, copy(0, "east"))
        assert group.refused("west", rights.REPLICATOR, copy(0, "east")), "nothing arrives before it is approved"
        group.write("west", (f"w{n}".encode() for n in range(40)))
        group.write("west", (f"w{n}".encode() for n in range(40, 50)), None)
    finally:
        disaster_is_over(disaster)
    with protection.clients() as clients:
        for _ in range(3):
            check_health(name, clients)
    assert disaster.state().phase is Phase.DIVERGED
    assert not set(LATE) & set(_values(group, "west", "east"))
    assert retention(group) == "-1", "nothing expires before it is kept"
    return disaster


def retention(group: NamedGroup) -> str:
    """Return for how long the topic of payments on east keeps records."""
    topic = group.protection.topic
    with group.protection.cluster("east", "admin") as admin:
        return admin.topics.configs([topic])[topic]["retention.ms"]


def positions(group: NamedGroup, one: int, two: int) -> dict[TopicPartition, int]:
    """Return offsets in the topic of payments on east, and the beginning of the copies there."""
    return {group.local(0): one, group.local(1): two, group.copy(0, "west"): 0, group.copy(1, "west"): 0}


def listed(group: NamedGroup, spark: SparkSession, run: str) -> None:
    """List the late records, with what was written to their keys since."""
    found = list_stranded(group.protection, spark, run=run)
    assert found.values == sorted(LATE)
    counts = {name: sum(row.get(name) or 0 for row in found.summary["partitions"]) for name in ("records", "outdated")}
    assert counts == {"records": 20, "outdated": 0}
    assert sum(row["written_since"] for row in found.summary["partitions"] if row["records"]) == 12
    assert "12 of them have keys that were written on west since" in found.summary["sentence"]


def home(group: NamedGroup, audit: Auditor, late: str = "declared") -> FailbackRun:
    def audited() -> None:
        found = audit("--full", flow=f"{group.name}.west-to-east")
        assert found.code == 0, found.report["findings"]

    return FailbackRun(group.protection, audited, late=late)


def each_step_dies(run: FailbackRun) -> str:
    """Run a failback whose steps die after each change, and return where they died."""
    run.begin()
    mortal = STEPS[STEPS.index(StepName.RESCUE) : STEPS.index(StepName.SETTLE)]
    died = "".join(map(run.wherever_it_dies, mortal))
    run.finish(StepName.SETTLE)
    return died


def test_what_only_the_lost_cluster_holds_is_listed_and_then_arrives_late(
    group: NamedGroup, spark: SparkSession, tmp_path: Path
) -> None:
    disaster = lost_and_back(
        group, {f"{group.name}-head": positions(group, 150, 150), f"{group.name}-slow": positions(group, 17, 33)}
    )
    listed(group, spark, disaster.state().run)
    died = each_step_dies(home(group, Auditor(group.protection, spark, tmp_path)))
    assert all(place in died for place in ("Acls.remove", "Mm2Replicator.resume", "write_fact caught_up on west"))
    assert "Mm2Replicator.seed" not in died
    assert retention(group) != "-1"
    assert disaster.state().phase is Phase.STABLE
    arrived = Counter(_values(group, "west", "east"))
    assert {value: arrived[value] for value in LATE} == dict.fromkeys(LATE, 1)
    assert arrived.total() == 320
    assert Counter(_values(group, "east", "west")) == Counter(f"w{n}".encode() for n in range(50))
    assert list(group.flow_states()) == ["running", "running"]
    group.flows()
    group.wait_copied()
    group.move()
    assert group.active == "east"


#: What is held takes the same way, and is published nowhere: see ``unit/failback/test_late_records.py``.
@pytest.mark.parametrize("choice", ["late_to_stranded_topic", pytest.param("late_held", marks=pytest.mark.long)])
def test_late_records_that_are_not_to_be_delivered_are_passed_over_for_good(
    group: NamedGroup, spark: SparkSession, tmp_path: Path, choice: str
) -> None:
    name, local, copy, protection = group.name, group.local, group.copy, group.protection
    flow = protection.group.flow.model_copy(update={choice: (protection.topic,)})
    protection.changes["flow"] = flow
    disaster = lost_and_back(group, {f"{name}-slow": positions(group, 17, 33)})
    listed(group, spark, disaster.state().run)
    audit = Auditor(protection, spark, tmp_path)
    given_up = home(group, audit)
    given_up.begin()
    died = "".join(map(given_up.wherever_it_dies, STEPS[STEPS.index(StepName.RESCUE) : STEPS.index(StepName.CATCH_UP)]))
    assert "Mm2Replicator.seed" in died
    assert "write_fact quarantine" in died
    abandoning = ResumeRequest(name, "abandon", reason="somebody had second thoughts", confirmed=True)
    with protection.clients() as clients:
        assert resume(abandoning, clients).outcome == "done"
    # What it has passed over and published stays decided, whatever another one wishes.
    each_step_dies(home(group, audit, late="deliver"))
    assert disaster.state().phase is Phase.STABLE
    assert len(disaster.state().quarantine) == 2
    assert not set(LATE) & set(_values(group, "west", "east"))
    aside = group.values("west", *(TopicPartition(f"{protection.topic}.stranded", n) for n in range(2)))
    assert Counter(aside) == Counter(LATE if choice == "late_to_stranded_topic" else ())

    # The topic of stranded records has the prefix of the group, so it belongs to it, on both clusters.
    protection.changes["config_sync"] = ConfigSyncSpec(apply_safe=True)
    with protection.clients() as clients:
        plan_config(name, clients, "sync")
        if has_safe_changes(name, clients, "sync"):
            apply_config(name, clients, "sync", approved=False)
        assert watch_config(name, clients).outcome == "ok"

    # Nothing that was passed over counts as lost, and a group that has read the copy reads none of it on east.
    found = audit("--full", flow=f"{name}.east-to-west")
    assert found.code == 0, found.report["findings"]
    request = group.request(dry_run=True)
    with protection.clients() as clients, pytest.raises(StepFailed, match=f"{name}-slow"):
        run_step(StepName.PREFLIGHT, request, clients)
    with protection.cluster("west", "admin") as admin:
        wanted = [partition for n in range(2) for partition in (copy(n, "east"), local(n))]
        protection.commit("west", f"{name}-slow", admin.topics.high_watermarks(wanted))
    group.flows()
    group.wait_copied()
    group.move()
    assert group.active == "east"
    at_home = outside_view.committed(protection, "east")[f"{name}-slow"]
    assert set(group.unread("east", at_home).values()) == {None}

    # Who is in the middle of it continues after it.
    group.write("east", [b"new0", b"new1"])
    group.wait_copied()
    protection.commit("east", f"{name}-slow", {**at_home, local(0): 155, local(1): 152})
    group.move()
    again = outside_view.committed(protection, "west")[f"{name}-slow"]
    unread = group.unread("west", again)
    assert [unread[copy(n, "east")] for n in range(2)] == [b"new0", b"new1"]
    assert Counter(_values(group, "west", "east"))[b"new0"] == 1


def _values(group: NamedGroup, cluster: str, origin: str) -> list[bytes | None]:
    """Return what a cluster has copied of the topic of another one."""
    return group.values(cluster, *(group.copy(n, origin) for n in range(2)))
