"""Proposing an unplanned failover without a person: once for each disaster, and withdrawn when its cause is gone.

What was proposed is journaled where the group would go, before it is: a look that died in between proposes the same run
again, which Airflow starts only once. Whoever rejects a proposal is not asked again while the cause lasts. A run that
ended before it asked anybody is none: the disaster gets another one. One that could only end like that is not started.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from kafka_dr.disaster.disaster_rule import ClusterCondition, ClusterVerdict, judge
from kafka_dr.disaster.probes import take_probes
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.unplanned.checks import unplanned_checks
from kafka_dr.health.registers import read_registers
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import shortfall
from kafka_dr.runs.request import TAKES, RunRequest
from kafka_dr.runs.run import Run

#: Under which name, in place of a run's, proposals are journaled.
_JOURNAL, _FACT = "proposals", "newest"


class ProposalDecision(StrEnum):
    """What to do about a proposal."""

    NOTHING = "nothing"
    PROPOSE = "propose"
    #: It would be refused before it could ask anybody, so a person has to look.
    HELD = "held"
    WITHDRAW = "withdraw"


@dataclass(frozen=True, slots=True)
class JournaledProposal:
    """The newest proposal, as journaled.

    :param epoch: of the register when it was made; in another epoch it is about something else
    :param open: whether its cause was still there when it was looked at last
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
    """What to do with the run of a proposal."""

    LEAVE = "leave"
    START = "start"
    #: Let it gather evidence anew: it finds a cluster that answers, and ends with nothing changed.
    LOOK_AGAIN = "look again"
    #: It is over; the next disaster gets one of its own.
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class ProposedRun:
    """How far the run of a proposal is.

    :param alive: whether it is going to do something yet
    :param asked: whether anybody was, or is being, asked to approve it
    :param waiting: whether it is parked until somebody answers
    :param begun: whether it was approved and is past being asked
    """

    alive: bool
    asked: bool
    begun: bool
    waiting: bool = False


def act_on(move: ProposalDecision, run: ProposedRun | None) -> RunAction:
    """Decide what a move means for its run, purely.

    :param run: ``None`` where there is none yet
    """
    if move in (ProposalDecision.NOTHING, ProposalDecision.HELD):
        return RunAction.LEAVE
    if move is ProposalDecision.PROPOSE:
        if run is None:
            return RunAction.START
        return RunAction.LEAVE if run.alive or run.asked else RunAction.FORGET
    if run is None or not run.alive:
        return RunAction.FORGET
    # One that gathers its evidence, or claims, looks at the cluster by itself; and Airflow's scheduler can die of a run
    # that is reset while it is being scheduled.
    return RunAction.LOOK_AGAIN if run.waiting and not run.begun else RunAction.LEAVE


@dataclass(frozen=True, slots=True)
class Proposal:
    """What was decided, and why.

    :param run: the run that is proposed or withdrawn; empty where there is none
    """

    move: ProposalDecision
    sentence: str
    run: str = ""
    source: str = ""
    target: str = ""


def decide(
    state: RegisterState, answer: ClusterCondition, newest: JournaledProposal | None, *, now: datetime
) -> tuple[ProposalDecision, JournaledProposal]:
    """Decide, purely.

    :param answer: whether the active cluster is down
    :param newest: the proposal that was made last
    """
    standing = newest if newest is not None and newest.epoch == state.epoch and newest.open else None
    if answer == "down":
        made = JournaledProposal(f"proposed-{state.group}-{state.epoch}-{now:%Y%m%dT%H%M%SZ}", state.epoch, True)
        return ProposalDecision.PROPOSE, standing or made
    if answer == "up" and standing is not None:
        return ProposalDecision.WITHDRAW, standing
    return ProposalDecision.NOTHING, standing or JournaledProposal("", state.epoch, False)


def consider(group: str, clients: Clients) -> Proposal:
    """Look whether the active cluster of a group is down by the topology's rule, where that may propose a run.

    :raises KafkaDrError: the register of the cluster that it would go to cannot be written
    """
    context = GroupContext(group, clients)
    if not context.group.disaster.auto_propose:
        return Proposal(ProposalDecision.NOTHING, f"{group}: the topology leaves proposals to people (auto_propose)")
    state = read_registers(context).newest
    if state is None or not _may_be_taken(state):
        standing = "not adopted, or does not answer" if state is None else f"{state.phase} by run {state.run}"
        return Proposal(ProposalDecision.NOTHING, f"{group} is {standing}: there is nothing to propose")
    seen = judge(
        state.active,
        take_probes(context.group, clients, source=state.active, target=state.standby),
        context.group.disaster,
    )
    try:
        newest = JournaledProposal.of(clients.register(state.standby).facts(group, _JOURNAL).get(_FACT))
    except KafkaDrError as error:
        said = f"{seen.sentence}; but the register of {state.standby} cannot be read, so nothing can go there ({error})"
        return Proposal(ProposalDecision.NOTHING, said)
    move, proposed = decide(state, seen.answer, newest, now=context.clock.now())
    if move is ProposalDecision.PROPOSE and proposed != newest:
        if in_the_way := _in_the_way(proposed.run, state, seen, clients):
            said = f"{seen.sentence}; but a run would ask nobody: {in_the_way} Trigger dr_unplanned_failover yourself"
            return Proposal(ProposalDecision.HELD, said, "", state.active, state.standby)
        clients.register(state.standby).write_fact(group, _JOURNAL, _FACT, proposed.fact())
    return Proposal(move, seen.sentence, proposed.run, state.active, state.standby)


def _in_the_way(run: str, state: RegisterState, seen: ClusterVerdict, clients: Clients) -> str:
    """Say what a run would be refused for before it could ask anybody; empty where that is nothing."""
    request = RunRequest(state.group, run, state.active, state.standby, verb="unplanned_failover")
    stopped = shortfall(unplanned_checks(Run(request, clients), seen), failed="refused")
    return stopped[1] if stopped else ""


def _may_be_taken(state: RegisterState) -> bool:
    """Return whether an unplanned failover may take the group, and none has it already."""
    under_way = state.phase is Phase.SWITCHING and state.verb == "unplanned_failover"
    return state.phase in TAKES["unplanned_failover"] and not under_way


def close(group: str, proposal: Proposal, clients: Clients) -> None:
    """Journal that a proposal is over, so that the next disaster of this epoch gets one of its own."""
    register = clients.register(proposal.target)
    newest = JournaledProposal.of(register.facts(group, _JOURNAL).get(_FACT))
    if newest is not None and newest.run == proposal.run:
        register.write_fact(group, _JOURNAL, _FACT, JournaledProposal(newest.run, newest.epoch, False).fact())
