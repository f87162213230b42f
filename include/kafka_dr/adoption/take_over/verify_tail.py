"""Compare what was copied since the last comparison, to the end: nothing is written to the standby any more.

The position from which this project's flow continues comes from content, never from the positions of the existing
replication alone: an at-least-once flow may have copied records beyond them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.take_over.ahead import faults_of, held_back_in_words, tail_of
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.adoption.take_over.copy_tail import CopyTail
from kafka_dr.adoption.take_over.stop_existing import copy_ends
from kafka_dr.adoption.take_over.tail import PartitionTail
from kafka_dr.adoption.take_over.tail_parts import MOST_OFFSETS
from kafka_dr.clusters import TopicPartition
from kafka_dr.codec import encode
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.named_rows import positions_from_json, positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.register.taken_over import BEGINS, EXISTING, SECOND_COPIES, Ranges
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (
        f"compare every record of {run.target} that is not compared yet, and find the last record of each partition "
        "that has a copy",
        f"wait for transactions on {run.source} whose records were copied before they ended",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Compare the tail up to the ends of the fenced standby, and journal where the flow begins."""
    context, ends = TakeOverContext(run), copy_ends(run)
    partitions, only_on_target = context.shared()
    if wrong := sorted(p for p in only_on_target if ends.get(p, 0)):
        raise Refused(f"{wrong[0]} is only on {run.target}, so it is not a copy: nothing is taken over")
    tail = tail_of(run, context)
    _compare_to_the_end(run, tail, partitions)
    if faults := faults_of(run, context, tail):
        raise Refused(
            f"the copy is not equal to its end: {'; '.join(map(str, faults[:3]))}. Nobody has approved that, so it "
            "is given back: trigger a new run, whose audit counts these faults"
        )
    tails = tail.tails
    run.write_fact(BEGINS, where_the_copy_ends(tails))
    counts: Counter[str] = Counter()
    for fault in (fault for each in tails.values() for fault in each.faults):
        counts[fault.kind] += fault.count
    return {
        "tail_records": sum(each.records for each in tails.values()),
        "duplicates": counts["duplicated"],
        "aborted": counts["aborted"],
        "ahead_of_positions": _ahead(run, {p: each.point.source for p, each in tails.items()}),
        "partitions": len(tails),
    }


def where_the_copy_ends(tails: Mapping[TopicPartition, PartitionTail]) -> dict[str, Any]:
    """Return what is journaled: where the flow begins, and up to where the standby was compared."""
    return {
        "on_source": positions_to_json({p: each.point.source for p, each in tails.items()}),
        "on_target": positions_to_json({p: each.point.target for p, each in tails.items()}),
        SECOND_COPIES: encode({p: each.second_copies for p, each in tails.items()}, Ranges),
    }


def _compare_to_the_end(run: Run, tail: CopyTail, partitions: Sequence[TopicPartition]) -> None:
    """Compare what is left of the standby; what may be copies of open transactions is compared when they have ended.

    :raises Refused: too much is left to compare while nothing is copied, or a transaction did not end in time
    """
    seconds = run.group.timing.step_deadline_seconds

    def look() -> int:
        tail.advance(partitions)
        left = sum(tail.left.values())
        if left > MOST_OFFSETS:
            raise Refused(
                f"of {run.target} {counted(left, 'offset is', 'offsets are')} not compared, and at most "
                f"{MOST_OFFSETS:,} are while nothing is "
                "copied, so what was there is restored: lower thresholds.max_tail_records, then trigger a new run"
            )
        return left

    left = wait_until(look, lambda found: not found, clock=run.clock, seconds=seconds)
    if tail.held_back:
        raise Refused(
            f"{held_back_in_words(run, tail)}. They did not end within {duration(seconds)}, so what was there is "
            "restored: trigger a new run when they have ended, or raise timing.step_deadline_seconds"
        )
    if left:
        raise TryAgain(
            f"of {run.target} {counted(left, 'offset is', 'offsets are')} not compared after "
            f"{duration(seconds)}: run the step again"
        )


def prove(run: Run) -> Sequence[Check]:
    """Everything that the standby holds is compared."""
    ends = copy_ends(run)
    now = run.copies_by(run.flow).topics.high_watermarks(ends)
    return (copy_is_compared(run.own_fact(BEGINS), ends, now, cluster=run.target),)


def copy_is_compared(
    begins: Mapping[str, Any],
    ends: Mapping[TopicPartition, int],
    now: Mapping[TopicPartition, int],
    *,
    cluster: str,
) -> Check:
    """Return whether the comparison has reached the ends of the standby.

    :param begins: what :func:`where_the_copy_ends` returned
    :param ends: as they were journaled when nothing could write there any more
    :param now: the ends of now
    """
    compared = positions_from_json(begins["on_target"])
    short = sorted(p for p, end in ends.items() if compared.get(p, 0) != end or now[p] != end)
    said = f"all {len(ends)} partitions of {cluster} are compared to their ends"
    if short:
        said = f"{', '.join(map(str, short[:5]))} on {cluster} are not compared to their ends: run the step again"
    return Check.that("copy_is_compared", not short, said)


def _ahead(run: Run, begins: Mapping[TopicPartition, int]) -> int | None:
    """Return how many offsets the copy reaches beyond what its replication has committed; ``None`` if not known."""
    positions = run.journal.get(EXISTING, {}).get("positions")
    if positions is None:
        return None
    committed = positions_from_json(positions)
    return sum(max(0, begins[p] - offset) for p, offset in committed.items() if p in begins)
