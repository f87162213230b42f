"""Take the group for this run: the approval is checked against the facts of now, then the register is set.

Nobody else can take over the group from then on. It does not count as adopted: every watch leaves it alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.take_over import decision
from kafka_dr.adoption.take_over.checks import take_over_checks
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.approvals import approval
from kafka_dr.approvals.claiming import answer_permits, approved_facts, claim_fact
from kafka_dr.approvals.journaled import journal_of
from kafka_dr.checks.cluster_checks import registers_name_this_run
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.register.taken_over import COPY
from kafka_dr.register.transitions import taking_over
from kafka_dr.runs.record import claimed_facts
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """The answer is fresh, is given by an approver, and is about the facts that hold now."""
    if run.request.dry_run or _is_claimed(run):
        return ()
    context = TakeOverContext(run)
    return answer_permits(run, lambda: decision.facts(context, take_over_checks(context)))


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
    grounds = {"verb": run.request.verb, **claim_fact(run, state, [answer])}
    facts = {COPY: audited.as_approved().to_json(), "claim": grounds}
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


def _approved_audit(run: Run, digest: str) -> str:
    """Return the digest of the audit that was approved; empty if the evidence is not what was approved."""
    audit = (approved_facts(run, digest) or {}).get("audit")
    return str(audit["sha256"]) if audit else ""


def _is_claimed(run: Run) -> bool:
    state = run.register_state
    return state is not None and (state.run, state.phase) == (run.request.run, Phase.ADOPTING)
