"""The active cluster of a group with two standbys is lost: one of them is opened, and the other one copied from it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import NeedsPerson
from kafka_dr.health.health_check import check_health
from kafka_dr.register import KafkaRegister, RegisterState
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.watch.canary_check import watch_canary
from support import outside_view
from support.switched_group import Killed
from support.three_clusters import GroupOfThree

if TYPE_CHECKING:
    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(900)]
#: A connector whose source is dead needs about a minute to stop.
SECONDS = 240.0
WHY = "a test has one vantage"


@pytest.fixture
def own(three: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GroupOfThree]:
    """Return a group that the test moves without its active cluster; whatever is dead then runs again."""
    group = GroupOfThree.adopt(three, tmp_path_factory.mktemp("lost"))
    yield group
    dead = {process.name for process in three.status().processes if not process.running}
    group.let_return(*(name for name in three.settings.names if outside_view.broker_of(name) in dead), seconds=SECONDS)


def look(group: GroupOfThree) -> None:
    """Look at the active cluster as the canary does every minute."""
    with group.protection.clients() as clients:
        assert watch_canary(group.name, clients).sentences


def flows_until(group: GroupOfThree, standby: str, role: str) -> WatchResult:
    """Let ``dr_flows`` look until the record says what a standby is."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = group.flows()
        if group.roles[standby] == role:
            return found
        assert time.monotonic() < deadline, found.sentences
        time.sleep(1)


def health_until(group: GroupOfThree, roles: dict[str, str]) -> None:
    """Let ``dr_health`` look until the record says what each cluster is."""
    deadline = time.monotonic() + SECONDS
    while group.roles != roles:
        with group.protection.clients() as clients:
            found = check_health(group.name, clients)
        assert time.monotonic() < deadline, found.sentences
        time.sleep(1)


def test_both_others_are_opened_one_after_the_other_and_no_record_of_a_survivor_is_lost_or_doubled(
    own: GroupOfThree,
) -> None:
    protection, lab = own.protection, own.protection.lab
    first, second = (TopicPartition(protection.topic, number) for number in (0, 1))
    produced = protection.produce("east", 100)
    own.wait_equal()
    own.stop_flow("east", "north")
    produced += protection.produce("east", 150)
    protection.commit("east", f"{own.name}-slow", {first: 17, second: 33})
    protection.wait_copied(source="east", target="west")
    look(own)
    lab.kill(outside_view.broker_of("east"))

    records = own.give_up("east", "west", override=WHY)
    assert own.roles == {"east": "unfenced", "west": "active", "north": "pending"}
    assert own.state.epoch == 1003
    assert protection.takes_writes("west")
    assert protection.refuses_writes("north")
    asked = records[StepName.GATHER_EVIDENCE]
    assert "2 of the 3 registers" in str([check.detail for check in asked.checks])
    assert set(asked.facts["measurements"]["copied_to"]) == {"west", "north"}
    for cluster in ("west", "north"):
        state = protection.state(cluster)
        assert state is not None
        assert (state.run, state.active) == (own.state.run, "west")

    produced += protection.produce("west", 50)
    flows_until(own, "north", "copy")
    assert own.roles == {"east": "unfenced", "west": "active", "north": "copy"}
    deadline = time.monotonic() + SECONDS
    while (log := own.contents("north")) != own.contents("west"):
        assert time.monotonic() < deadline
        time.sleep(1)
    values = [value for p in (first, second) for _, _, value, _ in log[p]]
    assert len(values) == len(set(values)) == produced

    look(own)
    lab.kill(outside_view.broker_of("west"))
    with pytest.raises((NeedsPerson, StepFailed), match="registers of east and west do not answer"):
        own.give_up("west", "north", override=WHY)
    assert protection.refuses_writes("north")
    own.give_up("west", "north", override=f"{WHY}; east and west are off")
    assert own.roles == {"east": "unfenced", "west": "unfenced", "north": "active"}
    assert protection.takes_writes("north")
    assert {p: own.contents("north")[p] for p in (first, second)} == {p: log[p] for p in (first, second)}
    produced += protection.produce("north", 10)

    own.let_return("east", "west", seconds=SECONDS)
    health_until(own, {"east": "diverged", "west": "diverged", "north": "active"})
    assert protection.refuses_writes("east")
    assert protection.refuses_writes("west")
    assert protection.takes_writes("north")
    for cluster in ("east", "west", "north"):
        assert protection.state(cluster) == own.state


def test_a_claim_that_dies_between_two_registers_is_abandoned_or_finished_by_another_process(
    own: GroupOfThree, monkeypatch: pytest.MonkeyPatch
) -> None:
    protection, lab = own.protection, own.protection.lab
    protection.produce("east", 40)
    own.wait_equal()
    look(own)
    before, written = own.state, 0
    real = KafkaRegister.compare_and_set

    def dies(register: KafkaRegister, expected: RegisterState | None, new: RegisterState) -> None:
        nonlocal written
        if new.is_unproven:
            written += 1
            if written > 1:
                raise Killed
        real(register, expected, new)

    lab.kill(outside_view.broker_of("east"))
    for decision, ends in (("abandon", before), ("finish", None)):
        written = 0
        with monkeypatch.context() as patched:
            patched.setattr(KafkaRegister, "compare_and_set", dies)
            with pytest.raises(Killed):
                own.give_up("east", "west", override=WHY)
        assert own.state.is_unproven
        assert protection.state("west") == before
        assert protection.refuses_writes("west")
        with protection.clients() as clients:
            resume(ResumeRequest(own.name, decision, reason="a test", confirmed=True), clients)  # type: ignore[arg-type]
        if ends:
            assert protection.state("north") == protection.state("west") == ends
    assert own.roles == {"east": "unfenced", "west": "active", "north": "pending"}
    assert protection.takes_writes("west")
