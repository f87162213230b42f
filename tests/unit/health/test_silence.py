"""Silence says something about a cluster only if this worker could have heard an answer."""

from __future__ import annotations

import pytest

from kafka_dr.errors import ConnectionMistake, TryAgain
from kafka_dr.health.own_speed import OwnSpeed
from kafka_dr.health.registers import RegisterAnswers
from kafka_dr.health.silence import silent, without_record
from kafka_dr.runs.background import Silent
from support.register_states import a_state
from support.sentences import assert_sentence
from support.waiting import eventually

SILENT = {name: Silent(f"no answer to {name} within 6 s") for name in ("east", "west")}


def measured(used: float, took: float) -> OwnSpeed:
    """Return what is measured while each piece of work uses so much of a processor, and takes so long."""
    with OwnSpeed(lambda: (used, took), pause_seconds=0.01) as speed:
        eventually(lambda: speed.share is not None)
    return speed


@pytest.mark.parametrize(("took", "share"), [(0.003, 1.0), (0.002, 1.0), (0.015, 0.2)])
def test_the_share_of_a_processor_is_what_work_uses_by_what_it_takes(took: float, share: float) -> None:
    assert measured(0.003, took).share == pytest.approx(share)


def test_real_work_is_measured() -> None:
    with OwnSpeed() as speed:
        eventually(lambda: speed.share is not None)
    assert 0 < (speed.share or 0) <= 1


def test_nothing_is_known_before_the_first_measurement() -> None:
    assert (OwnSpeed().share, OwnSpeed().too_slow) == (None, "")


def test_a_worker_without_a_processor_says_so_and_calls_no_cluster_silent() -> None:
    slow = measured(0.003, 0.03).too_slow
    assert_sentence(slow)
    found = without_record("orders", RegisterAnswers({}, {}, SILENT), too_slow=slow)
    assert found.outcome == "unknown"
    assert found.sentences[0] == f"whether east and west answer is unknown: {slow}"
    assert not any("does not answer" in said for said in found.sentences)


def test_a_worker_that_reaches_nothing_may_be_the_reason_itself() -> None:
    found = without_record("orders", RegisterAnswers({}, {}, SILENT), too_slow=measured(0.003, 0.003).too_slow)
    assert found.outcome == "unknown"
    assert "they may all be down, or this worker reaches nothing" in found.sentences[0]
    assert found.sentences[1:] == tuple(f"{name} does not answer: {error}" for name, error in SILENT.items())


def test_a_cluster_that_is_silent_next_to_one_that_answers_is_named() -> None:
    registers = RegisterAnswers({"west": None}, {}, {"east": SILENT["east"]})
    assert_sentence(without_record("orders", registers, too_slow="").sentences[0])
    assert without_record("orders", RegisterAnswers({"west": None}, {}, {}), too_slow="").outcome == "left_alone"
    said = [
        silent(a_state(), "east", TryAgain("no answer"), too_slow=slow) for slow in ("", "this worker was too slow")
    ]
    assert [each.outcome for each in said] == ["unknown", "unknown"]
    assert_sentence(said[0].detail)
    assert_sentence(said[1].detail)
    mistake = silent(a_state(), "east", ConnectionMistake("east refuses it"), too_slow="this worker was too slow")
    assert_sentence(mistake.detail)


def test_one_that_hangs_is_named_also_by_a_worker_that_was_slow() -> None:
    slow = measured(0.003, 0.03).too_slow
    registers = RegisterAnswers({"west": None}, {}, {"east": SILENT["east"]})
    found = without_record("orders", registers, too_slow=slow)
    assert found.sentences[0] == (
        f"east gave no answer in time, and others did: check east. It may be this worker, too: {slow}"
    )
    assert found.facts["open_checks"] == {"silent": "unknown"}
