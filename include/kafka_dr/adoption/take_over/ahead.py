"""Compare what was copied since the audit while the existing replication still runs: nothing waits for it.

So that little is left to compare while nothing is copied. How far it got is journaled after each part.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.adoption.take_over.copy_tail import CopyTail
from kafka_dr.adoption.take_over.open_on_source import waits_for
from kafka_dr.adoption.take_over.tail import TailFault, unapproved
from kafka_dr.audit.finding import FindingKind
from kafka_dr.codec import decode, encode
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import Refused
from kafka_dr.register.taken_over import (
    EXISTING,
    SECOND_COPIES,
    TAIL_SEEN,
    Points,
    Ranges,
)
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until


def tail_of(run: Run, context: TakeOverContext) -> CopyTail:
    """Return the tail of the copy from where it was compared the last time: by the audit, or ahead of the fence."""
    begin = dict(context.approved.compared)
    if (seen := run.journal.get(TAIL_SEEN)) is not None:
        begin |= {p: points[0] for p, points in decode(Points, seen["compared"]).items()}
    return CopyTail(run.clients.cluster(run.source, "audit"), run.copies_by(run.flow, "audit"), begin)


def faults_of(run: Run, context: TakeOverContext, tail: CopyTail) -> Sequence[TailFault]:
    """Return the faults of a tail that nobody has approved.

    Copies of aborted records pass if the approver has seen some: that this replication copies them is approved then.
    """
    seen = {kind for kinds in context.approved.findings.values() for kind in kinds}
    return unapproved(
        tail.tails,
        duplicates_pass=run.group.audits.duplicates == "report",
        aborted_pass=FindingKind.ABORTED.value in seen,
    )


def compare_ahead(run: Run, context: TakeOverContext) -> int:
    """Compare the tail while it grows, until little is left, and return how many records were equal.

    A transaction of the source that is open now has to end first: it would keep the take over waiting while nothing is
    copied.

    :raises Refused: it has faults that nobody approved, or too much is left; nothing is stopped then
    """
    if EXISTING in run.journal:
        return 0
    partitions, only_on_target = context.shared()
    if only_on_target:
        raise Refused(
            f"{only_on_target[0]} is only on {run.target}, so it is not a copy: delete it, then trigger a new run"
        )
    tail, limit = tail_of(run, context), run.group.thresholds.max_tail_records
    # What a process that died had compared is not compared again.
    earlier = decode(Ranges, run.journal.get(TAIL_SEEN, {}).get(SECOND_COPIES, ()))
    seen = None

    def look() -> int:
        nonlocal seen
        tail.advance(partitions)
        _refuse_faults(run, context, tail)
        points = {p: each.point for p, each in tail.tails.items()}
        if points != seen:
            twice = {p: (*earlier.get(p, ()), *each.second_copies) for p, each in tail.tails.items()}
            compared = encode({p: (point,) for p, point in points.items()}, Points)
            run.write_fact(TAIL_SEEN, {"compared": compared, SECOND_COPIES: encode(twice, Ranges)})
            seen = points
        return sum(tail.left.values())

    seconds = run.group.timing.step_deadline_seconds
    left = wait_until(look, lambda left: left <= limit and not tail.held_back, clock=run.clock, seconds=seconds)
    if tail.held_back:
        said = held_back_in_words(run, tail)
        raise Refused(f"{said}. After {duration(seconds)} nothing was stopped: trigger a new run when they have ended")
    if left > limit:
        raise Refused(
            f"of the copy {counted(left, 'record is', 'records are')} not compared after {duration(seconds)}, "
            f"{limit:,} are allowed "
            "(thresholds.max_tail_records), so nothing was stopped: raise timing.step_deadline_seconds, so that there "
            "is time to compare what was copied since the audit, or try again when less is copied"
        )
    return sum(each.records for each in tail.tails.values())


def held_back_in_words(run: Run, tail: CopyTail) -> str:
    """Say which transactions of the source keep the rest of a tail from being compared."""
    held_back = tail.held_back
    return waits_for(
        run.operator(run.source).transactions.open(),
        held_back,
        source=run.source,
        target=run.target,
        offsets=sum(tail.left[p] for p in held_back),
    )


def _refuse_faults(run: Run, context: TakeOverContext, tail: CopyTail) -> None:
    if faults := faults_of(run, context, tail):
        shown = "; ".join(map(str, faults[:3])) + (f"; and {len(faults) - 3} more" if len(faults) > 3 else "")
        raise Refused(
            f"since the audit the copy has faults that nobody has approved: {shown}. Nothing is taken over: trigger a "
            "new run, whose audit counts them"
        )
