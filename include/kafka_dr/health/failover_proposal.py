"""Proposes an unplanned failover without a person: once for each disaster, and withdraws it when its cause is gone.

A proposal is journaled on the cluster that the group would go to, before its run is started: if this check dies in
between, the next one proposes the same run id, which Airflow starts only once. A rejected proposal is not made again
while its cause lasts. If a run ended before it asked for approval, another one is proposed. A run that would be refused
before it could ask is not started.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from kafka_dr.disaster.disaster_rule import ClusterCondition, ClusterVerdict, judge
from kafka_dr.disaster.probes import take_probes
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.unplanned import most_copied
from kafka_dr.failover.unplanned.checks import unplanned_checks
from kafka_dr.health.registers import read_registers
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.state import HOLDING
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import shortfall
from kafka_dr.runs.request import VERBS, RunRequest
from kafka_dr.runs.run import Run

#: Proposals are journaled under this name instead of a run's.
_JOURNAL, _FACT = "proposals", "newest"


class ProposalDecision(StrEnum):
    """What to do about a proposal."""

    NOTHING = "nothing"
    PROPOSE = "propose"
    #: The run would be refused before it could ask for approval, so a person has to act.
    HELD = "held"
    WITHDRAW = "withdraw"


@dataclass(frozen=True, slots=True)
class JournaledProposal:
    """The newest proposal, as journaled.

    :param epoch: of the register record when it was made; in another epoch it belongs to an earlier disaster
    :param open: whether its cause was still there at the last check
    """

    run: str
    epoch: int
    open: bool

    @classmethod
    def of(cls, fact: Mapping[str, Any] | None) -> JournaledProposal | None:
        """Read what was journaled."""
        return None if fact is None else cls(str(fact["run"]), int(fact["epoch"]), bool(fact["open"]))

    def fact(self) -> dict[str, Any]:
        """Return what is journaled."""
        return {"run": self.run, "epoch": self.epoch, "open": self.open}


class RunAction(StrEnum):
    """What to do with the Airflow run of a proposal."""

    LEAVE = "leave"
    START = "start"
    #: Let it gather its evidence again: it finds that the cluster answers, and ends without a change.
    GATHER_AGAIN = "gather evidence again"
    #: It has ended; the next disaster gets a run of its own.
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class ProposedRun:
    """How far the run of a proposal is.

    :param alive: whether it has not ended
    :param asked: whether it has asked for an approval
    :param waiting: whether it waits for the answer
    :param begun: whether it was approved and has continued
    """

    alive: bool
    asked: bool
    begun: bool
    waiting: bool = False


def act_on(decision: ProposalDecision, run: ProposedRun | None) -> RunAction:
    """Return what a decision means for its run. Pure.

    :param run: ``None`` if it was not started yet
    """
    if decision in (ProposalDecision.NOTHING, ProposalDecision.HELD):
        return RunAction.LEAVE
    if decision is ProposalDecision.PROPOSE:
        if run is None:
            return RunAction.START
        return RunAction.LEAVE if run.alive or run.asked else RunAction.FORGET
    if run is None or not run.alive:
        return RunAction.FORGET
    # A run that gathers its evidence, or claims, checks the cluster itself. And Airflow's scheduler can crash if a run
    # is reset while it is being scheduled.
    return RunAction.GATHER_AGAIN if run.waiting and not run.begun else RunAction.LEAVE


@dataclass(frozen=True, slots=True)
class Proposal:
    """What was decided, and why.

    :param sentence: what was seen of the cluster and, if a person has to act, what to do
    :param run: the run id that is proposed or withdrawn; empty if there is none
    """

    decision: ProposalDecision
    sentence: str
    run: str = ""
    source: str = ""
    target: str = ""


def decide(
    state: RegisterState, answer: ClusterCondition, newest: JournaledProposal | None, *, now: datetime
) -> tuple[ProposalDecision, JournaledProposal]:
    """Return what to do about a proposal, and that proposal. Pure.

    :param answer: whether the active cluster is down
    :param newest: the proposal that was made last
    """
    pending = newest if newest is not None and newest.epoch == state.epoch and newest.open else None
    if answer == "down":
        made = JournaledProposal(f"proposed-{state.group}-{state.epoch}-{now:%Y%m%dT%H%M%SZ}", state.epoch, True)
        return ProposalDecision.PROPOSE, pending or made
    if answer == "up" and pending is not None:
        return ProposalDecision.WITHDRAW, pending
    return ProposalDecision.NOTHING, pending or JournaledProposal("", state.epoch, False)


def consider_proposal(group: str, clients: Clients) -> Proposal:
    """Check whether the active cluster of a group is down by the topology's rule, if the topology allows proposals.

    :raises KafkaDrError: the register of the cluster that the group would go to cannot be written
    """
    context = GroupContext(group, clients)
    if not context.group.disaster.auto_propose:
        return Proposal(
            ProposalDecision.NOTHING, f"nothing is proposed for {group}: its auto_propose is not set in the topology"
        )
    state = read_registers(context).newest
    if state is None or not _may_be_taken(state):
        if state is None:
            said = f"no register that answers has a record of {group}"
        else:
            said = f"{group} is {state.phase} by run {state.run}"
        return Proposal(ProposalDecision.NOTHING, f"{said}: no failover is proposed")
    target = _proposed_before(state, clients) or next(iter(state.roles.copies), "")
    if not target:
        return Proposal(ProposalDecision.NOTHING, f"no standby of {group} is a copy: no failover is proposed")
    probes = take_probes(context.group, clients, source=state.active, target=target)
    seen = judge(state.active, probes, context.group.disaster)
    if seen.answer == "down" and not _proposed_before(state, clients) and len(state.roles.copies) > 1:
        target = most_copied.best(state.roles.copies, most_copied.copied_to(context, state))
    try:
        newest = JournaledProposal.of(clients.register(target).facts(group, _JOURNAL).get(_FACT))
    except KafkaDrError as error:
        said = (
            f"{seen.sentence}. No failover is proposed, because the register of {target} cannot be read "
            f"({error}): check {target}"
        )
        return Proposal(ProposalDecision.NOTHING, said)
    decision, proposed = decide(state, seen.answer, newest, now=context.clock.now())
    if decision is ProposalDecision.PROPOSE and proposed != newest:
        if refusal := _refusal(proposed.run, state, target, seen, clients):
            said = (
                f"{seen.sentence}. No failover is proposed, because its run would be refused before it could ask for "
                f"approval: {refusal} Fix that, and trigger dr_unplanned_failover yourself"
            )
            return Proposal(ProposalDecision.HELD, said, "", state.active, target)
        clients.register(target).write_fact(group, _JOURNAL, _FACT, proposed.fact())
    return Proposal(decision, seen.sentence, proposed.run, state.active, target)


def _proposed_before(state: RegisterState, clients: Clients) -> str:
    """Return the standby to which a run is proposed already, or that a run moves the group to; empty if there is none.

    Of a pair it is the only one.
    """
    if state.phase in HOLDING or not state.has_several:
        return state.standby
    for name in state.roles.copies:
        with suppress(KafkaDrError):
            newest = JournaledProposal.of(clients.register(name).facts(state.group, _JOURNAL).get(_FACT))
            if newest is not None and newest.epoch == state.epoch and newest.open:
                return name
    return ""


def _refusal(run: str, state: RegisterState, target: str, seen: ClusterVerdict, clients: Clients) -> str:
    """Return why a run would be refused before it could ask for approval; empty if it would not."""
    request = RunRequest(state.group, run, state.active, target, verb="unplanned_failover")
    stopped = shortfall(unplanned_checks(Run(request, clients), seen), failed="refused")
    return stopped[1] if stopped else ""


def _may_be_taken(state: RegisterState) -> bool:
    """Return whether an unplanned failover may take the group, and no other one holds it already."""
    under_way = state.phase is Phase.SWITCHING and state.verb == "unplanned_failover"
    return VERBS["unplanned_failover"].may_take(state) and not under_way


def close_proposal(group: str, proposal: Proposal, clients: Clients) -> None:
    """Journal that a proposal has ended, so that the next disaster of this epoch gets a proposal of its own."""
    register = clients.register(proposal.target)
    newest = JournaledProposal.of(register.facts(group, _JOURNAL).get(_FACT))
    if newest is not None and newest.run == proposal.run:
        register.write_fact(group, _JOURNAL, _FACT, JournaledProposal(newest.run, newest.epoch, False).fact())
