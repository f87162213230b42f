"""Three members with clients that write all the time: one is left, another one is lost and returns.

Judged by what the writers know: each acknowledged record is once on each member, under the member that took it.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

import pytest

from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from lab import rights
from support import outside_view
from support.acknowledged_writes import Ledger, WritingApplication
from support.checksum import Auditor
from support.failback_run import FailbackRun
from support.members import Members, members_of
from support.named_group import NamedGroup
from support.outside_view import broker_of
from support.protection import STEPS_AFTER_APPROVAL
from support.route_file import route_file
from support.stranding import list_stranded
from support.three_clusters import GroupOfThree
from support.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(1200)]
#: A connector whose source is dead needs about a minute to stop.
SECONDS = 240.0


@pytest.fixture
def members(three: Lab, tmp_path: Path) -> Iterator[Members]:
    with members_of(three, tmp_path) as made:
        yield made


@contextmanager
def clients_of_each(members: Members) -> Iterator[Ledger]:
    """Let an application of each member write to where its route leads."""
    ledger = Ledger()
    lab = next(iter(members.values())).protection.lab
    settings = {name: lab.client_settings(name, rights.ORDERS_APP) for name in members}
    writers = [
        WritingApplication(
            f"{member}-client",
            ledger,
            group.protection.topic,
            cluster_now=lambda group=group: where(group),  # type: ignore[misc]
            settings=settings,
        )
        for member, group in members.items()
    ]
    for writer in writers:
        writer.start()
    try:
        yield ledger
    finally:
        for writer in writers:
            writer.stop()


def where(group: NamedGroup) -> str:
    """Return where the route of a member's clients leads now."""
    path = str(route_file(group.protection.group))
    return str(json.loads(Path(path).read_text(encoding="utf-8"))["active"])


@pytest.mark.parametrize("comes", [True, False], ids=["comes", "stays away"])
def test_what_a_moving_group_has_read_of_a_third_member_is_waited_for_and_never_skipped(
    members: Members, comes: bool
) -> None:
    east, north = members["east"], members["north"]
    readers, flows = f"{east.name}-moves", GroupOfThree(north.protection)
    timing = east.protection.group.timing.model_copy(update={"drain_seconds": 60.0 if comes else 1.0})
    east.protection.changes["timing"] = timing
    north.write("north", (f"before{n}".encode() for n in range(20)))
    members.wait_copied()
    request = east.request_to("west")
    with east.protection.clients() as clients:
        run_step(StepName.PREFLIGHT, request, clients)
        east.protection.approve(request, clients)
        run_step(StepName.CLAIM, request, clients)
        # Before the claim, a flow that does not run is refused.
        flows.stop_flow("north", "west")
        north.write("north", (f"n{n}".encode() for n in range(40)))
        north.protection.wait_copied(source="north", target="east")
        at = {members.log(n, "north", "east"): 25 for n in range(2)}
        nothing = {members.log(n, origin, "east"): 0 for origin in ("east", "west") for n in range(2)}
        east.protection.commit("east", readers, at | nothing)
        expected = east.unread("east", at)
        for step in STEPS_AFTER_APPROVAL[1:]:
            late = Timer(1.0, north.flows) if step is StepName.CUT_OVER_GROUPS and comes else None
            if late is not None:
                late.start()
            assert run_step(step, request, clients).good, step
    north.flows()
    members.wait_copied()
    moved = outside_view.committed(east.protection, "west")[readers]
    for n in range(2):
        log = members.log(n, "north", "west")
        found = east.values("west", log)
        again = found.index(expected[members.log(n, "north", "east")]) - found.index(east.unread("west", moved)[log])
        assert again == 0 if comes else 0 <= again <= 20, again


def test_each_record_is_once_on_each_member_whatever_happens_to_two_of_them(
    members: Members, spark: SparkSession, tmp_path: Path
) -> None:
    east, west = members["east"], members["west"]
    lost = GroupOfThree(east.protection)
    with clients_of_each(members) as ledger:
        time.sleep(3)
        assert west.move(west.request_to("north"))[StepName.REPORT].good
        time.sleep(3)
        for standby in ("west", "north"):
            lost.stop_flow("east", standby)
        time.sleep(2)
        east.protection.lab.kill(broker_of("east"))
        lost.give_up("east", "north", override="a test has one vantage")
        assert {where(group) for group in members.values()} == {"north"}
        time.sleep(3)
        lost.let_return("east", seconds=SECONDS)

        def fenced() -> bool:
            members.check_health()
            return lost.state.phase is Phase.DIVERGED

        eventually(fenced, seconds=SECONDS)
        assert not members.refused("north"), "who serves three members' clients stays open"
        late = list_stranded(east.protection, spark, run=lost.state.run)
        assert late.values
        audit = Auditor(east.protection, spark, tmp_path)

        def audited() -> None:
            found = audit("--full", flow=f"{members['north'].name}.north-to-east")
            assert found.code == 0, found.report["findings"]

        FailbackRun(east.protection, audited, target="east").run_all()
        members.flows()
        for group, member in ((east, "east"), (west, "west")):
            assert group.move(group.request_to(member))[StepName.REPORT].good
            members.flows()
        assert {name: where(group) for name, group in members.items()} == {name: name for name in members}
        time.sleep(3)
    members.wait_copied()
    topic = east.protection.topic
    held = {name: Counter(members.values_of(name, topic)) for name in members}
    for origin, other in permutations(members, 2):
        copies = members.values_of(other, members.log(0, origin, other).topic)
        assert Counter(copies) == held[origin], f"{origin} on {other}"
    for value, (cluster, _) in ledger.acknowledged.items():
        assert held[cluster][value], f"{value!r} was acknowledged by {cluster}"
        sent = ledger.attempts[value] + 1
        assert sum(found[value] for found in held.values()) <= sent, value
    assert {cluster for cluster, _ in ledger.acknowledged.values()} == set(members)
    assert set(late.values) <= set(held["east"])
