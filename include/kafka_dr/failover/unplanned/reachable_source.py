"""Fence and drain the source of an unplanned failover if it answers, within a bounded time; never wait for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import Any

from kafka_dr import parallel
from kafka_dr.checks.cluster_checks import writers_declared
from kafka_dr.checks.topic_layout import GroupLayout
from kafka_dr.clusters import TopicPartition
from kafka_dr.codec import StoredDocument
from kafka_dr.errors import ConnectionMistake, KafkaDrError, TryAgain, Unanswered
from kafka_dr.failover.planned import drain, fence_source
from kafka_dr.fencing import plan
from kafka_dr.group_offsets import verification
from kafka_dr.named_rows import positions_from_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.end_transactions import end_transactions
from kafka_dr.runs.run import Run
from kafka_dr.waiting import PAUSE_SECONDS, wait_until

#: How long the source has to answer at all, and to be fenced without the grace of its open transactions, in seconds.
PULSE_SECONDS = 1.5
FENCE_SECONDS = 5.0
#: How long the rest may take to be copied, in seconds. ``drain_seconds`` of the topology, for the groups, is added.
COPY_SECONDS = 5.0
#: How long the change fence and the look at the topics after it are waited for from their beginning, in seconds.
_CHANGES_SECONDS = 2.0
_LATE = "old_cluster_refuses"


@dataclass(frozen=True, slots=True)
class SourceState(StoredDocument):
    """What was done to the source before the hand-over.

    :param fenced: it is proven to refuse writes
    :param drained: all of its records are copied and compared by content, and its groups are frozen
    :param detail: one sentence
    """

    fenced: bool
    drained: bool
    detail: str

    @classmethod
    def of(cls, journal: Mapping[str, Any]) -> SourceState:
        """Read what a run journaled; without a fact the source counts as neither fenced nor drained."""
        found = journal.get("source_side", {})
        return cls(bool(found.get("fenced")), bool(found.get("drained")), str(found.get("detail", "")))


def answers(run: Run) -> bool:
    """Return whether the source answers within ``PULSE_SECONDS``, and is the declared cluster.

    A source that this process has waited for in vain is not waited for again: the background fence continues to ask it.
    """
    silent = run.clients.silent_clusters
    asked = silent.ask(run.source, run.source, lambda: run.clients.require_declared(run.source))
    try:
        asked.within(0 if silent.is_given_up(run.source) else PULSE_SECONDS)
    except KafkaDrError:
        return False
    return True


def begin_fencing(run: Run) -> Callable[[], SourceState]:
    """Fence and drain the source if it answers at once; else wait for it in the background while the step continues.

    If an earlier attempt fenced and drained it, that still counts, as long as nothing was written since. If the source
    does not answer any more, that is unknown: it counts as fenced, and not as drained.

    :returns: a function that ends the waiting and returns the state of the source
    """
    earlier = SourceState.of(run.journal)
    if earlier.drained and (found := seen_again(run, earlier)).fenced:
        run.write_fact("source_side", found.to_json())
        return lambda: found
    if not answers(run):
        return BackgroundFence(run).source_state
    source_state = fence_and_drain(run)
    run.write_fact("source_side", source_state.to_json())
    return lambda: source_state


def fence_and_drain(run: Run) -> SourceState:
    """Fence a source that answers, and copy the rest of its records, within a bounded time."""
    try:
        unproven, passing = BackgroundCall(run.source, lambda: _fence_in_time(run)).within(fence_seconds(run))
    except KafkaDrError as error:
        return SourceState(fenced=False, drained=False, detail=f"{run.source} could not be fenced: {error}")
    if unproven:
        return SourceState(fenced=False, drained=False, detail=unproven)
    try:
        missing = BackgroundCall(run.source, lambda: _drain(run)).within(drain_seconds(run))
    except KafkaDrError as error:
        missing = str(error)
    drained = f"was not drained: {missing}" if missing else "was drained"
    if missing and run.closes_source:
        # The freeze would have denied changes, too.
        BackgroundCall(run.source, lambda: drain.deny_changes(run))
    if passing:
        # Declared principals write no more. Of the others nobody knows.
        return SourceState(fenced=False, drained=False, detail=f"{run.source} {drained}; but {passing}")
    if missing:
        return SourceState(fenced=True, drained=False, detail=f"{run.source} refuses writes, and {drained}")
    return SourceState(
        fenced=True, drained=True, detail=f"{run.source} refuses writes, and all of its records are copied"
    )


class BackgroundFence:
    """Waits in the background for a source that did not answer; if it answers after all, it is fenced.

    The flow is fenced at the same time, so such a source is not drained. After it is given up, it is not asked and not
    waited for. Nothing is journaled about it before it answers.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._answered, self._given_up = Event(), Event()
        #: Why the source cannot be asked, if that is a mistake of ours.
        self._mistake = ""
        self._fence = BackgroundCall(run.source, self._wait_and_fence)

    def source_state(self) -> SourceState:
        """Give the source up if it has not answered by now, else wait for its fence; return its state."""
        source = self._run.source
        if not self._answered.is_set():
            self._given_up.set()
            said = self._mistake or f"{source} does not answer"
            return SourceState(fenced=False, drained=False, detail=said)
        try:
            unproven, passing = self._fence.within(fence_seconds(self._run))
        except KafkaDrError as error:
            return SourceState(fenced=False, drained=False, detail=f"{source} could not be fenced: {error}")
        if open_to := unproven or passing:
            return SourceState(fenced=False, drained=False, detail=f"{source} answered late; {open_to}")
        said = f"{source} answered late and refuses writes; it was not drained, as the flow was already fenced"
        return SourceState(fenced=True, drained=False, detail=said)

    def _wait_and_fence(self) -> tuple[str, str]:
        until = self._run.clock.monotonic() + FENCE_SECONDS
        while not self._answers():
            if self._given_up.wait(PAUSE_SECONDS) or self._run.clock.monotonic() > until:
                raise TryAgain(f"{self._run.source} does not answer")
        self._answered.set()
        return _fence_in_time(self._run)

    def _answers(self) -> bool:
        try:
            self._run.clients.require_declared(self._run.source)
        except Unanswered as error:
            self._mistake = str(error) if isinstance(error, ConnectionMistake) else ""
            return False
        return not self._given_up.is_set()


def fence_seconds(run: Run) -> float:
    """Return how long fencing a source that answers may take, with the grace for its open transactions, in seconds."""
    # Two changes: topics, then transactional ids. The first one that does not arrive in time ends the attempt.
    changes = 2 * run.rules_need_seconds(run.source)
    return FENCE_SECONDS + run.group.timing.transaction_grace_seconds + changes


def drain_seconds(run: Run) -> float:
    """Return how long a source that answers may take to be drained, in seconds."""
    return COPY_SECONDS + run.group.timing.drain_seconds + run.rules_need_seconds(run.source)


def fence_once_more(run: Run, phase: Phase) -> Check:
    """Try once more, for a bounded time, to fence a source that may answer again; return whether that is proven.

    If it does not answer, the outcome is unknown. The change fence is added only after the proof: its DENYs can be
    thousands. They would use up the time for ending transactions, and a fenced source would count as unfenced.
    """
    guard = run.guard(phase)

    def fence() -> Check:
        run.look_for_topics(run.source)
        *shut, _ = plan.standby_in_order(run.group.on(run.source))
        run.changes_at_source(guard).add(*shut)
        end_transactions(run, run.source, guard, all_of_them=True)
        refused, declared = parallel.at_once(
            lambda: run.writes_refused(run.source), lambda: writers_declared(run, (run.source,))
        )
        return declared if refused.outcome == "ok" and not declared.passes else refused.named(_LATE)

    try:
        late = BackgroundCall(run.source, fence).within(FENCE_SECONDS + run.rules_need_seconds(run.source))
    except KafkaDrError as error:
        return Check(_LATE, "unknown", str(error))
    if late.outcome == "ok":
        # If this fails, dr_health adds the missing DENYs.
        with suppress(KafkaDrError):
            changes, seconds = (
                plan.change_fence(run.group.on(run.source)),
                FENCE_SECONDS + run.rules_need_seconds(run.source),
            )
            BackgroundCall(run.source, lambda: run.changes_at_source(guard).add(changes)).within(seconds)
    return late


def seen_again(run: Run, before: SourceState) -> SourceState:
    """Return the state of a source that was fenced and drained, by what its log ends are now.

    A source that died after it was fenced is still fenced when it answers again. But a principal that no fence stops
    may have written to it before it died. So without an answer it does not count as drained.

    :param before: what was journaled about it
    """
    ends = positions_from_json(run.fact("drained")["source_ends"])
    try:
        now = _ends(run, ends)
    except KafkaDrError:
        said = f"{run.source} does not answer any more, so it is unknown whether it was written to since"
        return SourceState(fenced=True, drained=False, detail=f"{before.detail}; {said}")
    if now != ends:
        return SourceState(False, False, f"{run.source} was written to after it was drained")
    return before


def _ends(run: Run, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    def ask() -> dict[TopicPartition, int]:
        run.clients.require_declared(run.source)
        return run.operator(run.source).topics.high_watermarks(ends)

    return BackgroundCall(run.source, ask).within(FENCE_SECONDS)


def _fence_in_time(run: Run) -> tuple[str, str]:
    """Fence, and try again while there is time: a broker that woke up answers before it leads any partition.

    Its controller has fenced it as dead, and unfences it after its next heartbeat (``broker.heartbeat.interval.ms``).
    """
    return wait_until(lambda: _fence(run), lambda _: True, clock=run.clock, seconds=FENCE_SECONDS, retry=TryAgain)


def _fence(run: Run) -> tuple[str, str]:
    """Fence as a planned failover does; return what is not proven, and which principals no fence stops."""
    run.write_fact("source_touched", {"at": run.clock.now().isoformat()})
    fence_source.act(run)
    found, declared = parallel.at_once(lambda: fence_source.prove(run), lambda: writers_declared(run, (run.source,)))
    proofs = [check for check in found if check.name != "all_partitions_replicated"]
    unproven = "; ".join(check.detail for check in proofs if not check.passes)
    return unproven, "" if declared.passes else declared.detail


def _drain(run: Run) -> str:
    """Drain as a planned failover does, but without asking the flow to stop; return what is missing, or nothing."""
    ends = drain.source_ends(run)
    # Tens of thousands of DENYs take longer than a drain may: they are added at the same time, and not waited for.
    denying = None if run.closes_source else BackgroundCall(run.source, lambda: _layout_after_change_fence(run))
    verified = drain.wait_for_copy(run, ends, seconds=drain_seconds(run))
    tail = verification.matched(verified, ends, where=run.target)
    if tail.outcome != "ok":
        return tail.detail
    drain.journal_frozen(run, ends, denying and _in_time(denying), layout_seconds=_CHANGES_SECONDS)
    return ""


def _layout_after_change_fence(run: Run) -> GroupLayout:
    drain.deny_changes(run)
    return GroupLayout.seen(run, run.source)


def _in_time(denying: BackgroundCall[GroupLayout]) -> BackgroundCall[GroupLayout] | None:
    """Return the look at the topics of the source; ``None`` if that, or its change fence, is not complete yet."""
    try:
        denying.within(_CHANGES_SECONDS)
    except KafkaDrError:
        return None
    return denying
