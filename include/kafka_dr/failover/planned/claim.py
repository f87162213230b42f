"""Take the group for this run: the approval is checked against the facts of now, then the register is set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.approvals import approval, decision
from kafka_dr.approvals.claiming import answer_permits, claim_fact
from kafka_dr.approvals.journaled import journal_of
from kafka_dr.checks.cluster_checks import registers_name_this_run
from kafka_dr.errors import Refused
from kafka_dr.failover.planned.checks import preflight_checks
from kafka_dr.group_offsets import live_verification
from kafka_dr.group_offsets.compared_ahead import compare_before_claim
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.register.transitions import claimed
from kafka_dr.runs.record import claimed_facts
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """The answer is fresh, is given by an approver, and is about the facts that hold now."""
    if run.request.dry_run:
        return (live_verification.tail(run),)
    if is_claimed(run):
        return ()
    return answer_permits(run, lambda: decision.facts(run, preflight_checks(run, closely=False)))


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    epoch = run.register_state.epoch + 1 if run.register_state else 1
    return (f"write to the registers that this run is switching {run.group.name} (epoch {epoch})",)


def act(run: Run) -> Mapping[str, Any]:
    """Compare and set the source's register, then copy the record to the target.

    The grounds of the claim are journaled first, so a run that dies right after the compare-and-set can be finished.
    """
    if run.register_state is not None and is_claimed(run):
        run.clients.register(run.target).copy(run.register_state)
        return claimed_facts(run.register_state)
    before = run.register_state
    answer = journal_of(run).answered(StepName.APPROVAL)
    if before is None or answer is None:
        raise approval.grounds_gone(run.group.name, run.request.run)
    missed = compare_before_claim(run)
    # That may have taken a while, and the approval counts for a time only.
    if late := [check.detail for check in approval.judge(run, answer) if not check.passes]:
        raise Refused(f"{late[0]}. Nothing was changed")
    state = claimed(
        before,
        run=run.request.run,
        verb=run.request.verb,
        source=run.source,
        target=run.target,
        highest_epoch=before.epoch,
        evidence_sha256=answer.digest,
        approved_by=answer.responder,
        at=run.clock.now(),
    )
    run.write_fact("inputs", run.read_inputs())
    run.write_fact("claim", claim_fact(run, state, [answer]))
    run.clients.register(run.source).compare_and_set(before, state)
    run.clients.register(run.target).copy(state)
    return {**claimed_facts(state), **missed}


prove = registers_name_this_run


def is_claimed(run: Run) -> bool:
    """Return whether this run holds the group already and is switching it."""
    state = run.register_state
    return state is not None and state.run == run.request.run and state.phase is Phase.SWITCHING
