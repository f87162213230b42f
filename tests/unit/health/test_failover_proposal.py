"""When a failover is proposed without a person, how often, and when the proposal is withdrawn."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kafka_dr.disaster.disaster_rule import ClusterCondition
from kafka_dr.health.failover_proposal import (
    JournaledProposal,
    ProposalDecision,
    ProposedRun,
    RunAction,
    act_on,
    decide,
)
from kafka_dr.register import RegisterState
from support.register_states import AT, a_state

STATE = a_state(epoch=4)


def decided(
    answer: ClusterCondition, newest: JournaledProposal | None, *, minutes: int = 0, state: RegisterState = STATE
) -> tuple[ProposalDecision, JournaledProposal]:
    return decide(state, answer, newest, now=AT + timedelta(minutes=minutes))


def test_a_disaster_is_proposed_once_however_long_it_lasts() -> None:
    move, first = decided("down", None)
    assert move is ProposalDecision.PROPOSE
    assert first.run.startswith("proposed-orders-4-")
    assert decided("down", first, minutes=7) == (ProposalDecision.PROPOSE, first)


def test_a_journaled_proposal_is_read_back() -> None:
    _, made = decided("down", None)
    assert JournaledProposal.of(made.fact()) == made


def test_a_proposal_whose_cause_is_gone_is_withdrawn_and_the_next_disaster_gets_its_own() -> None:
    _, first = decided("down", None)
    assert decided("up", first, minutes=1) == (ProposalDecision.WITHDRAW, first)
    over = JournaledProposal(first.run, first.epoch, open=False)
    assert decided("up", over, minutes=2)[0] is ProposalDecision.NOTHING
    move, second = decided("down", over, minutes=3)
    assert move is ProposalDecision.PROPOSE
    assert second.run != first.run


def test_an_unclear_cluster_neither_proposes_nor_withdraws() -> None:
    _, first = decided("down", None)
    assert decided("unclear", None)[0] is ProposalDecision.NOTHING
    assert decided("unclear", first)[0] is ProposalDecision.NOTHING


def test_a_proposal_of_another_epoch_belongs_to_another_disaster() -> None:
    _, first = decided("down", None)
    later = a_state(epoch=1000)
    assert decided("up", first, state=later)[0] is ProposalDecision.NOTHING
    move, second = decided("down", first, state=later)
    assert move is ProposalDecision.PROPOSE
    assert second.run != first.run


WAITING = ProposedRun(alive=True, asked=True, begun=False, waiting=True)
GATHERING = ProposedRun(alive=True, asked=False, begun=False)
APPROVED = ProposedRun(alive=True, asked=True, begun=True)
REJECTED = ProposedRun(alive=False, asked=True, begun=False)
ENDED_UNASKED = ProposedRun(alive=False, asked=False, begun=False)


@pytest.mark.parametrize(
    ("run", "act"),
    [
        (None, RunAction.START),
        (WAITING, RunAction.LEAVE),
        (APPROVED, RunAction.LEAVE),
        (REJECTED, RunAction.LEAVE),
        (GATHERING, RunAction.LEAVE),
        # Its probes saw less than this check: nobody was asked yet.
        (ENDED_UNASKED, RunAction.FORGET),
    ],
)
def test_while_the_cause_lasts_one_run_asks_and_only_once(run: ProposedRun | None, act: RunAction) -> None:
    assert act_on(ProposalDecision.PROPOSE, run) is act


@pytest.mark.parametrize(
    ("run", "act"),
    [
        (None, RunAction.FORGET),
        (WAITING, RunAction.GATHER_AGAIN),
        (GATHERING, RunAction.LEAVE),
        (APPROVED, RunAction.LEAVE),
        (REJECTED, RunAction.FORGET),
        (ENDED_UNASKED, RunAction.FORGET),
    ],
)
def test_when_the_cause_is_gone_a_waiting_run_gathers_evidence_again_and_an_approved_one_continues(
    run: ProposedRun | None, act: RunAction
) -> None:
    assert act_on(ProposalDecision.WITHDRAW, run) is act
    assert act_on(ProposalDecision.NOTHING, run) is RunAction.LEAVE
