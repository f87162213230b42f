"""Ids of runs can meet across DAGs and the command line: an id that the registers know is no id of a new run."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_dr.approvals.run_ids import known_as
from support.sentences import assert_sentence

ASKED: dict[str, Any] = {"question.1": {"verb": "failback"}}


@pytest.mark.parametrize(
    "facts",
    [
        {"claim": {"epoch": 7}, "sealed": {}},
        {"claim": {"epoch": 7, "verb": "failback"}},
        {"question.1": {"verb": "unplanned_failover"}, "answer.1": {}},
        {"clusters": {}, "lock": {}},
        {"flow_seed": {}},
    ],
)
def test_a_run_that_the_registers_know_as_another_one_is_named(facts: dict[str, Any]) -> None:
    said = known_as(facts, "failback")
    assert said
    assert_sentence(said)


@pytest.mark.parametrize("facts", [{}, ASKED, {**ASKED, "answer.1": {"approved": False}, "sealed": {}}])
def test_a_run_of_the_same_verb_may_ask_again(facts: dict[str, Any]) -> None:
    assert known_as(facts, "failback") == ""
