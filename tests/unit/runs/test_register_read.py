"""Which register decides, and when one that does not answer is tolerated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from threading import Event
from typing import Any

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.errors import NeedsPerson, TryAgain
from kafka_dr.health.registers import RegisterAnswers
from kafka_dr.register import Phase, RegisterState, arbiter, transitions
from kafka_dr.register.port import RegisterUnusable
from kafka_dr.register.state import UnknownSchema
from kafka_dr.runs import silent_clusters
from kafka_dr.runs.register_read import (
    OTHERS_SECONDS,
    Answers,
    Waiting,
    decided,
    decided_without_source,
    read_patiently_from_one,
)
from kafka_dr.runs.silent_clusters import SilentClusters
from support.register_states import AT, a_state

SILENT, NEWER = TryAgain("no answer"), UnknownSchema("a record of schema 3")
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


def test_the_unplanned_failover_is_named_only_if_it_can_work() -> None:
    unusable = RegisterUnusable("the register of east has no leader: bring its brokers up")
    for other, named in ((a_state(), True), (a_state(phase=Phase.HANDED_OVER), False)):
        with pytest.raises(NeedsPerson) as refused:
            decided("orders", {"east": unusable, "west": other})
        said = str(refused.value)
        assert "has no leader: bring its brokers up" in said
        assert ("dr_unplanned_failover with an override takes it to west" in said) is named, said
    with pytest.raises(NeedsPerson) as lost:
        decided("orders", {"east": unusable, "west": SILENT})
    assert "dr_unplanned_failover" not in str(lost.value)


def test_an_unplanned_one_needs_the_targets_and_no_other() -> None:
    assert decided_without_source("orders", {"east": SILENT, "west": a_state()}, target=None) == a_state()
    with pytest.raises(NeedsPerson):
        decided_without_source("orders", {"east": a_state(), "west": SILENT}, target="west")
    with pytest.raises(NeedsPerson):
        decided_without_source("orders", {"east": a_state(), "west": SILENT}, target=None)
    with pytest.raises(NeedsPerson):
        decided_without_source("orders", {"east": SILENT, "west": None}, target="west")


SEVERAL = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)


@pytest.mark.parametrize("target", ["west", None])
@pytest.mark.parametrize(
    ("silent", "off", "enough"),
    [
        ((), "", True),
        (("east",), "", True),
        (("east", "north"), "", False),
        (("east", "north"), "east burns", False),
        (("east", "north"), "east and north are off", True),
        (("east", "west"), "east and west are off", False),
    ],
)
def test_of_several_registers_more_than_half_answer_or_the_others_are_named_as_off(
    silent: tuple[str, ...], off: str, enough: bool, target: str | None
) -> None:
    answers: Answers = {name: SILENT if name in silent else SEVERAL for name in ("east", "west", "north")}
    if target is None and silent == ("east", "west"):
        enough = True  # whoever names no target is asked for one
    if enough:
        assert decided_without_source("orders", answers, target=target, off=off) == SEVERAL
    else:
        with pytest.raises(NeedsPerson):
            decided_without_source("orders", answers, target=target, off=off)
    if "east" in silent:
        with pytest.raises(NeedsPerson, match="cannot be read"):
            decided("orders", answers)


def test_a_minority_that_comes_back_decides_nothing() -> None:
    answers: Answers = {"east": SEVERAL, "west": SILENT, "north": SILENT}
    with pytest.raises(
        NeedsPerson, match="registers of north and west do not answer or are empty, and more than half of the 3"
    ):
        decided("orders", answers)


def test_an_empty_register_says_no_more_than_one_that_is_silent() -> None:
    """It may have lost that the group was moved to the silent cluster."""
    answers: Answers = {"east": SEVERAL, "west": SILENT, "north": None}
    for found in (decided, partial(decided_without_source, target="north")):
        with pytest.raises(NeedsPerson, match="registers of north and west do not answer or are empty"):
            found("orders", answers)
        assert found("orders", {**answers, "west": SEVERAL}) == SEVERAL
    with pytest.raises(NeedsPerson, match="registers of east and west"):
        decided_without_source("orders", {"north": SEVERAL, "west": SILENT, "elsewhere": None}, target="north")


def test_the_register_of_a_run_that_has_won_decides_alone_until_the_run_ends() -> None:
    signed: dict[str, Any] = {"evidence_sha256": "", "approved_by": "alice", "at": AT}
    claim = transitions.claimed_unplanned(SEVERAL, run="a", source="east", target="west", highest_epoch=1, **signed)
    won = transitions.taken(claim, run="a", executor="a process", at=AT)
    alone: Answers = {"east": SILENT, "north": SILENT, "west": won}
    assert decided("orders", alone) == decided_without_source("orders", alone, target="west") == won
    ended = transitions.without_source(transitions.handed_over(won, run="a", at=AT), run="a", fenced=False, at=AT)
    assert decided_without_source("orders", {**alone, "west": ended}, target="west", run="a") == ended
    with pytest.raises(NeedsPerson, match="more than half"):
        decided_without_source("orders", {**alone, "west": ended}, target="west", run="b")
    for found in (decided, partial(decided_without_source, target="west")):
        with pytest.raises(NeedsPerson, match="more than half"):
            found("orders", {**alone, "west": claim})


def test_a_further_standby_that_is_silent_stops_no_planned_verb() -> None:
    assert decided("orders", {"east": SEVERAL, "west": SEVERAL, "north": SILENT}) == SEVERAL


def test_records_that_contradict_each_other_are_a_matter_for_people() -> None:
    other = a_state(active="west", standby="east")
    with pytest.raises(NeedsPerson, match="contradict each other"):
        decided_without_source("orders", {"east": a_state(), "west": other}, target="west")


@pytest.mark.parametrize("newer", ["east", "west"])
def test_a_register_with_a_record_of_a_newer_version_is_not_silent_and_ends_everything(newer: str) -> None:
    answers: Answers = {"east": a_state(), "west": a_state(), newer: NEWER}
    with pytest.raises(UnknownSchema):
        decided("orders", answers)
    for target in ("west", None):
        with pytest.raises(UnknownSchema):
            decided_without_source("orders", answers, target=target)
    with pytest.raises(UnknownSchema):
        _ = RegisterAnswers({"east": a_state()}, {}, {newer: NEWER}).newest


@pytest.fixture
def over() -> Iterator[Event]:
    """Let a register that hangs answer at the end."""
    event = Event()
    yield event
    event.set()


def east_hangs(over: Event, seconds: float = 60) -> Callable[[str], RegisterState | None]:
    def read(cluster: str) -> RegisterState | None:
        if cluster == "east":
            over.wait(seconds)
        return UNPLANNED

    return read


def waiting(seconds: float = OTHERS_SECONDS) -> Waiting:
    return Waiting(SilentClusters(SystemClock()), seconds)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a register that answers after seconds be heard by whoever waits for it."""
    monkeypatch.setattr(silent_clusters, "FULL_SECONDS", 60.0)


@pytest.mark.usefixtures("patient")
def test_a_run_that_holds_the_group_does_not_wait_for_the_source(over: Event) -> None:
    read, short = east_hangs(over, 4), waiting(0.3)
    answers = read_patiently_from_one(("east", "west"), read, run="run-1", target="west", waiting=waiting(60))
    assert answers["west"] == UNPLANNED
    assert isinstance(answers["east"], TryAgain)

    assert not short.silent.is_given_up("east")

    began = time.monotonic()
    answers = read_patiently_from_one(("east", "west"), read, run="run-2", target="west", waiting=short)
    assert time.monotonic() - began >= 0.3
    assert isinstance(answers["east"], TryAgain)
    assert short.silent.is_given_up("east")


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("target", ["west", None])
def test_what_only_depends_on_the_register_that_decides_does_not_wait_for_the_source(
    over: Event, target: str | None
) -> None:
    answers = read_patiently_from_one(
        ("east", "west"), east_hangs(over, 4), run="run-2", target=target, waiting=(at_once := waiting(0.0))
    )
    assert not at_once.silent.is_given_up("east")
    assert answers["west"] == UNPLANNED
    assert isinstance(answers["east"], TryAgain)


def test_a_source_that_was_silent_for_its_time_is_asked_again_and_heard_as_soon_as_it_answers(over: Event) -> None:
    patience = waiting()
    read = partial(read_patiently_from_one, ("east", "west"), run="run-2", target="west", waiting=patience)
    assert isinstance(read(east_hangs(over))["east"], TryAgain)
    over.set()
    # The next question waits for the moment that a silent cluster has, and hears it.
    assert read(east_hangs(over)) == {"east": UNPLANNED, "west": UNPLANNED}
    assert patience.silent.seconds("east", OTHERS_SECONDS) == OTHERS_SECONDS


def test_the_register_that_decides_is_waited_for_longer_than_the_others_are() -> None:
    def read(cluster: str) -> RegisterState | None:
        if cluster == "west":
            time.sleep(0.5)
        return UNPLANNED

    patience = waiting(0.1)
    answers = read_patiently_from_one(("east", "west"), read, run="run-2", target=None, waiting=patience)
    assert answers == {"east": UNPLANNED, "west": UNPLANNED}
