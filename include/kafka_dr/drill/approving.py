"""Who approves the steps of a drill: the approver who triggered it, or, by the topology, nobody.

The question, its answer in the register, and the claim that reads it are those of every failover. What is different is
that no person is waited for, and that is possible for the group of a drill alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from kafka_dr.approvals import signed
from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import BY_KEY, Answer, journal_of
from kafka_dr.errors import Refused
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.people import UNKNOWN_PERSON, Person
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.topology.drill_group import Drill, drill_of
from kafka_dr.topology.drill_rules import NOBODY
from kafka_dr.verbs.ask_approval import ask_approval

_BY_TOPOLOGY = "the topology (drill.approval: automatic)"


@dataclass(frozen=True, slots=True)
class DrillApprover:
    """Who answers the questions of a drill.

    :param verified: who says that it is this person, as it continues "verified by …"
    :param key: signs the answers of a person who is known by a key
    """

    person: Person
    verified: str
    key: SigningKey | None = None


def approver_of(drill: Drill, clients: Clients, *, requester: str, key: SigningKey | None = None) -> DrillApprover:
    """Return who approves the steps of a drill.

    :param clients: of the real world
    :param requester: the name of the person who triggers it; empty where no person does
    :param key: by which that person is known without Airflow
    :raises Refused: nobody may
    """
    if drill.by_nobody:
        return DrillApprover(Person(NOBODY, NOBODY), _BY_TOPOLOGY)
    if key is not None:
        person = signed.approver_of(drill.group, key)
        verified = BY_KEY
    else:
        known = clients.approvers(drill.group) if requester and requester != UNKNOWN_PERSON else ()
        person = next((each for each in known if each.name == requester), None)
        verified = "Airflow"
    if person is None:
        raise Refused(
            f"the steps of a drill of {drill.group.name} are approved by the person who triggers it, and "
            f"{requester or 'nobody'} is not an approver of the group: let an approver trigger it, or write "
            "drill.approval: automatic into the topology"
        )
    if not drill.group.requester_may_approve:
        raise Refused(
            f"requester_may_approve of {drill.group.name} is false, so {person.name} cannot approve the steps of a "
            "drill that this person triggers: write drill.approval: automatic into the topology"
        )
    return DrillApprover(person, verified, key)


def approve(request: RunRequest, clients: Clients, approver: DrillApprover) -> datetime:
    """Ask the question of a run of a drill, answer it in the register, and return when that was.

    :param clients: of the drill
    :raises Refused: the run is of no drill
    :raises StepFailed: the answer does not count
    """
    if drill_of(request.protection_group) is None:
        raise Refused(f"{request.protection_group} is the group of no drill, so a person has to approve its runs")
    question = ask_approval(request, clients)
    at, person = clients.clock.now(), approver.person
    reason = "answered by the drill that this person triggered" if approver.person.name != NOBODY else _BY_TOPOLOGY
    answer = Answer(True, person.name, at, question.digest, reason, person.id, approver.verified)
    if approver.key is not None:
        run = Run(request, clients)
        asked = journal_of(run).asked(StepName.APPROVAL)
        if asked is None:
            raise Refused(f"the register does not hold the question of run {request.run} that was just asked")
        answer = signed.sign(signed.about(replace(answer, reason=""), asked), run.group.name, request.run, approver.key)
    record_answer(request, clients, answer)
    return at
