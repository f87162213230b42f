"""Take the group for this failback: the approvals are checked against the facts of now, then the register is set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.approvals.approval import grounds_gone, judge, not_answered, not_used
from kafka_dr.approvals.claiming import approved_facts, claim_fact
from kafka_dr.approvals.decision import unchanged
from kafka_dr.approvals.journaled import Answer, journal_of
from kafka_dr.approvals.signed import verified
from kafka_dr.checks.cluster_checks import registers_name_this_run
from kafka_dr.errors import NeedsPerson
from kafka_dr.failback import decision
from kafka_dr.failback.checks import failback_checks
from kafka_dr.failback.context import FailbackContext
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.register.transitions import failback_begun
from kafka_dr.runs.record import claimed_facts
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """The answers are fresh, are given by different approvers, and are about the facts that hold now."""
    if run.request.dry_run or _is_claimed(run):
        return ()
    context = FailbackContext(run)
    judged, answers = _judged_answers(context)
    facts = decision.facts(context, failback_checks(context))
    return (*judged, unchanged(run, facts, approved={answer.digest for answer in answers}))


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (f"write to the registers that this failback holds {run.group.name} and makes {run.target} a copy again",)


def act(run: Run) -> Mapping[str, Any]:
    """Journal the grounds of the claim, compare and set the active cluster's register, copy it to the old cluster."""
    if run.register_state is not None and _is_claimed(run):
        run.clients.register(run.target).copy(run.register_state)
        return claimed_facts(run.register_state)
    before, context = run.register_state, FailbackContext(run)
    answers = _judged_answers(context)[1]
    if before is None or not answers:
        raise grounds_gone(run.group.name, run.request.run)
    state = failback_begun(
        before,
        run=run.request.run,
        evidence_sha256=answers[0].digest,
        approved_by=", ".join(answer.responder for answer in answers),
        at=run.clock.now(),
    )
    run.write_fact("claim", _fact(context, state, answers))
    run.clients.register(run.source).compare_and_set(before, state)
    run.clients.register(run.target).copy(state)
    return claimed_facts(state)


prove = registers_name_this_run


def _fact(context: FailbackContext, state: RegisterState, answers: Sequence[Answer]) -> dict[str, Any]:
    run = context.run
    approved = _approved(run, answers[0].digest)
    return {
        "verb": "failback",
        "mode": context.mode,
        "rescue": context.rescue,
        **claim_fact(run, state, answers),
        "left_by": context.failover.run,
        # Exactly these may be deleted: the approvers saw them, and they are named by their ids.
        "deletes": approved["deletes"],
        "list_sha256": approved["stranded"]["list_sha256"],
    }


def _judged_answers(context: FailbackContext) -> tuple[tuple[Check, ...], tuple[Answer, ...]]:
    """Return whether the answers permit the failback, and the answers: one, or for a rebuild those of two people."""
    run = context.run
    needed = (StepName.APPROVAL, StepName.SECOND_APPROVAL) if context.mode == "rebuild" else (StepName.APPROVAL,)
    journal = journal_of(run)
    found = {step: journal.answered(step) for step in needed}
    answers = tuple(answer for answer in found.values() if answer is not None)
    if missing := [step for step, answer in found.items() if answer is None]:
        return (not_answered(journal, missing),), answers
    checks = [*(check for answer in answers for check in judge(run, answer)), not_used(run)]
    glass = context.mode != "rebuild"
    checks += [verified(answer, run.group, run.request.run, glass=glass) for answer in answers]
    if len(needed) == 2:
        people = sorted({answer.person: answer.responder for answer in answers}.values())
        said = f"approved by {', '.join(people)}"
        alone = (
            f"both approvals are by {people[0]}, expected two different people, as a rebuild deletes data: trigger a "
            "new run"
        )
        checks.append(Check.that("two_different_people", len(people) == 2, said if len(people) == 2 else alone))
    return tuple(checks), answers


def _approved(run: Run, digest: str) -> Mapping[str, Any]:
    """Return the decision facts that were approved."""
    decided = approved_facts(run, digest)
    if decided is None:
        raise NeedsPerson(
            f"the evidence of preflight of run {run.request.run} has another digest than the one that was approved: "
            "trigger a new run"
        )
    return decided


def _is_claimed(run: Run) -> bool:
    state = run.register_state
    return state is not None and (state.run, state.verb) == (run.request.run, "failback")
