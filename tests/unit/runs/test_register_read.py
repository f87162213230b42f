"""Which register decides, and when one that does not answer is tolerated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from threading import Event

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.errors import NeedsPerson, TryAgain
from kafka_dr.health.registers import RegisterAnswers
from kafka_dr.register import Phase, RegisterState, arbiter, transitions
from kafka_dr.register.port import RegisterUnusable
from kafka_dr.register.state import UnknownSchema
from kafka_dr.register.transitions import SeveralStandbys
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


@pytest.mark.parametrize("silent", [(), ("east",), ("east", "north"), ("east", "west")])
@pytest.mark.parametrize("target", ["west", None])
def test_a_group_with_several_standbys_is_not_moved_without_its_source(
    silent: tuple[str, ...], target: str | None
) -> None:
    answers: Answers = {name: SILENT if name in silent else SEVERAL for name in ("east", "west", "north")}
    with pytest.raises(SeveralStandbys, match="cannot be moved without its active cluster"):
        decided_without_source("orders", answers, target=target)
    if "east" in silent:
        with pytest.raises(NeedsPerson, match="cannot be read"):
            decided("orders", answers)


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
