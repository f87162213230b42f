"""A standby leaves a group that stays adopted: nothing stops for the others, and the rest can take over."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.clusters import TopicPartition
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import VERBS, ResumeRequest, StepName
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.canary_check import watch_canary
from support import outside_view
from support.steady_writer import writing
from support.three_clusters import GroupOfThree

if TYPE_CHECKING:
    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(900)]
SECONDS = 240.0


def each_once(group: GroupOfThree, first: str, second: str, count: int) -> None:
    group.wait_equal_between(first, second)
    log = group.contents(first)
    values = [value for number in (0, 1) for _, _, value, _ in log[TopicPartition(group.protection.topic, number)]]
    assert len(values) == len(set(values)) == count


def test_it_leaves_while_the_group_is_written_to(three: Lab, tmp_path: Path) -> None:
    group = GroupOfThree.adopt(three, tmp_path)
    protection = group.protection
    produced = protection.produce("east", 100)
    group.wait_equal()
    with pytest.raises(StepFailed, match="north answers, so it is not off"), protection.clients() as clients:
        run_step(StepName.PREFLIGHT, group.leaving("north", off="north is off"), clients)
    with writing(protection) as writer:
        records = group.leave("north")
        assert {record.outcome for record in records.values()} == {"done"}
        assert group.roles == {"east": "active", "west": "copy"}
        assert {protection.state(name) for name in ("east", "west", "north")} == {group.state}
        assert protection.takes_writes("north")
        assert not outside_view.denies(protection, "north")
        assert protection.refuses_writes("west")
        assert group.flow_status("east", "north").startswith("absent")
        assert group.flow_status("east", "west").startswith("running")
        found = group.flows()
        assert found.outcome == "ok", found.sentences
        with protection.clients() as clients:
            health = check_health(group.name, clients)
        assert health.outcome == "ok", health.sentences
        assert not outside_view.denies(protection, "north"), "the topology still declares it, and it has left"
    produced += writer.acknowledged
    protection.changes["clusters"] = ("east", "west")
    protection.wait_copied(source="east", target="west")
    group.move("east", "west")
    assert group.roles == {"east": "copy", "west": "active"}
    produced += protection.produce("west", 20)
    each_once(group, "west", "east", produced)


def test_a_run_that_dies_is_abandoned_or_finished(three: Lab, tmp_path: Path) -> None:
    group = GroupOfThree.adopt(three, tmp_path)
    protection = group.protection
    for decision, last in (
        ("abandon", StepName.CLAIM),
        ("abandon", StepName.STOP_FLOW),
        ("finish", StepName.HAND_BACK),
    ):
        request = group.leaving("north")
        with protection.clients() as clients:
            run_step(StepName.PREFLIGHT, request, clients)
            question = ask_approval(request, clients)
            record_answer(request, clients, Answer(True, "alice", datetime.now(UTC), question.digest))
            names = VERBS["un_adopt"].from_claim
            for step in names[: names.index(last) + 1]:
                run_step(step, request, clients)
            assert group.state.phase == "releasing"
            asked = ResumeRequest(group.name, decision, reason="a test", confirmed=True)  # type: ignore[arg-type]
            resume(asked, clients)
        if decision == "abandon":
            assert group.state.phase == "stable"
            assert group.roles == {"east": "active", "west": "copy", "north": "copy"}
            assert group.flows().outcome == "ok"
    assert group.roles == {"east": "active", "west": "copy"}
    assert protection.takes_writes("north")


def test_a_cluster_that_is_gone_for_ever_leaves_and_is_fenced_if_it_returns(three: Lab, tmp_path: Path) -> None:
    group = GroupOfThree.adopt(three, tmp_path)
    protection, lab = group.protection, three
    produced = protection.produce("east", 60)
    group.wait_equal()
    with protection.clients() as clients:
        assert watch_canary(group.name, clients).sentences
    lab.kill(outside_view.broker_of("east"))
    try:
        group.give_up("east", "west", override="a test has one vantage")
        produced += protection.produce("west", 20)
        deadline = time.monotonic() + SECONDS
        while group.roles["north"] != "copy":
            found = group.flows()
            assert time.monotonic() < deadline, found.sentences
            time.sleep(1)
        with pytest.raises(StepFailed, match="name east as known to be off"), protection.clients() as clients:
            run_step(StepName.PREFLIGHT, group.leaving("east"), clients)
        records = group.leave("east", off="east has burnt down")
        assert {record.outcome for record in records.values()} == {"done"}, records
        assert (group.roles, group.state.phase) == ({"west": "active", "north": "copy"}, "stable")
    finally:
        group.let_return("east", seconds=SECONDS)
    with protection.clients() as clients:
        check_health(group.name, clients)
    assert protection.refuses_writes("east"), "a topology declares it, and the record does not name it"
    assert protection.state("east") == group.state
    protection.changes["clusters"] = ("west", "north")
    protection.changes["initial_active"] = "west"
    protection.wait_copied(source="west", target="north")
    group.move("west", "north")
    assert group.roles == {"west": "copy", "north": "active"}
    produced += protection.produce("north", 20)
    each_once(group, "north", "west", produced)
