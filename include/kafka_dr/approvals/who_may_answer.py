"""Who may answer a question of a run: the approvers of the topology, found by name and by role when they are asked."""

from __future__ import annotations

from kafka_dr.approvals.journaled import journal_of
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.outcomes import Check
from kafka_dr.people import UNKNOWN_PERSON, Person
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.runs.run import Run

#: The name of the check.
APPROVERS = "approvers"


def deletes_data(request: RunRequest) -> bool:
    """Return whether a run would delete topics with application data."""
    return request.verb == "failback" and request.mode == "rebuild"


def needs_second(request: RunRequest, clients: Clients) -> bool:
    """Return whether a verb takes two different people for this group; what deletes data always does."""
    group = clients.topology.group(request.protection_group)
    return deletes_data(request) or (request.verb == "unplanned_failover" and group.disaster.approvers_needed > 1)


def found_for(context: GroupContext, *, requester: str) -> tuple[Person, ...]:
    """Return the approvers of a group who may answer a run that somebody has triggered.

    :param requester: the name of that person; empty where no person did
    :raises Refused: nobody may answer, or it is not known who triggered the run and that person may not answer
    :raises KafkaDrError: it cannot be found out who they are
    """
    group = context.group
    people = context.clients.approvers(group)
    said = ", ".join((*group.approvers, *(f"role {role}" for role in group.approver_roles)))
    if not people:
        raise Refused(
            f"nobody can approve for {group.name} now: none of its approvers ({said}) is known to Airflow's auth "
            "manager, or on the command line by a key. Fix approvers or approver_keys in the topology, or add the "
            "people; the command line also takes --break-glass --by NAME"
        )
    if group.requester_may_approve:
        return people
    if requester == UNKNOWN_PERSON:
        raise Refused(
            f"it is not known who triggered this run, and requester_may_approve of {group.name} is false: trigger it "
            "in Airflow, as yourself"
        )
    others = tuple(person for person in people if person.name != requester)
    if not others:
        raise Refused(
            f"nobody can approve for {group.name} now: {requester} triggered the run and is the only approver "
            f"({said}), and requester_may_approve is false. Let somebody else trigger it, or add an approver to the "
            "topology"
        )
    return others


def may_answer(run: Run, step: StepName) -> tuple[Person, ...]:
    """Return the people whose answer counts.

    :raises Refused: the first approval, after which this one is asked, is not in the register; or nobody may answer
    """
    allowed = found_for(run, requester=run.request.requester)
    if step is not StepName.SECOND_APPROVAL:
        return allowed
    first = journal_of(run).answered(StepName.APPROVAL)
    if first is None or not first.approved:
        raise Refused(
            f"run {run.request.run} has no first approval in the register of {run.arbiter}, and the second is asked "
            "for only after it: trigger a new run"
        )
    others = tuple(person for person in allowed if person.id != first.person)
    if not others:
        raise Refused(
            f"nobody can give the second approval for {run.group.name}: {first.responder} gave the first one, and no "
            "other approver is known to Airflow's auth manager. Add an approver"
        )
    return others


def enough(run: Run) -> Check:
    """Return whether there are people now who could approve this run; asked before anybody waits for them."""
    try:
        people = found_for(run, requester=run.request.requester)
    except Refused as error:
        return Check(APPROVERS, "failed", str(error))
    except KafkaDrError as error:
        return Check(APPROVERS, "unknown", f"it is not known who could approve now: {error}")
    needed = 2 if needs_second(run.request, run.clients) else 1
    names = ", ".join(person.name for person in people)
    if len(people) < needed:
        return Check(
            APPROVERS,
            "failed",
            f"two different people have to approve, and only {names} could now. Add an approver of "
            f"{run.group.name} to the topology",
        )
    return Check(APPROVERS, "ok", f"{needed} of {len(people)} people have to approve, who could now: {names}")


def declared(context: GroupContext, name: str) -> bool:
    """Return whether the topology still names a person, or a role: who has it was found out when they were asked."""
    return name in context.group.approvers or bool(context.group.approver_roles)


def four_eyes(context: GroupContext, responder: str, requester: str) -> Check:
    """Return whether the person who answered may have triggered the run, and say so if it was the same one."""
    name = "requester_may_approve"
    if not requester:
        return Check(name, "ok", "no person triggered the run")
    if responder != requester:
        return Check(name, "ok", f"{requester} triggered the run, and {responder} approved it")
    if context.group.requester_may_approve:
        return Check(name, "ok", f"{requester} triggered the run and approved it, which the topology allows")
    said = f"{requester} triggered the run and may not approve it (requester_may_approve is false): trigger a new run"
    return Check(name, "failed", said)
