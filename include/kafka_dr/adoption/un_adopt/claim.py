"""Take the group for its release: the approval is checked against the facts of now, then the register is set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.un_adopt import decision
from kafka_dr.adoption.un_adopt.checks import release_checks
from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.approvals import approval
from kafka_dr.approvals.claiming import answer_permits, claim_fact
from kafka_dr.approvals.journaled import journal_of
from kafka_dr.checks.cluster_checks import registers_name_this_run
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.register.transitions import releasing
from kafka_dr.runs.record import claimed_facts
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """The answer is fresh, is given by an approver, and is about the facts that hold now."""
    if run.request.dry_run or _is_claimed(run):
        return ()
    context = ReleaseContext(run)
    return answer_permits(run, lambda: decision.facts(context, release_checks(context)))


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (f"write to the registers that this run releases {run.group.name}",)


def act(run: Run) -> Mapping[str, Any]:
    """Journal the grounds of the claim, compare and set the active cluster's register, copy it to the standby."""
    if run.register_state is not None and _is_claimed(run):
        run.clients.register(run.target).copy(run.register_state)
        return claimed_facts(run.register_state)
    before, answer = run.register_state, journal_of(run).answered(StepName.APPROVAL)
    if before is None or answer is None:
        raise approval.grounds_gone(run.group.name, run.request.run)
    state = releasing(
        before,
        run=run.request.run,
        evidence_sha256=answer.digest,
        approved_by=answer.responder,
        at=run.clock.now(),
    )
    of_release = {"verb": run.request.verb, "hand_back_to": ReleaseContext(run).hand_back_to}
    run.write_fact("claim", {**of_release, **claim_fact(run, state, [answer])})
    run.clients.register(run.source).compare_and_set(before, state)
    run.clients.register(run.target).copy(state)
    return claimed_facts(state)


prove = registers_name_this_run


def _is_claimed(run: Run) -> bool:
    state = run.register_state
    return state is not None and (state.run, state.phase) == (run.request.run, Phase.RELEASING)
