"""One spoke and two hubs: readers move from hub to hub at the exact record, and a report knows when it may run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.checks.complete_up_to import SpokeOnHub, complete_up_to
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.request import StepName
from lab import rights
from support import outside_view
from support.auditing import topology_file
from support.checksum import Auditor
from support.command_line import called
from support.members import Members, members_of
from support.three_clusters import GroupOfThree

if TYPE_CHECKING:
    from airflow.sdk.bases.sensor import PokeReturnValue
    from pyspark.sql import SparkSession

    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture
def hubs(three: Lab, tmp_path: Path) -> Iterator[Members]:
    with members_of(three, tmp_path, hubs=("west", "north")) as made:
        yield made


def test_readers_move_from_hub_to_hub_at_the_exact_record_of_the_spoke(hubs: Members) -> None:
    east, west = hubs["east"], hubs["west"]
    assert set(hubs.ends) == {("east", "west"), ("east", "north"), ("west", "north"), ("north", "west")}
    with east.protection.cluster("east", "admin") as admin:
        assert not [name for name in admin.topics.names() if f".{west.name}" in name], "a spoke holds no copies"
    east.write("east", (f"e{n}".encode() for n in range(60)))
    hubs.wait_copied()
    for hub in ("west", "north"):
        for who in (rights.PROBE, rights.ORDERS_APP):
            assert east.refused(hub, who, hubs.log(0, "east", hub)), "nobody but replication writes to a copy"
    readers = f"{west.name}-moves"
    at = {hubs.log(n, "east", "west"): 7 + n for n in range(2)} | {hubs.log(n, "north", "west"): 0 for n in range(2)}
    west.protection.commit("west", readers, at | {west.local(n): 0 for n in range(2)})
    copies = {hubs.log(n, "east", "west"): 7 + n for n in range(2)}
    before = {p.partition: value for p, value in west.unread("west", copies).items()}
    assert west.move(west.request_to("north"))[StepName.REPORT].good
    moved = outside_view.committed(west.protection, "north")[readers]
    continues = west.unread(
        "north", {p: at for p, at in moved.items() if p.topic == hubs.log(0, "east", "north").topic}
    )
    assert {p.partition: value for p, value in continues.items()} == before
    assert not hubs.refused("east"), "spokes take writes all the time"
    for group in hubs.values():
        with group.protection.clients() as clients:
            found = check_health(group.name, clients)
        assert found.outcome == "ok", found


def test_a_hub_is_complete_up_to_the_last_audit_that_has_verified_all_that_was_there(
    hubs: Members, spark: SparkSession, tmp_path: Path
) -> None:
    east = hubs["east"]
    block = east.name.rpartition("-")[0]
    audit = Auditor(east.protection, spark, tmp_path)

    def audited(hub: str) -> SpokeOnHub:
        audit(flow=f"{east.name}.east-to-{hub}")
        with east.protection.clients() as clients:
            (found,) = (each for each in complete_up_to(block, hub, clients) if each.spoke == "east")
        return found

    with east.protection.clients() as clients:
        assert {each.at for each in complete_up_to(block, "west", clients)} == {None}, "nothing is audited"
    east.write("east", (f"e{n}".encode() for n in range(40)))
    hubs.wait_copied()
    first = audited("west")
    assert first.at is not None
    GroupOfThree(east.protection).stop_flow("east", "west")
    east.write("east", (f"late{n}".encode() for n in range(10)))
    late = audited("west")
    assert late.at is None or late.at == first.at, "what is not there yet does not count"
    on_other = audited("north")
    assert on_other.at is not None
    assert on_other.at > first.at
    hubs.flows()
    hubs.wait_copied()
    after = audited("west")
    assert after.at is not None
    assert after.at > on_other.at
    silent = audited("west")
    assert silent.at is not None
    assert silent.at > after.at, "a spoke that nobody writes to is complete up to its last audit"


def test_a_report_of_others_waits_in_airflow_for_all_spokes(
    hubs: Members, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    from kafka_dr_airflow.sensors.spokes_complete import SpokesCompleteSensor

    east = hubs["east"]
    lab, block = east.protection.lab, east.name.rpartition("-")[0]
    before = datetime.now(UTC)
    east.write("east", (f"e{n}".encode() for n in range(40)))
    hubs.wait_copied()
    audit = Auditor(east.protection, spark, tmp_path)
    audit(flow=f"{east.name}.east-to-west")
    principals = {"operator": rights.OPERATOR, "audit": rights.AUDIT}
    for name, (role, principal) in product(lab.settings.names, principals.items()):
        settings = {"conn_type": "kafka", "extra": lab.client_settings(name, principal)}
        monkeypatch.setenv(f"AIRFLOW_CONN_KAFKA_{name}_{role}".upper(), json.dumps(settings))
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(topology_file(east.protection)))

    environ = {name: value for name, value in os.environ.items() if name.startswith(("AIRFLOW_CONN_", "KAFKA_DR"))}

    def said(*options: str) -> tuple[int, dict[str, str | None]]:
        answer = called("complete", block, *options, "--json", **environ)
        return answer.code, {row["spoke"]: row["complete_up_to"] for row in answer.json}

    code, on_west = said("west", "--up-to", before.isoformat())
    assert (code, set(on_west)) == (0, {"east"})
    assert said("west", "--up-to", datetime.now(UTC).isoformat())[0] == 1, "not yet"
    assert said("north", "--up-to", before.isoformat()) == (3, {"east": None}), "unknown is never complete"
    assert called("complete", block, "west", "--up-to", "yesterday", **environ).code == 2

    def looked(hub: str, up_to: datetime) -> PokeReturnValue:
        sensor = SpokesCompleteSensor(task_id="complete", block=block, hub=hub, up_to=up_to.isoformat())
        return sensor.poke({})

    found = looked("west", before)
    assert found.is_done
    assert before < datetime.fromisoformat(found.xcom_value) < datetime.now(UTC)
    assert not looked("west", datetime.now(UTC)).is_done, "not yet"
    assert not looked("north", before).is_done, "unknown is never complete"
    with pytest.raises(AirflowFailException, match="no hub 'east'"):
        looked("east", before)
