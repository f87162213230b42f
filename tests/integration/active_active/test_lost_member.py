"""A member is lost with records that no other member has: its clients continue elsewhere, and it comes back."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.group_offsets import local_groups
from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from support import outside_view
from support.checksum import Auditor
from support.disaster import Disaster, disaster_is_over
from support.failback_run import FailbackRun
from support.members import Members
from support.stranding import list_stranded
from support.switched_group import SwitchedGroup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]

LATE = [f"late{n}".encode() for n in range(20)]


def test_its_clients_continue_at_another_member_and_what_it_alone_holds_arrives_late(
    members: Members, spark: SparkSession, tmp_path: Path
) -> None:
    east, west = members["east"], members["west"]
    east.write("east", (f"e{n}".encode() for n in range(100)))
    west.write("west", (f"w{n}".encode() for n in range(60)))
    members.wait_copied()
    local, rest = (f"{east.name}-{name}" for name in ("local", "rest"))
    members.read_locally(local, rest=rest)
    read = {east.local(0): 10, east.local(1): 50}
    east.protection.commit("east", local, read)
    disaster = Disaster.of(SwitchedGroup(east.protection))
    disaster.look()
    try:
        with disaster.hanging("west-connect"):
            time.sleep(1.0)
            east.write("east", LATE)
            east.protection.lab.kill(disaster.broker)
        records = disaster.go(StepName.REPORT)
        (said,) = (each for each in records[StepName.GATHER_EVIDENCE].checks if each.name == local_groups.NAME)
        assert f"{local} at most 40 records" in said.detail
        assert f"{rest}-east reads what {local} has left" in said.detail
        there = outside_view.committed(east.protection, "west")
        assert there[f"{rest}-east"] == {members.log(p.partition, "east", "west"): at for p, at in read.items()}
        assert not there.keys() & {local, f"{rest}-west"}, "nothing else of it is set"
        assert disaster.state().phase is Phase.UNFENCED
        assert not members.refused("west")
        west.write("west", (f"both{n}".encode() for n in range(40)))
    finally:
        disaster_is_over(disaster)
    for _ in range(3):
        members.check_health()
    assert disaster.state().phase is Phase.DIVERGED
    assert members.refused("east")
    assert not members.refused("west")
    logs = {origin: members.log(0, origin, other).topic for origin, other in (("east", "west"), ("west", "east"))}
    assert not set(LATE) & set(members.values_of("west", logs["east"])), "nothing arrives before it is approved"

    found = list_stranded(east.protection, spark, run=disaster.state().run)
    assert found.values == sorted(LATE)
    audit = Auditor(east.protection, spark, tmp_path)

    def audited() -> None:
        found = audit("--full", flow=f"{west.name}.west-to-east")
        assert found.code == 0, found.report["findings"]

    home = FailbackRun(east.protection, audited)
    home.begin()
    home.finish()
    assert disaster.state().phase is Phase.STABLE
    members.flows()
    assert east.move()[StepName.REPORT].good
    assert (east.active, west.active) == ("east", "west")
    members.wait_copied()
    arrived = Counter(members.values_of("west", logs["east"]))
    assert {value: arrived[value] for value in LATE} == dict.fromkeys(LATE, 1)
    assert arrived.total() == 120
    assert Counter(members.values_of("east", logs["west"])) == Counter(members.values_of("west", west.local(0).topic))
