"""Wait until the copy has caught up. There is no deadline as long as the flow makes progress."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.durations import duration
from kafka_dr.errors import TryAgain
from kafka_dr.named_rows import positions_from_json, positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.moving import data_ends
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until

#: Between two looks at a flow that may need hours.
_PAUSE_SECONDS = 0.25


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    late = () if run.opens_copy else (f"wait until {run.flow_back} has copied what {run.target} held alone",)
    return (
        *late,
        f"wait until {run.flow} has copied all that {run.source} holds now",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Wait for as long as the flow advances. A repeated step keeps the time at which an earlier attempt caught up."""
    if not run.opens_copy:
        _wait_until_copied(run, run.flow_back)
    if caught_up := _caught_up_before(run):
        return {"caught_up_at": caught_up, "records_behind_at_first": 0, "seconds": 0.0}
    began = run.clock.monotonic()
    ends, uncopied = _wait_until_copied(run, run.flow)
    at = run.clock.now()
    run.write_fact("caught_up", {"at": at.isoformat(), "ends": positions_to_json(ends)}, needed_on=[run.source])
    seconds = round(run.clock.monotonic() - began, 3)
    return {"records_behind_at_first": sum(uncopied.values()), "seconds": seconds, "caught_up_at": at}


def _wait_until_copied(run: Run, flow: Flow) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Wait until a flow has copied all that its source holds now, for as long as it advances.

    :returns: the ends of its source, and how much was left at first, by partition
    """
    source = run.clients.cluster(flow.source, "audit")
    replicator = run.clients.replicator(flow)
    ends = run.operator(flow.source).topics.last_stable_offsets(run.partitions(flow.source))
    uncopied = _uncopied(positions := replicator.positions(), data_ends(source, positions, ends))
    advanced = run.clock.monotonic()

    def still_left() -> dict[TopicPartition, int]:
        nonlocal positions, advanced
        before, positions = positions, replicator.positions()
        left = _uncopied(positions, ends)
        if any(positions.get(partition) != before.get(partition) for partition in left):
            advanced = run.clock.monotonic()
            return left
        # The flow never passes control records after the last data record, even if other partitions are written to.
        left = _uncopied(positions, data_ends(source, positions, {partition: ends[partition] for partition in left}))
        _refuse_standstill(run, flow, left, advanced)
        return left

    if uncopied:
        wait_until(still_left, lambda left: not left, clock=run.clock, seconds=math.inf, pause_seconds=_PAUSE_SECONDS)
    return ends, uncopied


def prove(run: Run) -> Sequence[Check]:
    """The flow has copied everything up to the journaled ends."""
    kept = run.clients.register(run.source).facts(run.group.name, run.request.run).get("caught_up")
    if kept is None:
        return (
            Check(
                "caught_up",
                "unknown",
                f"the register of {run.source} has no fact caught_up of this run: run the step again",
            ),
        )
    ends = positions_from_json(kept["ends"])
    left = _left_of(run, ends)
    said = f"{run.flow} has copied all {len(ends)} partitions of {run.source} up to their journaled ends"
    return (Check.that("caught_up", not left, _missing(run, left) if left else said),)


def _caught_up_before(run: Run) -> datetime | None:
    """Return when an earlier attempt caught up; ``None`` if none did, or if its partitions are not those of now.

    ``settle`` needs an audit that is later than this time. If each attempt moved it, every audit would be too early,
    and a resumed run could never be settled.
    """
    kept = run.journal.get("caught_up")
    if kept is None:
        return None
    ends = positions_from_json(kept["ends"])
    if set(ends) != set(run.partitions(run.source)) or _left_of(run, ends):
        return None
    return datetime.fromisoformat(kept["at"])


def _left_of(run: Run, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the offsets that the flow still has to pass up to these ends, by partition."""
    positions = run.clients.replicator(run.flow).positions()
    return _uncopied(positions, data_ends(run.clients.cluster(run.source, "audit"), positions, ends))


def _uncopied(positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    return {p: end - positions.get(p, 0) for p, end in ends.items() if positions.get(p, 0) < end}


def _refuse_standstill(run: Run, flow: Flow, left: Mapping[TopicPartition, int], advanced: float) -> None:
    seconds = run.group.timing.step_deadline_seconds
    if left and run.clock.monotonic() - advanced > seconds:
        status = run.clients.replicator(flow).status()
        seen = f"{flow.name} is {status}"
        raise TryAgain(
            f"{flow} has not advanced for {duration(seconds)}. {_named(left)} offsets are not copied. {seen}. Fix "
            "that and run the step again; it continues where the flow is"
        )


def _missing(run: Run, left: Mapping[TopicPartition, int]) -> str:
    return f"{run.flow} has not copied {_named(left)} offsets yet, expected none: run the step again"


def _named(left: Mapping[TopicPartition, int]) -> str:
    shown = ", ".join(f"{p} ({count})" for p, count in sorted(left.items())[:3])
    return f"{shown} and {len(left) - 3} more" if len(left) > 3 else shown
