"""Say in the registers that the side that was left is a copy again: only behind a green audit of all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka_dr.audit import GateAnswer
from kafka_dr.checks.audit_checks import green, newest_checksum_audit
from kafka_dr.errors import NeedsPerson
from kafka_dr.group_offsets import live_verification, translation
from kafka_dr.register import Phase
from kafka_dr.register.transitions import failed_back
from kafka_dr.runs.record import Check, standing_facts
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """The audit of this very copy is green and later than the catching up; near the head all is equal."""
    if run.request.dry_run or _is_settled(run):
        return ()
    return (_audit(run), live_verification.tail(run))


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (f"settle the register: stable, active on {run.source}, {run.target} its standby",)


def act(run: Run) -> Mapping[str, Any]:
    """Compare and set the active cluster's register, then copy it to the other."""
    state = run.register_state
    if state is None:
        raise NeedsPerson(f"no register has a record of {run.group.name} any more")
    if state.phase is Phase.DIVERGED:
        ranges = tuple(str(each) for each in translation.quarantined_on(run, run.target))
        before, state = state, failed_back(state, run=run.request.run, quarantine=ranges, at=run.clock.now())
        run.clients.register(run.source).compare_and_set(before, state)
    run.clients.register(run.target).copy(state)
    return {**standing_facts(state), "settled_at": state.at, "quarantine": list(state.quarantine)}


def prove(run: Run) -> Sequence[Check]:
    """Both registers say the same, the standby refuses writes and is fed."""
    states = [run.clients.register(name).read(run.group.name) for name in (run.source, run.target)]
    stable = states[0] is not None and states[0] == states[1] and states[0].phase is Phase.STABLE
    status = run.clients.replicator(run.flow).status()
    return (
        Check.that("registers_agree", stable, f"{run.group.name} is stable, active on {run.source}, in both registers"),
        Check.of("standby_refuses", run.writes_refused(run.target)),
        Check.that("flow_runs", status.state == "running", f"{run.flow.connector} is {status.state}"),
    )


def _audit(run: Run) -> Check:
    found = newest_checksum_audit(run)
    caught_up = datetime.fromisoformat(run.fact("caught_up")["at"])
    if found.answer is GateAnswer.GREEN and found.result is not None and found.result.at < caught_up:
        early = f"the checksum audit is older than the catching up ({caught_up:%H:%M:%S} UTC): run it again"
        return Check("checksum_audit", "failed", early)
    return green(found)


def _is_settled(run: Run) -> bool:
    return run.register_state is not None and run.register_state.phase is Phase.STABLE
