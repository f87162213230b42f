"""Audits, as far as a failover is concerned: which flow is to be audited, and what the newest audit of it says."""

from __future__ import annotations

from datetime import timedelta

from kafka_dr.audit import AuditKind, GateAnswer, GateVerdict, gate
from kafka_dr.failover.record import Check, Outcome
from kafka_dr.failover.request import RunRequest
from kafka_dr.failover.run import Run
from kafka_dr.failover.watched import Watched, at_rest
from kafka_dr.failover.world import World
from kafka_dr.replication import Flow

_OUTCOMES: dict[GateAnswer, Outcome] = {
    GateAnswer.GREEN: "ok",
    GateAnswer.RED: "failed",
    GateAnswer.TOO_OLD: "failed",
    GateAnswer.UNKNOWN: "unknown",
}


def flow_to_audit(group: str, world: World) -> Flow | Watched:
    """Return the flow from the active cluster to the standby, or why this group is left alone.

    :raises NeedsPerson: the registers contradict each other, or the one that decides cannot be read
    """
    state = at_rest(group, Run(RunRequest(group, "audit"), world).read_standing())
    return state if isinstance(state, Watched) else Flow(group, state.active, state.standby)


def newest_checksum_audit(run: Run) -> GateVerdict:
    """Return what the newest audit of the run's flow says, judged by the group's own limits."""
    return gate.ask(
        run.world.evidence_root,
        AuditKind.CHECKSUM,
        group=run.group.name,
        source=run.source,
        target=run.target,
        epoch=run.epoch,
        now=run.clock.now(),
        max_age=timedelta(seconds=run.group.audits.checksum_max_age_seconds),
    )


def green(verdict: GateVerdict) -> Check:
    """Return whether an audit is green and fresh."""
    return Check("checksum_audit", _OUTCOMES[verdict.answer], verdict.sentence)
