"""Whether what people answered lets a failback change anything: one answer, or those of two different people."""

from __future__ import annotations

from kafka_dr.approvals.approval import Answer, answer_of, judge
from kafka_dr.failback.context import Way
from kafka_dr.runs.record import Check
from kafka_dr.runs.request import StepName


def judged(way: Way) -> tuple[tuple[Check, ...], tuple[Answer, ...]]:
    """Return whether what was answered may be acted upon, and the answers."""
    run = way.run
    needed = (StepName.APPROVAL, StepName.SECOND_APPROVAL) if way.mode == "rebuild" else (StepName.APPROVAL,)
    found = {step: answer_of(run, step) for step in needed}
    answers = tuple(answer for answer in found.values() if answer is not None)
    if missing := [step.value for step, answer in found.items() if answer is None]:
        detail = f"no answer to {', '.join(missing)} of this run is in the evidence: nobody gave it"
        return (Check("approved", "failed", detail),), answers
    checks = [check for answer in answers for check in judge(run, answer)]
    if len(needed) == 2:
        people = sorted({answer.responder for answer in answers})
        said = f"approved by {', '.join(people)}"
        alone = f"both approvals are {people[0]}'s: what deletes data needs two different people"
        checks.append(Check.that("two_different_people", len(people) == 2, said if len(people) == 2 else alone))
    return tuple(checks), answers
