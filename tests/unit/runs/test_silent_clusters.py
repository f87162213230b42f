"""A cluster that may be dead has its time once; after that each question waits a moment, until it answers again."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from kafka_dr.errors import KafkaDrError, Refused, TryAgain
from kafka_dr.runs.silent_clusters import AGAIN_SECONDS, FULL_SECONDS, REMEMBERED_SECONDS, SilentClusters
from support.manual_clock import ManualClock
from support.waiting import eventually

FULL = FULL_SECONDS


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def silent(clock: ManualClock) -> SilentClusters:
    return SilentClusters(clock)


@pytest.fixture
def over() -> Iterator[Event]:
    event = Event()
    yield event
    event.set()


def ask(silent: SilentClusters, answer: Event | KafkaDrError) -> float:
    """Ask east a question that hangs or fails, and return how long it would be waited for."""

    def question() -> str:
        if isinstance(answer, KafkaDrError):
            raise answer
        answer.wait(60)
        return "an answer"

    asked = silent.ask("east", "east", question)
    if isinstance(answer, KafkaDrError):
        eventually(lambda: asked.answered)
    return silent.seconds("east", FULL)


def test_questions_share_one_full_time(silent: SilentClusters, clock: ManualClock, over: Event) -> None:
    assert ask(silent, over) == FULL
    clock.sleep(1.5)
    assert ask(silent, over) == FULL - 1.5
    clock.sleep(1.0)
    assert ask(silent, over) == AGAIN_SECONDS
    assert silent.seconds("west", FULL) == FULL, "another cluster was never asked"


def test_no_question_waits_longer_than_it_wants_and_a_short_one_loses_nothing_while_there_is_time(
    silent: SilentClusters, clock: ManualClock, over: Event
) -> None:
    ask(silent, over)
    clock.sleep(0.5)
    ask(silent, over)
    assert silent.seconds("east", 1.5) == 1.5
    clock.sleep(FULL)
    ask(silent, over)
    assert silent.seconds("east", 0.0) == 0.0
    assert silent.seconds("east", 1.5) == AGAIN_SECONDS


def test_a_cluster_that_was_waited_for_in_vain_is_given_up_until_it_answers(
    silent: SilentClusters, clock: ManualClock, over: Event
) -> None:
    ask(silent, over)
    clock.sleep(FULL)
    assert not silent.is_given_up("east"), "nobody has waited for it"
    silent.give_up("east")
    ask(silent, over)
    assert silent.is_given_up("east")
    assert not silent.is_given_up("west")
    over.set()
    eventually(lambda: not silent.is_given_up("east"))


def test_an_answer_however_late_gives_a_cluster_its_full_time_again(
    silent: SilentClusters, clock: ManualClock, over: Event
) -> None:
    ask(silent, over)
    clock.sleep(FULL)
    assert ask(silent, over) == AGAIN_SECONDS
    over.set()
    eventually(lambda: silent.seconds("east", FULL) == FULL)
    assert ask(silent, Event()) == FULL


def test_a_refusal_is_an_answer_and_no_connection_is_none(silent: SilentClusters, clock: ManualClock) -> None:
    ask(silent, TryAgain("connection refused"))
    clock.sleep(FULL)
    assert ask(silent, TryAgain("connection refused")) == AGAIN_SECONDS
    assert ask(silent, Refused("this principal may not read")) == FULL


def test_a_silence_is_forgotten_after_a_while(silent: SilentClusters, clock: ManualClock, over: Event) -> None:
    ask(silent, over)
    clock.sleep(FULL)
    assert ask(silent, over) == AGAIN_SECONDS
    clock.sleep(REMEMBERED_SECONDS)
    assert ask(silent, over) == AGAIN_SECONDS
    clock.sleep(REMEMBERED_SECONDS + 1)
    assert ask(silent, over) == FULL


def test_who_gives_a_cluster_more_time_waits_longer_before_it_counts_as_silent(
    silent: SilentClusters, clock: ManualClock, over: Event
) -> None:
    ask(silent, over)
    clock.sleep(FULL + 1)
    assert silent.seconds("east", 6.0) == AGAIN_SECONDS
    assert silent.seconds("east", 6.0, full=6.0) == 6.0 - FULL - 1
