"""Whether the target gets what a run's consumer groups are to read on there, by flows that the run does not drain.

Where members hold copies of each other, a group that moves reads what all of them take. The run drains its own source.
What the others take comes by flows of their own, and a group that has read more on the source than the target holds
reads that again when it arrives.
"""

from __future__ import annotations

from kafka_dr import parallel
from kafka_dr.audit.result import AuditKind
from kafka_dr.checks.audit_checks import by_policy, newest_audit
from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets.transfers import transfers
from kafka_dr.outcomes import Check, worst
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import not_running
from kafka_dr.runs.members import record_of
from kafka_dr.runs.run import Run

NAME = "copies_for_groups"


def flows_for_groups(run: Run) -> tuple[Flow, ...]:
    """Return the flows to the target, but the run's own one if its source is drained."""
    drained = run.declared.closes(run.source)
    return tuple(
        run.flow_between(transfer.origin, run.target)
        for transfer in transfers(run)
        if transfer.on_target is not None and not (transfer.follows_flow and drained)
    )


def copies_for_groups(run: Run) -> Check:
    """Answer for a preflight: these flows run, and their newest checksum audits say that the copies are equal."""
    if not run.declared.consumer_groups:
        return Check(NAME, "ok", "no consumer group moves with these clients")
    found = parallel.ask_each(lambda flow: _of_flow(run, flow), flows_for_groups(run))
    answers = [Check(NAME, "unknown", str(each)) if isinstance(each, KafkaDrError) else each for each in found.values()]
    outcome = worst(answers)
    if outcome != "ok":
        said = [f"{flow.name}: {each.detail}" for flow, each in zip(found, answers, strict=True) if not each.passes]
        groups = " and ".join(run.declared.consumer_groups)
        return Check(NAME, outcome, f"{groups} would not find all on {run.target}. {'; '.join(said)}")
    origins = " and ".join(flow.source for flow in found)
    return Check(NAME, "ok", f"{run.target} holds what {origins} take, equal by the newest audits")


def _of_flow(run: Run, flow: Flow) -> Check:
    replicator = run.clients.replicator(flow)
    status = replicator.status()
    if status.state != "running":
        return Check(NAME, "failed", f"{not_running(replicator, status)}")
    other = None if run.owns_flow(flow) else (flow, record_of(run, flow.group))
    return by_policy(newest_audit(run, AuditKind.CHECKSUM, other), AuditKind.CHECKSUM, run.group.audits)
