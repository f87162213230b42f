"""Take the group for this run: the approval is checked against the facts of now, then the register is set.

Nobody else can take over the group from then on. It does not count as adopted: every watch leaves it alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.take_over import decision
from kafka_dr.adoption.take_over.checks import take_over_checks
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.approvals import approval, signed
from kafka_dr.approvals.decision import digest_of, unchanged
from kafka_dr.approvals.journaled import Answer, journal_of
from kafka_dr.checks.cluster_checks import registers_name_this_run
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.taken_over import COPY
from kafka_dr.register.transitions import taking_over
from kafka_dr.runs.record import claimed_facts
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """The answer is fresh, is given by an approver, and is about the facts that hold now."""
    if run.request.dry_run or _is_claimed(run):
        return ()
    journal = journal_of(run)
    if (answer := journal.answered(StepName.APPROVAL)) is None:
        return (approval.not_answered(journal, [StepName.APPROVAL]),)
    context = TakeOverContext(run)
    facts = decision.facts(context, take_over_checks(context))
    return (
        *approval.judge(run, answer),
        signed.verified(answer, run.group, run.request.run),
        approval.not_used(run),
        unchanged(run, facts, approved=(answer.digest,)),
    )


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (f"write to the registers that this run takes over {run.group.name}; until it ends nobody else may",)


def act(run: Run) -> Mapping[str, Any]:
    """Journal the grounds of the claim, compare and set the active cluster's register, copy it to the standby."""
    if run.register_state is not None and _is_claimed(run):
        run.clients.register(run.target).copy(run.register_state)
        return claimed_facts(run.register_state)
    before, answer = run.register_state, journal_of(run).answered(StepName.APPROVAL)
    audited = TakeOverContext(run).audited
    if answer is None or _approved_audit(run, answer.digest) != audited.sha256:
        raise approval.grounds_gone(run.group.name, run.request.run)
    state = taking_over(
        run.group.name,
        active=run.source,
        standby=run.target,
        run=run.request.run,
        evidence_sha256=answer.digest,
        approved_by=answer.responder,
        at=run.clock.now(),
        before=before,
    )
    facts = {COPY: audited.as_approved().to_json(), "claim": _fact(run, state, answer)}
    for cluster in (run.source, run.target):
        for name, fact in facts.items():
            run.clients.register(cluster).write_fact(run.group.name, run.request.run, name, fact)
    register = run.clients.register(run.source)
    if before is not None:
        register.copy(before)
    register.compare_and_set(before, state)
    run.clients.register(run.target).copy(state)
    return claimed_facts(state)


prove = registers_name_this_run


def _fact(run: Run, state: RegisterState, answer: Answer) -> dict[str, Any]:
    return {
        "verb": run.request.verb,
        "source": run.source,
        "target": run.target,
        "epoch": state.epoch,
        "reason": run.request.reason,
        "requested_by": run.request.requester,
        "approved_by": answer.responder,
        "approved_at": answer.responded_at.isoformat(),
        "digest": answer.digest,
        "answers": [answer.own_digest],
        "claimed_at": state.at.isoformat(),
    }


def _approved_audit(run: Run, digest: str) -> str:
    """Return the digest of the audit that was approved; empty if the evidence is not what was approved."""
    kept = run.clients.evidence.newest(run.group.name, run.request.run, StepName.PREFLIGHT.value)
    decided: Mapping[str, Any] = (kept or {}).get("facts", {}).get("decision", {})
    audit = decided.get("audit") if digest_of(decided) == digest else None
    return str(audit["sha256"]) if audit else ""


def _is_claimed(run: Run) -> bool:
    state = run.register_state
    return state is not None and (state.run, state.phase) == (run.request.run, Phase.ADOPTING)
