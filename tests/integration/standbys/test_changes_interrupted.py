"""A process that adds a cluster, starts its flows or lets it leave may die after each of its changes."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import VERBS, StepName
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.dying_process import DyingProcess
from support.named_group import NamedGroup, NamedProtection
from support.three_clusters import GroupOfThree
from support.waiting import eventually

if TYPE_CHECKING:
    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(1200)]
PAIR, THREE = ("east", "west"), ("east", "west", "north")


@pytest.mark.parametrize("renames", [False, True], ids=["same names", "other names"])
def test_a_cluster_is_added_and_leaves_although_each_process_dies_after_each_change(
    three: Lab, tmp_path: Path, renames: bool
) -> None:
    protection = NamedProtection(three, tmp_path)
    if renames:
        protection.name_copies()
    protection.changes["clusters"] = PAIR
    try:
        named, group = NamedGroup(protection), GroupOfThree.adopt_as(protection)
        named.write("east", (f"e{n}".encode() for n in range(40)))
        protection.changes["clusters"] = THREE

        mortal = DyingProcess()
        assert mortal.until_through(lambda: grown(group)).good
        assert {each.rpartition(" on ")[2] for each in mortal.died if each.startswith("KafkaRegister")} >= set(THREE), (
            mortal
        )
        assert named.refused("north", "orders-app", named.local(0))
        assert not named.refused("east", "orders-app", named.local(0))
        copied(group, mortal)
        assert any(each.startswith("Mm2Replicator.seed") for each in mortal.died), mortal
        each_once(named, "north", 40)

        group.move("east", "west")
        named.write("west", (f"w{n}".encode() for n in range(20)))
        copied(group, mortal)
        each_once(named, "north", 60)
        left = DyingProcess()
        leave(group, left)
        assert any(each.startswith("ConnectClient.delete") for each in left.died), left
        assert group.roles == {"east": "copy", "west": "active"}
        assert not outside_view.denies(protection, "north")
        protection.changes["clusters"] = PAIR
        with protection.clients() as clients:
            found = check_health(group.name, clients)
        assert found.outcome == "ok", found
        group.move("west", "east")
        each_once(named, "east", 60)
    finally:
        protection.delete_flows()


def grown(group: GroupOfThree) -> StepRecord:
    with group.protection.clients() as clients:
        return adopt(group.name, clients, "grow")


def copied(group: GroupOfThree, mortal: DyingProcess) -> None:
    """Look as ``dr_flows`` does, in a process that dies after each change, until north is a copy."""

    def looked() -> bool:
        return mortal.until_through(group.flows).outcome == "ok" and group.roles["north"] == "copy"

    eventually(looked, seconds=60)


def leave(group: GroupOfThree, mortal: DyingProcess) -> None:
    """Let north leave by a run whose every step dies after each of its changes."""
    request = group.leaving("north")
    with group.protection.clients() as clients:
        run_step(StepName.PREFLIGHT, request, clients)
        question = ask_approval(request, clients)
        record_answer(request, clients, Answer(True, "alice", datetime.now(UTC), question.digest))

    def step(name: StepName) -> StepRecord:
        with group.protection.clients() as clients:
            return run_step(name, request, clients)

    for name in VERBS["un_adopt"].from_claim:
        assert mortal.until_through(partial(step, name)).good


def each_once(named: NamedGroup, cluster: str, count: int) -> None:
    """Each record is once on a cluster, in the logs of all origins together."""
    logs = [named.local(number) for number in range(2)]
    if named.protection.group.renames_copies:
        logs = [named.log(number, origin, cluster) for origin in THREE for number in range(2)]
    eventually(lambda: len(named.values(cluster, *logs)) >= count, seconds=60)
    values = named.values(cluster, *logs)
    assert len(values) == len(set(values)) == count
