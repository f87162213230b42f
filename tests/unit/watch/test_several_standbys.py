"""A look at a group with several standbys is one at each: the worst is the group's, and none hides another."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from kafka_dr.errors import TryAgain
from kafka_dr.register import RegisterState, transitions
from kafka_dr.register.flow_seed import FlowSeed, fact_of_further, newest_seed
from kafka_dr.register.roles import Role
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.at_rest import WatchResult, of_each_standby
from kafka_dr.runs.flows_of_standby import flows_of
from kafka_dr.watch_results import WatchOutcome
from support.register_states import AT, a_state

THREE = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)


def result(outcome: WatchOutcome, standby: str) -> WatchResult:
    return WatchResult("orders", outcome, (f"{standby} is {outcome}",), {"flow": f"east-to-{standby}"})


def test_the_worst_comes_first_and_every_standby_has_a_row() -> None:
    outcomes: dict[str, WatchOutcome] = {"west": "failed", "north": "ok"}
    found = of_each_standby(THREE, lambda standby: result(outcomes[standby], standby))
    assert (found.outcome, found.sentences) == ("failed", ("west is failed", "north is ok"))
    assert found.facts["flow"] == "east-to-west"
    assert {row["standby"]: row["outcome"] for row in found.facts["standbys"]} == outcomes


def test_a_standby_that_does_not_answer_is_unknown_and_hides_no_other() -> None:
    def look(standby: str) -> WatchResult:
        if standby == "north":
            raise TryAgain("no answer")
        return result("ok", standby)

    found = of_each_standby(THREE, look)
    assert found.outcome == "unknown"
    assert found.sentences == ("north could not be looked at: no answer", "west is ok")


def test_a_standby_that_waits_for_its_flow_is_left_alone_by_what_needs_a_copy() -> None:
    pending = replace(THREE, roles=THREE.roles.changed({"north": Role.PENDING}))
    looked: list[str] = []

    def look(standby: str) -> WatchResult:
        looked.append(standby)
        return result("ok", standby)

    found = of_each_standby(pending, look, copies_alone=True)
    assert (looked, found.outcome) == (["west"], "left_alone")
    assert found.sentences[0].startswith("north waits for its flow from east")
    assert {row["standby"]: row["outcome"] for row in found.facts["standbys"]} == {"north": "left_alone", "west": "ok"}
    assert of_each_standby(pending, look).outcome == "ok", "what starts flows looks at it"


def test_the_answer_about_a_pair_is_that_about_its_standby() -> None:
    assert of_each_standby(a_state(), lambda standby: result("ok", standby)) == result("ok", "west")

    def silent(standby: str) -> WatchResult:
        raise TryAgain(f"{standby} does not answer")

    with pytest.raises(TryAgain):
        of_each_standby(a_state(), silent)


@pytest.mark.parametrize("state", [a_state(), THREE], ids=["a pair", "two standbys"])
def test_the_flows_of_all_standbys_are_every_flow_once(state: RegisterState) -> None:
    names = [name for name, _ in state.roles.each]
    found = [flow for standby in state.standbys for flow in flows_of(state, standby)]
    assert sorted(found) == sorted(Flow("orders", *ends) for ends in permutations(names, 2))


def journaled(*seeds: tuple[int, str, str]) -> dict[str, dict[str, Any]]:
    return {
        f"run-{epoch}-{target}": {fact_of_further(target): FlowSeed(epoch, source, target, {}).to_json()}
        for epoch, source, target in seeds
    }


@pytest.mark.parametrize(
    ("seeds", "newest"),
    [
        ([(1, "east", "north")], ("east", "north")),
        # What north holds was copied from west last, so a flow from east may not continue.
        ([(1, "east", "north"), (2, "west", "east"), (2, "west", "north"), (3, "east", "west")], ("west", "north")),
        ([(1, "east", "north"), (2, "west", "east")], ("east", "north")),
    ],
)
def test_the_newest_seed_of_a_standby_is_of_the_flow_that_copied_to_it_last(
    seeds: list[tuple[int, str, str]], newest: tuple[str, str]
) -> None:
    found = newest_seed(journaled(*seeds), a_state(epoch=9), "north")
    assert found is not None
    assert (found.source, found.target) == newest
