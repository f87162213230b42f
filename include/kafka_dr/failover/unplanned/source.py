"""The source of an unplanned failover: fenced and drained for a bounded time if it answers, and never waited for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover import content
from kafka_dr.failover.beside import Beside
from kafka_dr.failover.record import worst
from kafka_dr.failover.run import Run, positions_from_json
from kafka_dr.failover.steps import drain, fence_source
from kafka_dr.fencing import plan, proof
from kafka_dr.register import Phase

#: How long the source has to say that it is there, and to be fenced.
PULSE_SECONDS = 1.5
FENCE_SECONDS = 5.0
#: What is left has to cross within this; what groups get to reach the end, as the topology says, comes on top.
CROSS_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SourceSide:
    """How the source was left.

    :param fenced: it is proven to refuse writes
    :param drained: all of it has crossed, matched by content, and its groups are frozen
    """

    fenced: bool
    drained: bool
    detail: str

    def to_json(self) -> dict[str, Any]:
        """Return it as it is journaled."""
        return {"fenced": self.fenced, "drained": self.drained, "detail": self.detail}

    @classmethod
    def of(cls, journal: Mapping[str, Any]) -> SourceSide:
        """Read what a run journaled; nothing is known of a source of which nothing is journaled."""
        found = journal.get("source_side", {})
        return cls(bool(found.get("fenced")), bool(found.get("drained")), str(found.get("detail", "")))


def answers(run: Run) -> bool:
    """Return whether the source says anything at all, within a moment."""
    topics = run.operator(run.source).topics
    try:
        Beside(run.source, topics.identity).within(PULSE_SECONDS)
    except KafkaDrError:
        return False
    return True


def fence_and_drain(run: Run) -> SourceSide:
    """Fence a source that answers, and bring across what is left of it, as far as a bounded time allows."""
    try:
        fenced = Beside(run.source, lambda: _fence(run)).within(FENCE_SECONDS)
    except KafkaDrError as error:
        return SourceSide(fenced=False, drained=False, detail=f"{run.source} could not be fenced: {error}")
    if fenced:
        return SourceSide(fenced=False, drained=False, detail=fenced)
    try:
        short = Beside(run.source, lambda: _drain(run)).within(drain_seconds(run))
    except KafkaDrError as error:
        short = str(error)
    if short:
        said = f"{run.source} refuses writes, and was not drained: {short}"
        return SourceSide(fenced=True, drained=False, detail=said)
    return SourceSide(fenced=True, drained=True, detail=f"{run.source} refuses writes, and all of it has crossed")


def drain_seconds(run: Run) -> float:
    """Return how long a source that answers is drained."""
    return CROSS_SECONDS + run.group.timing.drain_seconds


def fence_late(run: Run, phase: Phase) -> tuple[bool, str]:
    """Try, once more and for a bounded time, to fence a source that may have come back; return whether it is proven."""

    def fence() -> proof.Finding:
        changes = run.acl_changes(run.source, run.permission(phase))
        # The probe last: brokers apply ACLs in order, so its refusal speaks for the others.
        changes.add(plan.application_denies(run.group), plan.probe_fence(run.group) | plan.probe_freeze(run.group))
        return run.writes_refused(run.source)

    try:
        found = Beside(run.source, fence).within(FENCE_SECONDS)
    except KafkaDrError as error:
        return False, str(error)
    return found.outcome == "ok", found.detail


def stands_still(run: Run) -> bool:
    """Return whether nothing was written to a drained source since, as far as it can still be asked.

    One that died after it was drained and fenced takes no writes, and comes back fenced.
    """
    ends = positions_from_json(run.fact("drained")["source_ends"])
    try:
        return _ends(run, ends) == ends
    except KafkaDrError:
        return True


def _ends(run: Run, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    topics = run.operator(run.source).topics
    return Beside(run.source, lambda: topics.high_watermarks(ends)).within(FENCE_SECONDS)


def _fence(run: Run) -> str:
    """Fence as a planned failover does; return why that is not proven, or nothing."""
    run.write_fact("source_touched", {"at": run.clock.now().isoformat()})
    fence_source.act(run)
    proofs = [check for check in fence_source.prove(run) if check.name != "all_partitions_replicated"]
    return "" if worst(proofs) == "ok" else "; ".join(check.detail for check in proofs if check.outcome != "ok")


def _drain(run: Run) -> str:
    """Drain as a planned failover does, but Connect is not asked; return what is missing, or nothing."""
    ends = drain.source_ends(run)
    verified = drain.wait_for_copy(run, ends, seconds=drain_seconds(run))
    tail = content.matched(verified, ends, where=run.target)
    if tail.outcome != "ok":
        return tail.detail
    drain.journal_frozen(run, ends)
    return ""
