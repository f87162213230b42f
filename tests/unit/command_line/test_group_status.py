"""What `status` says and how it ends where a register gives no answer, or has no record."""

from __future__ import annotations

from kafka_dr.command_line.group_status import _next_steps, _outcome
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.health.registers import RegisterAnswers

NO_CONNECTION = Refused("connection kafka_east_operator is not known")


def test_a_cluster_whose_connection_is_missing_was_not_asked() -> None:
    answers = RegisterAnswers({}, {}, {"east": NO_CONNECTION, "west": TryAgain("timed out")})
    assert _next_steps("orders", None, answers)[:2] == (
        "east was not asked: see the sentence about its register",
        "west does not answer: check the cluster and the network",
    )
    assert _outcome(None, answers, ()) == "unknown"


def test_a_group_that_was_never_adopted_is_not_good_and_the_next_step_names_the_dag() -> None:
    answers = RegisterAnswers({"east": None, "west": None}, {}, {})
    assert _next_steps("orders", None, answers) == ("no register has a record of it: adopt it with dr_adopt",)
    assert _outcome(None, answers, ()) == "failed"
