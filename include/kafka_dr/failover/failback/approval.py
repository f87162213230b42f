"""Asking people about a failback: one for quarantine, two different ones for a rebuild, which deletes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kafka_dr.errors import Refused
from kafka_dr.failover.approval import Answer, ApprovalQuestion, answer_of, judge
from kafka_dr.failover.attempt import Attempt
from kafka_dr.failover.failback.way import Way
from kafka_dr.failover.record import Check, StepRecord
from kafka_dr.failover.request import RunRequest, StepName, definition
from kafka_dr.failover.run import Run
from kafka_dr.failover.world import World


def ask(request: RunRequest, world: World, step: StepName = StepName.APPROVAL) -> ApprovalQuestion | None:
    """Make the question from preflight's evidence, and keep what is shown before anybody sees it.

    :param step: the first approval or the second
    :returns: ``None`` where nobody has to be asked: quarantine deletes nothing and needs one approval
    :raises Refused: preflight of this run is not in the evidence, or was not good
    """
    run = Run(request, world)
    preflight = world.evidence.newest(run.group.name, request.run, StepName.PREFLIGHT.value)
    if preflight is None or preflight["outcome"] != "done":
        raise Refused(f"run {request.run} has no good preflight in the evidence: there is nothing to approve")
    facts = preflight["facts"]
    approvers = _approvers(run, step)
    if step is StepName.SECOND_APPROVAL and facts["decision"]["mode"] != "rebuild":
        return None
    attempt = Attempt.start(request, world, step.value, definition(step, "failback").number)
    seconds = run.group.timing.approval_expiry_seconds
    expires_at = attempt.started_at + timedelta(seconds=seconds)
    subject = _subject(run, facts["decision"])
    body = _body(run, preflight, step) + (
        f"\nValid until {expires_at:%Y-%m-%d %H:%M:%S} UTC. Digest of the facts: `{facts['digest']}`\n"
    )
    attempt.facts = {
        "asked": {"subject": subject, "body": body, "digest": facts["digest"], "expires_at": expires_at},
        "approvers": list(approvers),
    }
    record = attempt.end(world, "done", "asked")
    return ApprovalQuestion(subject, body, facts["digest"], approvers, expires_at, seconds, record.evidence)


def record_answer(request: RunRequest, world: World, answer: Answer, step: StepName = StepName.APPROVAL) -> StepRecord:
    """Keep an answer in the evidence, where the claim looks for it.

    :raises StepFailed: it is not an approver's, or that of the one who has approved already; it is kept all the same
    """
    run = Run(request, world)
    attempt = Attempt.start(request, world, step.value, definition(step, "failback").number)
    attempt.facts = {
        "answer": {
            "approved": answer.approved,
            "responder": answer.responder,
            "responded_at": answer.responded_at,
            "digest": answer.digest,
            "reason": answer.reason,
        }
    }
    allowed = answer.responder in _approvers(run, step)
    word = "approved" if answer.approved else "rejected"
    detail = f"{word} by {answer.responder}" + ("" if allowed else ", who may not give this approval")
    attempt.checks = (Check.that("responder_is_approver", allowed, detail),)
    record = attempt.end(world, "done" if allowed else "refused", detail)
    if not answer.approved:
        world.evidence.seal(run.group.name, request.run)
    return record


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


def _approvers(run: Run, step: StepName) -> tuple[str, ...]:
    if step is not StepName.SECOND_APPROVAL:
        return run.group.approvers
    first = answer_of(run, StepName.APPROVAL)
    if first is None:
        raise Refused("the first approval is not in the evidence: the second one is asked after it")
    return tuple(name for name in run.group.approvers if name != first.responder)


def _subject(run: Run, decided: dict[str, Any]) -> str:
    if decided["mode"] == "rebuild":
        return f"Delete {len(decided['deletes'])} topics of {run.group.name} on {run.target} and copy them again?"
    return f"Make {run.target} a copy of {run.source} for {run.group.name} again?"


def _body(run: Run, preflight: dict[str, Any], step: StepName) -> str:
    facts = preflight["facts"]
    decided, measured = facts["decision"], facts["measurements"]
    checks = "\n".join(f"| {c['name']} | {c['outcome']} | {c['detail']} |" for c in preflight["checks"])
    opening = (
        f"**{run.group.name}** was taken from **{run.target}** in a disaster and is active on **{run.source}**. "
        f"{decided['stranded']['records']} records of {run.target} never crossed; they are kept.\n\n"
        f"Reason given: {run.request.reason or 'none'}\n\n"
    )
    if decided["mode"] == "rebuild":
        rows = "\n".join(
            f"| {name} | {row['records']} | {row['bytes']} | {row['stranded']} |"
            for name, row in sorted(measured["old_side"].items())
        )
        second = "This is the second approval: somebody else has said yes already.\n\n"
        opening += (second if step is StepName.SECOND_APPROVAL else "") + (
            f"**Rebuild deletes data.** These topics are deleted on **{run.target}** and copied again from "
            f"{run.source}:\n\n| topic | records | bytes | of them stranded, and kept |\n| --- | --- | --- | --- |\n"
            f"{rows}\n\n"
        )
    else:
        ranges = "\n".join(f"* `{each}`" for each in decided["quarantine"]) or "* nothing"
        opening += f"**Quarantine deletes nothing.** These offsets stay aside on {run.target}:\n\n{ranges}\n\n"
    wish = "published again" if decided["rescue"] == "republish" else "kept aside"
    return f"{opening}The stranded records are {wish}.\n\n| check | outcome | seen |\n| --- | --- | --- |\n{checks}\n"
