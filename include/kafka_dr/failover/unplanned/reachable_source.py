"""The source of an unplanned failover: fenced and drained for a bounded time if it answers, and never waited for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import Any

from kafka_dr.checks.cluster_checks import writers_declared
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.failover.planned import drain, fence_source
from kafka_dr.fencing import plan
from kafka_dr.group_offsets import verification
from kafka_dr.register import Phase
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.end_transactions import end_transactions
from kafka_dr.runs.offset_rows import positions_from_json
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run

#: How long the source has to say that it is there, and to be fenced, apart from the grace of its open transactions.
PULSE_SECONDS = 1.5
FENCE_SECONDS = 5.0
_PAUSE_SECONDS = 0.1
#: What is left has to cross within this; what groups get to reach the end, as the topology says, comes on top.
CROSS_SECONDS = 5.0
_LATE = "old_side_refuses"


@dataclass(frozen=True, slots=True)
class SourceState:
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
    def of(cls, journal: Mapping[str, Any]) -> SourceState:
        """Read what a run journaled; nothing is known of a source of which nothing is journaled."""
        found = journal.get("source_side", {})
        return cls(bool(found.get("fenced")), bool(found.get("drained")), str(found.get("detail", "")))


def answers(run: Run) -> bool:
    """Return whether the source says anything at all, within a moment."""
    topics = run.operator(run.source).topics
    try:
        BackgroundCall(run.source, topics.identity).within(PULSE_SECONDS)
    except KafkaDrError:
        return False
    return True


def begin_fencing(run: Run) -> Callable[[], SourceState]:
    """Fence and drain a source that answers at once; one that does not is waited for beside what follows.

    What an earlier attempt drained, provably behind its fence, stays so: that the source is slow by now, or gone,
    takes nothing back.

    :returns: what says, once that is through, how the source is left
    """
    earlier = SourceState.of(run.journal)
    if earlier.drained and is_unchanged(run):
        return lambda: earlier
    if not answers(run):
        return BackgroundFence(run).source_state
    source_state = fence_and_drain(run)
    run.write_fact("source_side", source_state.to_json())
    return lambda: source_state


def fence_and_drain(run: Run) -> SourceState:
    """Fence a source that answers, and bring across what is left of it, as far as a bounded time allows."""
    try:
        unproven, passing = BackgroundCall(run.source, lambda: _fence_in_time(run)).within(fence_seconds(run))
    except KafkaDrError as error:
        return SourceState(fenced=False, drained=False, detail=f"{run.source} could not be fenced: {error}")
    if unproven:
        return SourceState(fenced=False, drained=False, detail=unproven)
    try:
        short = BackgroundCall(run.source, lambda: _drain(run)).within(drain_seconds(run))
    except KafkaDrError as error:
        short = str(error)
    left = f"was not drained: {short}" if short else "was drained as the applications left it"
    if passing:
        # Of those who are known there is nothing left to come; of the others nobody can say.
        return SourceState(fenced=False, drained=False, detail=f"{run.source} {left}; but {passing}")
    if short:
        return SourceState(fenced=True, drained=False, detail=f"{run.source} refuses writes, and {left}")
    return SourceState(fenced=True, drained=True, detail=f"{run.source} refuses writes, and all of it has crossed")


class BackgroundFence:
    """Waits, beside everything else, for a source that has said nothing yet; one that answers after all is fenced.

    What shuts the flow out goes on meanwhile, so such a source is not drained any more. Nothing is asked of it, and
    nothing waits for it, once it is given up; and nothing is journaled about it before it answers.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._woke, self._given_up = Event(), Event()
        self._fence = BackgroundCall(run.source, self._wait_and_fence)

    def source_state(self) -> SourceState:
        """Give the source up if it has not answered by now; else see its fence through, and say how it is left."""
        source = self._run.source
        if not self._woke.is_set():
            self._given_up.set()
            return SourceState(fenced=False, drained=False, detail=f"{source} does not answer")
        try:
            unproven, passing = self._fence.within(fence_seconds(self._run))
        except KafkaDrError as error:
            return SourceState(fenced=False, drained=False, detail=f"{source} could not be fenced: {error}")
        if open_to := unproven or passing:
            return SourceState(fenced=False, drained=False, detail=f"{source} answered late; {open_to}")
        said = f"{source} answered late and refuses writes; it was not drained, as the flow was shut out by then"
        return SourceState(fenced=True, drained=False, detail=said)

    def _wait_and_fence(self) -> tuple[str, str]:
        until = self._run.clock.monotonic() + FENCE_SECONDS
        while not self._answers():
            if self._given_up.wait(_PAUSE_SECONDS) or self._run.clock.monotonic() > until:
                raise TryAgain(f"{self._run.source} does not answer")
        self._woke.set()
        return _fence_in_time(self._run)

    def _answers(self) -> bool:
        try:
            self._run.operator(self._run.source).topics.identity()
        except TryAgain:
            return False
        return not self._given_up.is_set()


def fence_seconds(run: Run) -> float:
    """Return what fencing a source that answers may take: its owners get to end their transactions within it."""
    return FENCE_SECONDS + run.group.timing.transaction_grace_seconds


def drain_seconds(run: Run) -> float:
    """Return how long a source that answers is drained."""
    return CROSS_SECONDS + run.group.timing.drain_seconds


def fence_once_more(run: Run, phase: Phase) -> Check:
    """Try, once more and for a bounded time, to fence a source that may have come back, and say whether it is proven.

    One that does not answer is unknown. What keeps nobody from working is denied when that is known: thousands of such
    DENYs would take the time in which transactions are ended, and a source that refuses would count as unfenced.
    """
    *shut, changes = plan.standby_in_order(run.group)
    permission = run.permission(phase)

    def fence() -> Check:
        run.acl_changes(run.source, permission).add(*shut)
        end_transactions(run, run.source, permission, all_of_them=True)
        refused, declared = run.at_once(
            lambda: run.writes_refused(run.source), lambda: writers_declared(run, (run.source,))
        )
        return declared if refused.outcome == "ok" and declared.outcome != "ok" else Check.of(_LATE, refused)

    try:
        late = BackgroundCall(run.source, fence).within(FENCE_SECONDS)
    except KafkaDrError as error:
        return Check(_LATE, "unknown", str(error))
    if late.outcome == "ok":
        # What is missing then, the next look at the group's health adds.
        with suppress(KafkaDrError):
            BackgroundCall(run.source, lambda: run.acl_changes(run.source, permission).add(changes)).within(
                FENCE_SECONDS
            )
    return late


def is_unchanged(run: Run) -> bool:
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
    return BackgroundCall(run.source, lambda: topics.high_watermarks(ends)).within(FENCE_SECONDS)


def _fence_in_time(run: Run) -> tuple[str, str]:
    """Fence, and begin again while there is time: a broker that woke up answers, but leads nothing until it is known.

    Its controller has taken it for dead, and hears of it with its next heartbeat (``broker.heartbeat.interval.ms``).
    """
    until = run.clock.monotonic() + FENCE_SECONDS
    while True:
        try:
            return _fence(run)
        except TryAgain:
            if run.clock.monotonic() > until:
                raise
            run.clock.sleep(_PAUSE_SECONDS)


def _fence(run: Run) -> tuple[str, str]:
    """Fence as a planned failover does; return why that is not proven, and whom no fence stops, or nothing."""
    run.write_fact("source_touched", {"at": run.clock.now().isoformat()})
    fence_source.act(run)
    found, declared = run.at_once(lambda: fence_source.prove(run), lambda: writers_declared(run, (run.source,)))
    proofs = [check for check in found if check.name != "all_partitions_replicated"]
    unproven = "; ".join(check.detail for check in proofs if check.outcome != "ok")
    return unproven, "" if declared.outcome == "ok" else declared.detail


def _drain(run: Run) -> str:
    """Drain as a planned failover does, but Connect is not asked; return what is missing, or nothing."""
    ends = drain.source_ends(run)
    verified, kept = run.at_once(
        lambda: drain.wait_for_copy(run, ends, seconds=drain_seconds(run)), lambda: drain.keep_as_it_is(run)
    )
    tail = verification.matched(verified, ends, where=run.target)
    if tail.outcome != "ok":
        return tail.detail
    drain.journal_frozen(run, ends, kept)
    return ""
