"""Which register decides, and when one that does not answer is tolerated."""

from __future__ import annotations

import time
from threading import Event

import pytest

from kafka_dr.errors import NeedsPerson, TryAgain
from kafka_dr.register import Phase, RegisterState, arbiter
from kafka_dr.runs import register_read
from kafka_dr.runs.register_read import OTHERS_SECONDS, decided, decided_without_source, read_patiently_from_one
from support.register_states import a_state

SILENT = TryAgain("no answer")
UNPLANNED = a_state(epoch=1000, phase=Phase.SWITCHING, run="run-1", verb="unplanned_failover")


def test_the_target_decides_while_an_unplanned_failover_is_under_way() -> None:
    assert arbiter(a_state()) == "east"
    assert arbiter(a_state(phase=Phase.SWITCHING, verb="planned_failover")) == "east"
    assert arbiter(UNPLANNED) == "west"
    assert arbiter(a_state(phase=Phase.UNFENCED, verb="unplanned_failover", active="west", standby="east")) == "west"


def test_a_planned_verb_does_nothing_without_the_register_that_decides() -> None:
    with pytest.raises(NeedsPerson, match="cannot be read"):
        decided("orders", {"east": SILENT, "west": a_state()})
    assert decided("orders", {"east": a_state(), "west": SILENT}) == a_state()
    assert decided("orders", {"east": SILENT, "west": UNPLANNED}) == UNPLANNED


def test_an_unplanned_one_needs_the_targets_and_no_other() -> None:
    assert decided_without_source("orders", {"east": SILENT, "west": a_state()}, target=None) == a_state()
    with pytest.raises(NeedsPerson):
        decided_without_source("orders", {"east": a_state(), "west": SILENT}, target="west")
    with pytest.raises(NeedsPerson):
        decided_without_source("orders", {"east": a_state(), "west": SILENT}, target=None)
    with pytest.raises(NeedsPerson):
        decided_without_source("orders", {"east": SILENT, "west": None}, target="west")


def test_records_that_contradict_each_other_are_a_matter_for_people() -> None:
    other = a_state(active="west", standby="east")
    with pytest.raises(NeedsPerson, match="contradict each other"):
        decided_without_source("orders", {"east": a_state(), "west": other}, target="west")


def test_a_run_that_holds_the_group_does_not_wait_for_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    over = Event()

    def read(cluster: str) -> RegisterState | None:
        if cluster == "east":
            over.wait(60)
        return UNPLANNED

    monkeypatch.setattr(register_read, "OTHERS_SECONDS", 90.0)
    answers = read_patiently_from_one(("east", "west"), read, run="run-1", target="west")
    assert answers["west"] == UNPLANNED
    assert isinstance(answers["east"], TryAgain)

    monkeypatch.setattr(register_read, "OTHERS_SECONDS", 0.3)
    began = time.monotonic()
    answers = read_patiently_from_one(("east", "west"), read, run="run-2", target="west")
    assert time.monotonic() - began >= 0.3
    assert isinstance(answers["east"], TryAgain)
    over.set()


def test_the_register_that_decides_is_waited_for_longer_than_the_others_are() -> None:
    def read(cluster: str) -> RegisterState | None:
        if cluster == "west":
            time.sleep(OTHERS_SECONDS + 0.5)
        return UNPLANNED

    answers = read_patiently_from_one(("east", "west"), read, run="run-1", target=None)
    assert answers == {"east": UNPLANNED, "west": UNPLANNED}
