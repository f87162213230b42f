"""Write to the registers that the old cluster is the standby: only after a green audit of the whole copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka_dr.audit.gate import GateAnswer
from kafka_dr.checks.audit_checks import green, newest_checksum_audit
from kafka_dr.failback.context import FailbackContext
from kafka_dr.group_offsets import live_verification
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.quarantine import quarantined
from kafka_dr.register.roles import Role
from kafka_dr.register.transitions import failed_back
from kafka_dr.runs.register_guard import AsksFor
from kafka_dr.runs.retention_hold import give_retention_back
from kafka_dr.runs.run import Run
from kafka_dr.runs.settle import registers_agree, settle, settled_facts


def check(run: Run) -> Sequence[Check]:
    """The audit of this copy is green and later than ``catch_up``; near the head of the log all is equal.

    What nothing copies is kept in files: once its topics have their retention back, it expires.
    """
    if run.request.dry_run or (run.register_state is not None and not run.register_state.is_failing_back):
        return ()
    return (_audit(run), live_verification.tail(run), *_kept(FailbackContext(run)))


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (
        f"settle the register: {run.target} is a copy of {run.source} again",
        f"give the topics on {run.target} their retention back",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Compare and set the active cluster's register, then copy the record to the standby."""

    def ended(state: RegisterState) -> RegisterState:
        ranges = tuple(str(each) for each in quarantined(run.history, run.target, run.topic_ids(run.target)))
        return failed_back(state, run=run.request.run, quarantine=ranges, at=run.clock.now())

    state = settle(run, ended)
    is_copy = AsksFor(lambda now: now.roles.of(run.target) is Role.COPY, f"{run.target} as a copy")
    given_back = give_retention_back(run, run.target, run.source, run.guard_by(run.source, is_copy))
    return {**settled_facts(state), "quarantine": list(state.quarantine), "retention_given_back": list(given_back)}


def prove(run: Run) -> Sequence[Check]:
    """Both registers hold the same record, the standby refuses writes, and the flow to it runs."""
    status = run.clients.replicator(run.flow).status()
    runs = status.state == "running" or not run.owns_flow(run.flow)
    return (
        registers_agree(run, Phase.STABLE),
        run.writes_refused(run.target).named("standby_refuses"),
        Check.that("flow_runs", runs, f"{run.flow.name} is {status}"),
    )


def _kept(context: FailbackContext) -> tuple[Check, ...]:
    """Return whether it is; nothing after a rebuild, whose old topics are gone, or if everything was delivered."""
    if not (context.passed_over if context.mode == "deliver" else context.mode == "quarantine"):
        return ()
    wrong, where = context.missing(), context.store.folder
    said = f"{context.stranded.records} stranded records are kept in {where}{context.erased}"
    later = f"{wrong}; the retention of the topics on {context.run.target} stays off until then"
    return (Check.that("stranded_are_kept", not wrong, later if wrong else said),)


def _audit(run: Run) -> Check:
    found = newest_checksum_audit(run)
    caught_up = datetime.fromisoformat(run.fact("caught_up")["at"])
    if found.answer is GateAnswer.GREEN and found.result is not None and found.result.at < caught_up:
        early = (
            f"the newest checksum audit is of {found.result.at:%H:%M:%S} UTC, expected one after {caught_up:%H:%M:%S} "
            "UTC, when the copy had caught up: run the audit again, then this step"
        )
        return Check("checksum_audit", "failed", early)
    return green(found)
