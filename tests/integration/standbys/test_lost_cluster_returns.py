"""A lost cluster returns to a group with two standbys, and becomes one of them again; the other one notices nothing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.health.health_check import check_health
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.watch.canary_check import watch_canary
from support import outside_view
from support.checksum import Auditor
from support.failback_run import STEPS, FailbackRun
from support.stranding import Listed, list_stranded
from support.three_clusters import GroupOfThree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]
#: A connector whose source is dead needs about a minute to stop.
SECONDS = 240.0
WHY = "a test has one vantage"
#: Steps of a failback that die after each of their changes.
DIES = (StepName.RESCUE, StepName.PREPARE_OLD_CLUSTER, StepName.REVERSE_FLOW, StepName.CATCH_UP)


@pytest.fixture
def own(three: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GroupOfThree]:
    """Return a group that loses clusters; whatever is dead then runs again."""
    group = GroupOfThree.adopt(three, tmp_path_factory.mktemp("returns"))
    yield group
    dead = {process.name for process in three.status().processes if not process.running}
    group.let_return(*(name for name in three.settings.names if outside_view.broker_of(name) in dead), seconds=SECONDS)


def wait_for(group: GroupOfThree, act: Callable[[], object], cluster: str, role: str) -> None:
    """Let a check look until the record says what a cluster is."""
    deadline = time.monotonic() + SECONDS
    while group.roles[cluster] != role:
        found = act()
        assert time.monotonic() < deadline, found
        time.sleep(1)


def health(group: GroupOfThree) -> object:
    with group.protection.clients() as clients:
        return check_health(group.name, clients).sentences


def look(group: GroupOfThree) -> None:
    """Look at the active cluster as the canary does every minute."""
    with group.protection.clients() as clients:
        assert watch_canary(group.name, clients).sentences


def failback(
    group: GroupOfThree, spark: SparkSession, folder: Path, target: str, *, rescue: str = "republish"
) -> FailbackRun:
    """Return a failback of one cluster, by rebuild."""
    folder = folder / f"audits-of-{target}"
    auditor = Auditor(group.protection, spark, folder)

    def audit() -> None:
        found = auditor("--full", flow=f"{group.name}.{group.state.active}-to-{target}")
        assert found.code == 0, found.report["findings"]

    return FailbackRun(group.protection, audit, mode="rebuild", rescue=rescue, target=target)


def values(group: GroupOfThree, cluster: str) -> list[bytes | None]:
    """Return what a cluster holds of the applications' records, those in the topic of stranded ones too."""
    found, topic = group.contents(cluster), group.protection.topic
    return [value for p, log in found.items() if p.topic in (topic, f"{topic}.stranded") for _, _, value, _ in log]


def payments(group: GroupOfThree, listed: Listed) -> list[bytes]:
    """Return what a list holds of the applications' records; canaries are left out."""
    return [row["value"] for row in listed.records if row["topic"] == group.protection.topic]


def lose(group: GroupOfThree, cluster: str, target: str) -> str:
    """Kill a cluster, and move the group to another one without it; return the run."""
    look(group)
    group.protection.lab.kill(outside_view.broker_of(cluster))
    group.give_up(cluster, target, override=WHY)
    return group.state.run


def test_the_lost_cluster_becomes_a_copy_again_and_the_group_goes_back_to_it(
    own: GroupOfThree, spark: SparkSession, tmp_path: Path
) -> None:
    protection = own.protection
    protection.produce("east", 100)
    own.wait_equal()
    own.stop_flow("east", "west")
    own.stop_flow("east", "north")
    protection.produce("east", 30)
    disaster = lose(own, "east", "west")
    wait_for(own, own.flows, "north", "copy")
    protection.produce("west", 40)

    own.let_return("east", seconds=SECONDS)
    wait_for(own, lambda: health(own), "east", "diverged")
    assert protection.refuses_writes("east")
    listed = list_stranded(protection, spark, run=disaster)
    assert len(payments(own, listed)) == 30
    before = own.flow_status("west", "north")
    repair = failback(own, spark, tmp_path, "east")
    repair.begin()
    assert own.roles == {"east": "diverged", "west": "active", "north": "copy"}
    protection.produce("west", 10)
    own.wait_equal_between("west", "north")
    for step in STEPS[STEPS.index(StepName.RESCUE) :]:
        if step is StepName.SETTLE:
            repair.audit()
        if step in DIES:
            repair.wherever_it_dies(step)
        else:
            repair.step(step)
        assert own.roles["north"] == "copy"
        assert own.flow_status("west", "north") == before
    assert own.roles == {"east": "copy", "west": "active", "north": "copy"}
    assert (own.state.phase, own.state.verb) == ("stable", "failback")

    own.wait_equal()
    found = Counter(values(own, "east"))
    assert set(payments(own, listed)) <= set(found)
    assert (len(found), max(found.values())) == (180, 1)

    own.move("west", "east")
    assert own.roles["west"] == "copy"
    wait_for(own, own.flows, "north", "copy")
    protection.produce("east", 10)
    own.wait_equal()
    found = Counter(values(own, "north"))
    assert (len(found), max(found.values())) == (190, 1)


def test_what_a_survivor_holds_is_on_one_list_alone_and_comes_back_once(
    own: GroupOfThree, spark: SparkSession, tmp_path: Path
) -> None:
    protection = own.protection
    protection.produce("east", 60)
    own.wait_equal()
    own.stop_flow("east", "west")
    protection.produce("east", 40)
    protection.wait_copied(source="east", target="north")
    own.stop_flow("east", "north")
    protection.produce("east", 20)
    # Else what north holds more would be fetched before west is opened, and be on no list.
    timing = protection.group.timing.model_copy(update={"fetch_seconds": 0.0})
    with protection.changed(timing=timing):
        disaster = lose(own, "east", "west")
        wait_for(own, own.flows, "north", "diverged")
    protection.produce("west", 10)
    own.let_return("east", seconds=SECONDS)
    wait_for(own, lambda: health(own), "east", "diverged")

    of_north = list_stranded(protection, spark, run=f"{disaster}.north", cluster="north")
    assert payments(own, of_north) == []
    assert [(each["cluster"], each["records"]) for each in of_north.summary["elsewhere"]] == [("east", 40)]
    of_east = list_stranded(protection, spark, run=disaster, cluster="east")
    assert len(payments(own, of_east)) == 20
    assert [(each["cluster"], each["records"]) for each in of_east.summary["elsewhere"]] == [("north", 40)]

    first = failback(own, spark, tmp_path, "east")
    first.begin()
    first.finish()
    assert own.roles == {"east": "copy", "west": "active", "north": "diverged"}
    assert own.state.phase == "diverged"
    # What is on no list is no longer on east, either.
    second = failback(own, spark, tmp_path, "north")
    assert "and that changed" in str([each.detail for each in second.failed(StepName.PREFLIGHT).checks])
    of_north = list_stranded(protection, spark, run=f"{disaster}.north", cluster="north")
    assert len(payments(own, of_north)) == 40
    second = failback(own, spark, tmp_path, "north")
    second.begin()
    second.finish()
    assert own.roles == {"east": "copy", "west": "active", "north": "copy"}
    assert own.state.phase == "stable"
    own.wait_equal()
    found = Counter(values(own, "north"))
    assert (len(found), max(found.values())) == (130, 1)


def test_the_sound_standby_takes_over_while_the_lost_one_is_copied_again(
    own: GroupOfThree, spark: SparkSession, tmp_path: Path
) -> None:
    protection = own.protection
    protection.produce("east", 50)
    own.wait_equal()
    disaster = lose(own, "east", "west")
    wait_for(own, own.flows, "north", "copy")
    own.let_return("east", seconds=SECONDS)
    wait_for(own, lambda: health(own), "east", "diverged")
    list_stranded(protection, spark, run=disaster)
    repair = failback(own, spark, tmp_path, "east", rescue="keep")
    repair.begin()
    for step in (StepName.RESCUE, StepName.PREPARE_OLD_CLUSTER, StepName.REVERSE_FLOW):
        repair.step(step)
    protection.produce("west", 20)
    own.wait_equal_between("west", "north")
    again = lose(own, "west", "north")
    assert own.roles == {"east": "diverged", "west": "unfenced", "north": "active"}
    assert protection.takes_writes("north")
    with pytest.raises(StepFailed):
        repair.step(StepName.CATCH_UP)
    with protection.clients() as clients, pytest.raises(Exception, match="holds"):
        resume(ResumeRequest(own.name, "abandon", repair.run, reason="a test"), clients)
    produced = Counter(values(own, "north"))
    assert (len(produced), max(produced.values())) == (70, 1)

    own.let_return("west", seconds=SECONDS)
    wait_for(own, lambda: health(own), "west", "diverged")
    deadline = time.monotonic() + SECONDS
    while "stopped" not in own.flow_status("west", "east"):
        assert time.monotonic() < deadline, health(own)
        time.sleep(1)
    for cluster, run in (("west", again), ("east", f"{again}.east")):
        listed = list_stranded(protection, spark, run=run, cluster=cluster)
        assert payments(own, listed) == []
        last = failback(own, spark, tmp_path, cluster, rescue="keep")
        last.begin()
        last.finish()
    assert own.roles == {"east": "copy", "west": "copy", "north": "active"}
    assert own.state.phase == "stable"
    protection.produce("north", 10)
    own.wait_equal()
    found = Counter(values(own, "east"))
    assert (len(found), max(found.values())) == (80, 1)


def test_a_planned_failover_passes_by_the_lost_cluster_which_becomes_a_copy_again_after_it(
    own: GroupOfThree, spark: SparkSession, tmp_path: Path
) -> None:
    protection = own.protection
    protection.produce("east", 60)
    own.wait_equal()
    own.stop_flow("east", "west")
    own.stop_flow("east", "north")
    protection.produce("east", 20)
    lose(own, "east", "west")
    wait_for(own, own.flows, "north", "copy")
    with pytest.raises(StepFailed, match="only an unplanned failover may move it"):
        own.move("west", "north")
    protection.produce("west", 20)
    own.let_return("east", seconds=SECONDS)
    wait_for(own, lambda: health(own), "east", "diverged")
    own.wait_equal_between("west", "north")

    moved = own.move("west", "north")
    (asked,) = [each for each in moved[0].checks if each.name == "left_clusters_refuse"]
    assert (asked.outcome, asked.detail) == ("ok", "east refuses writes, as before")
    assert own.roles == {"east": "diverged", "north": "active", "west": "copy"}
    assert own.state.phase == "diverged"
    assert protection.takes_writes("north")
    assert protection.refuses_writes("east")
    assert protection.refuses_writes("west")
    protection.produce("north", 10)
    assert "east" not in str(own.flows().sentences)
    own.wait_equal_between("north", "west")

    listed = list_stranded(protection, spark, run=f"{own.state.run}.east", cluster="east")
    assert len(payments(own, listed)) == 20
    repair = failback(own, spark, tmp_path, "east")
    repair.begin()
    repair.finish()
    assert own.roles == {"east": "copy", "north": "active", "west": "copy"}
    assert own.state.phase == "stable"
    own.wait_equal()
    found = Counter(values(own, "east"))
    assert set(payments(own, listed)) <= set(found)
    assert (len(found), max(found.values())) == (110, 1)
