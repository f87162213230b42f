"""When dr_health replaces listed DENYs of a standby by DENYs of every operation, and when it leaves them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafka_dr.clusters import Acl
from kafka_dr.errors import TryAgain
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import closing as of_everything
from kafka_dr.health import closing
from kafka_dr.health.closing import close_standby
from kafka_dr.health.registers import RegisterAnswers
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.port import RegisterUnusable
from kafka_dr.register.transitions import denying_all
from kafka_dr.topology.access_rules import AccessRulesSpec
from support.pair_in_memory import GROUP, LISTED, PROBE, WHOLE, Pair
from support.register_states import AT, a_state, source_given_up
from support.sentences import assert_sentence

PROVEN = (Check("writes_refused", "ok", "every write refused"), Check("changes_refused", "excused", "a holder"))
WANTED = GROUP.model_copy(update={"fence_operations": "all"})


def look(pair: Pair, *proofs: Check, answers: RegisterAnswers | None = None, **context: Any) -> tuple[Check, ...]:
    """Let dr_health do its part; ``answers`` are those of its registers, where others were first."""
    found = answers or RegisterAnswers({name: each.read("orders") for name, each in pair.registers.items()}, {}, {})
    state = found.newest
    assert state is not None
    made = pair.context(**{"group": WANTED, **context})
    return close_standby(made, state, "west", found, proofs or PROVEN, seconds=5.0)


def test_the_record_says_it_first_in_both_registers_and_the_next_look_replaces_what_is_listed() -> None:
    pair, listed = Pair(), LISTED | PROBE
    (announced,) = look(pair)
    assert_sentence(announced.detail)
    assert pair.rules.there == listed, "whoever does not know such DENYs is refused before one is there"
    assert {each.read("orders") for each in pair.registers.values()} == {denying_all(a_state())}
    (replaced,) = look(pair)
    assert_sentence(replaced.detail)
    assert replaced.passes
    assert announced.passes
    assert pair.rules.there == WHOLE | PROBE == pair.recorded
    assert look(pair) == ()


def test_a_look_does_a_part_and_the_next_one_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "MOST_IN_A_LOOK", 2)
    pair = Pair()
    look(pair)
    looks = -(-len(WHOLE) // 2)
    for _ in range(looks):
        assert look(pair)
        assert not [deny for deny in pair.rules.there & LISTED if of_everything(deny) in pair.rules.there]
    assert pair.rules.there == WHOLE | PROBE
    assert look(pair) == ()


def test_what_is_listed_stays_unless_the_topology_wants_it_otherwise() -> None:
    assert GROUP.fence_operations == "listed"
    pair = Pair()
    assert look(pair, group=GROUP) == ()
    pair.moves_to(denying_all(pair.state))
    assert look(pair, group=GROUP) == ()
    assert pair.rules.there == LISTED | PROBE


@pytest.mark.parametrize(
    "record",
    [
        *(a_state(phase=phase, denies_all=True, epoch=2) for phase in Phase if phase is not Phase.STABLE),
        a_state(phase=Phase.DIVERGED, verb="failback", denies_all=True, epoch=2),
    ],
    ids=lambda record: f"{record.phase} {record.verb}",
)
def test_nothing_is_replaced_while_a_run_holds_the_group_or_after_a_disaster(record: RegisterState) -> None:
    pair = Pair()
    pair.moves_to(record)
    assert look(pair) == ()
    assert pair.rules.there == LISTED | PROBE


@pytest.mark.parametrize(
    "proofs",
    [
        (Check("writes_refused", "unknown", "a leader is silent"),),
        (Check("writes_refused", "failed", "a leader takes writes"),),
        (*PROVEN, Check("fence", "excused", "new topics were fenced by this look")),
    ],
)
def test_nothing_is_replaced_before_the_fence_is_proven_as_it_is(proofs: tuple[Check, ...]) -> None:
    pair = Pair()
    look(pair)
    assert look(pair, *proofs) == ()
    agreeing = RegisterAnswers(dict.fromkeys(pair.registers, pair.state), {}, {})
    assert close_standby(pair.context(WANTED), pair.state, "west", agreeing, (), seconds=1.0) == ()
    assert pair.rules.there == LISTED | PROBE


def test_nothing_is_replaced_unless_every_register_answers_and_says_the_same() -> None:
    pair = Pair()
    look(pair)
    state, older = pair.state, a_state()
    for answers in (
        RegisterAnswers({"east": state, "west": older}, {}, {}),
        RegisterAnswers({"east": older, "west": state}, {}, {}),
        RegisterAnswers({"east": state}, {}, {"west": TryAgain("no answer")}),
        RegisterAnswers({"west": state}, {}, {"east": TryAgain("no answer")}),
        RegisterAnswers({"east": state}, {}, {}, {"west": RegisterUnusable("no leader")}),
        RegisterAnswers({"east": state}, {"west": "another id"}, {}),
    ):
        assert look(pair, answers=answers) == ()
    assert pair.rules.there == LISTED | PROBE


@pytest.mark.parametrize(
    "rules",
    [
        AccessRulesSpec(kept_by="file", path="/rules.json"),
        AccessRulesSpec(kept_by="kafka_user", connection="kubernetes", namespace="kafka"),
        AccessRulesSpec(kept_by="command", program=("/bin/rules",)),
    ],
    ids=lambda rules: rules.kept_by,
)
def test_where_others_apply_the_rules_what_is_listed_stays(rules: AccessRulesSpec) -> None:
    pair = Pair()
    assert look(pair, rules=rules) == ()
    pair.moves_to(denying_all(pair.state))
    assert look(pair, rules=rules) == ()
    assert pair.rules.there == LISTED | PROBE


@pytest.mark.parametrize("denying", [False, True])
def test_a_run_that_was_faster_is_left_alone_and_the_fence_stays_whole(denying: bool) -> None:
    pair = Pair()
    if denying:
        look(pair)
    seen = RegisterAnswers({name: each.read("orders") for name, each in pair.registers.items()}, {}, {})
    pair.claims()
    held = pair.state
    (said,) = look(pair, answers=seen)
    assert_sentence(said.detail)
    assert said.outcome == "excused"
    assert pair.state == held
    assert pair.rules.there == LISTED | PROBE
    assert held.denies_all is denying, "a claim keeps what the record says"


def test_a_disaster_that_only_the_standby_s_register_knows_is_left_alone() -> None:
    pair = Pair()
    seen = RegisterAnswers(dict.fromkeys(pair.registers, pair.state), {}, {})
    west, stable = pair.registers["west"], pair.state
    west.compare_and_set(stable, source_given_up(stable, "run", AT))
    (said,) = look(pair, answers=seen)
    assert said.outcome == "excused"
    assert pair.registers["east"].read("orders") == stable


def test_a_standby_that_was_closed_is_opened_and_fenced_again_by_what_is_listed() -> None:
    pair = Pair()
    look(pair), look(pair)
    pair.opens_west_and_comes_home()
    assert pair.state.denies_all
    standby: frozenset[Acl] = pair.rules.there - plan.flow_fence(GROUP)
    assert standby == LISTED | PROBE
    (again,) = look(pair)
    assert again.facts == {"denies_replaced": len(LISTED)}
    assert replace(pair.state, denies_all=False).to_json() != pair.state.to_json()
