"""A cluster is lost whose copies have other names: what it holds alone arrives late, once that is approved."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.health.health_check import check_health
from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
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


def test_what_only_the_lost_cluster_holds_is_listed_and_then_arrives_late(
    group: NamedGroup, spark: SparkSession, tmp_path: Path
) -> None:
    name, local, copy, protection = group.name, group.local, group.copy, group.protection
    group.write("east", (f"e{n}".encode() for n in range(300)))
    group.wait_copied()
    at = {f"{name}-head": (150, 150), f"{name}-slow": (17, 33)}
    read = {g: {local(0): one, local(1): two, copy(0, "west"): 0, copy(1, "west"): 0} for g, (one, two) in at.items()}
    for consumer_group, offsets in read.items():
        protection.commit("east", consumer_group, offsets)
    unread = {g: group.unread("east", offsets) for g, offsets in read.items()}
    late = [f"late{n}".encode() for n in range(20)]
    disaster = Disaster.of(SwitchedGroup(protection))
    try:
        with disaster.hanging("west-connect"):
            time.sleep(1.0)
            group.write("east", late)
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
        group.write("west", (f"w{n}".encode() for n in range(50)))
    finally:
        disaster_is_over(disaster)
    with protection.clients() as clients:
        for _ in range(3):
            check_health(name, clients)
    assert disaster.state().phase is Phase.DIVERGED
    assert not set(late) & set(_values(group, "west", "east"))

    listed = list_stranded(protection, spark, run=disaster.state().run)
    assert listed.values == sorted(late)

    def audit() -> None:
        found = Auditor(protection, spark, tmp_path)("--full", flow=f"{name}.west-to-east")
        assert found.code == 0, found.report["findings"]

    home = FailbackRun(protection, audit)
    home.begin()
    mortal = STEPS[STEPS.index(StepName.RESCUE) : STEPS.index(StepName.SETTLE)]
    died = "".join(map(home.wherever_it_dies, mortal))
    assert all(place in died for place in ("Acls.remove", "Mm2Replicator.resume", "write_fact caught_up on west"))
    home.finish(StepName.SETTLE)
    assert disaster.state().phase is Phase.STABLE
    arrived = Counter(_values(group, "west", "east"))
    assert {value: arrived[value] for value in late} == dict.fromkeys(late, 1)
    assert arrived.total() == 320
    assert Counter(_values(group, "east", "west")) == Counter(f"w{n}".encode() for n in range(50))
    assert list(group.flow_states()) == ["running", "running"]
    group.flows()
    group.wait_copied()
    group.move()
    assert group.active == "east"


def _values(group: NamedGroup, cluster: str, origin: str) -> list[bytes | None]:
    """Return what a cluster has copied of the topic of another one."""
    with group.protection.cluster(cluster, "admin") as admin:
        partitions = [group.copy(n, origin) for n in range(2)]
        from kafka_dr.offsets.translate.read_logs import held_by

        return [record.value for record in admin.log.read(held_by(admin, partitions))]
