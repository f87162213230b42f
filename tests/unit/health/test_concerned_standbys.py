"""A stopped flow to one standby keeps no failover to another one from starting."""

from __future__ import annotations

from kafka_dr.health.concerned_standbys import STANDBY, rows_of_standbys
from kafka_dr.outcomes import Check
from kafka_dr.register import transitions
from kafka_dr.watch_results import STANDBYS
from support.register_states import AT, a_state

THREE = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
STOPPED = Check("flow", "failed", "it is stopped", {STANDBY: "west"})


def outcomes(*checks: Check) -> dict[str, tuple[str, list[str]]]:
    return {row["standby"]: (row["outcome"], row["said"]) for row in rows_of_standbys(THREE, checks)[STANDBYS]}


def test_what_is_wrong_with_one_standby_is_said_of_that_one_alone() -> None:
    assert outcomes(STOPPED, Check("route", "ok", "it leads to east")) == {
        "west": ("failed", ["it is stopped"]),
        "north": ("ok", []),
    }


def test_what_names_no_standby_concerns_all() -> None:
    lost = Check("route", "failed", "it leads nowhere")
    assert outcomes(lost, Check("lag", "excused", "old")) == dict.fromkeys(
        ("west", "north"), ("failed", ["it leads nowhere"])
    )
    back = Check("flow", "unknown", "no answer", {STANDBY: "east"})
    assert {outcome for outcome, _ in outcomes(back).values()} == {"unknown"}, "of a flow to the active cluster"


def test_a_pair_has_no_rows() -> None:
    assert rows_of_standbys(a_state(), (STOPPED,)) == {}
