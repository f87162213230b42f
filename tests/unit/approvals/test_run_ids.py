"""Ids of runs can meet across DAGs and the command line: an id that the registers know is no id of a new run."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_dr.approvals.run_ids import known_as

ASKED: dict[str, Any] = {"question.1": {"verb": "failback"}}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"claim": {"epoch": 7}, "sealed": {}}, "it is a planned failover that has claimed the group (epoch 7)"),
        ({"claim": {"epoch": 7, "verb": "failback"}}, "it is a failback that has claimed the group (epoch 7)"),
        ({"question.1": {"verb": "unplanned_failover"}, "answer.1": {}}, "it is a run of unplanned failover"),
        ({"clusters": {}, "lock": {}}, "it has journaled clusters, lock"),
        ({"flow_seed": {}}, "it has journaled flow_seed"),
    ],
)
def test_a_run_that_the_registers_know_as_another_one_is_named(facts: dict[str, Any], said: str) -> None:
    assert known_as(facts, "failback") == said


@pytest.mark.parametrize("facts", [{}, ASKED, {**ASKED, "answer.1": {"approved": False}, "sealed": {}}])
def test_a_run_of_the_same_verb_may_ask_again(facts: dict[str, Any]) -> None:
    assert known_as(facts, "failback") == ""
