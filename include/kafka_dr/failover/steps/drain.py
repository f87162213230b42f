"""Bring everything across: the flow reaches the fenced ends, the tail is matched by content, groups are frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.failover import content
from kafka_dr.failover.record import Check
from kafka_dr.failover.run import Run, positions_from_json, positions_to_json
from kafka_dr.failover.steps.fence_source import PROOF_SECONDS
from kafka_dr.fencing import plan, proof
from kafka_dr.register import Phase

_PAUSE_SECONDS = 0.05
#: How long a group is watched before its pace says anything: applications commit a few times a second.
_OBSERVED_SECONDS = 0.5


def check(run: Run) -> Sequence[Check]:
    """Nothing besides the register, which the runner has asked."""
    return ()


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (
        f"wait until {run.flow} has passed the last data record of every partition, and match the tail by content",
        f"give consumer groups up to {run.group.timing.drain_seconds:g} s to reach the end, then deny them READ on "
        f"{run.source} and journal their offsets",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Drain, match, freeze, and journal the groups' offsets."""
    ends = _source_ends(run)
    with ThreadPoolExecutor(max_workers=1) as beside:
        at_end = beside.submit(_wait_for_groups, run, ends)
        positions = _wait_for_flow(run, ends)
        verified = content.frontier(run).advance(ends)
        waiting = at_end.result()
    tail = content.matched(verified, ends, where=run.target)
    if tail.outcome != "ok":
        raise Refused(f"the copy is not equal, so nothing is handed over. {tail.detail}")
    frozen = _freeze(run)
    run.write_fact(
        "drained",
        {
            "source_ends": positions_to_json(ends),
            "group_offsets": {group: positions_to_json(found) for group, found in frozen.items()},
        },
    )
    return {
        "positions": positions_to_json(positions),
        "verified": content.facts(verified),
        "groups_short_of_the_end": waiting,
        "group_offsets": {group: positions_to_json(found) for group, found in frozen.items()},
    }


def prove(run: Run) -> Sequence[Check]:
    """The tail is matched, nothing was written meanwhile, and no group can read or commit any more."""
    ends = _source_ends(run)
    now = run.operator(run.source).topics.high_watermarks(ends)
    moved = sorted(partition for partition in ends if now[partition] != ends[partition])
    still = f"the ends of {len(ends)} partitions on {run.source} have not moved since the fence"
    if moved:
        still = (
            f"{', '.join(map(str, moved[:5]))} on {run.source} moved after the fence was proven: somebody passes it, "
            "a super user perhaps; find out who writes before trying again"
        )
    frozen = proof.reads_refused(
        run.probe(run.source),
        run.consumer_groups(run.source),
        clock=run.clock,
        deadline_seconds=PROOF_SECONDS,
    )
    return (
        content.matched(content.frontier(run).advance(ends), ends, where=run.target),
        Check.that("source_is_still", not moved, still),
        Check.of("groups_frozen", frozen),
    )


def _source_ends(run: Run) -> dict[TopicPartition, int]:
    return positions_from_json(run.fact("source_ends")["ends"])


def _wait_for_flow(run: Run, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Wait until no data record is left between the flow's position and the end: control records take offsets."""
    replicator = run.world.replicator(run.flow)
    deadline = run.clock.monotonic() + run.group.timing.step_deadline_seconds
    before: dict[TopicPartition, int] | None = None
    while True:
        positions = replicator.positions()
        behind = {p: OffsetRange(positions.get(p, 0), end) for p, end in ends.items() if positions.get(p, 0) < end}
        left = _with_data(run, behind, moving=positions != before)
        before = positions
        if not left:
            return positions
        if run.clock.monotonic() > deadline:
            shown = ", ".join(f"{p} (at {behind[p].start} of {behind[p].end})" for p in left[:5])
            raise TryAgain(f"{run.flow} did not reach the end within its deadline: {shown}; look at the connector")
        run.clock.sleep(_PAUSE_SECONDS)


def _with_data(run: Run, ranges: Mapping[TopicPartition, OffsetRange], *, moving: bool) -> list[TopicPartition]:
    """Return partitions that hold a data record in their range; while the flow moves, long ranges need no look.

    Where it stands still a long range may be nothing but the records of an aborted transaction.
    """
    if not ranges:
        return []
    starts = run.operator(run.source).topics.log_starts(ranges)
    there = {p: OffsetRange(max(r.start, starts[p]), r.end) for p, r in ranges.items() if starts[p] < r.end}
    short = {p: r for p, r in there.items() if len(r) <= 20}
    if moving and len(short) < len(there):
        return sorted(set(there) - set(short))
    # One record is enough to know that the flow is not through.
    first = next(run.world.cluster(run.source, "audit").log.read(there), None)
    return [] if first is None else [first.topic_partition]


def _wait_for_groups(run: Run, ends: Mapping[TopicPartition, int]) -> dict[str, int]:
    """Give groups time to reach the end, and return the records left for each that has not.

    Every moment of this is a moment without writes, so only those are waited for that will get there in time at the
    pace that they show; a group far behind keeps its place.
    """
    groups = run.operator(run.source).groups
    names = run.consumer_groups(run.source)
    began = run.clock.monotonic()
    first: dict[str, int] = {}
    while True:
        left: dict[str, int] = {}
        for name, offsets in groups.offsets(names, require_stable=False).items():
            behind = sum(max(0, ends[p] - offset) for p, offset in offsets.items() if p in ends)
            left |= {name: behind} if behind else {}
        first = first or left
        passed = run.clock.monotonic() - began
        remaining = run.group.timing.drain_seconds - passed
        hopeful = passed < _OBSERVED_SECONDS or any(
            will_reach_end(first.get(name, behind), behind, passed=passed, remaining=remaining)
            for name, behind in left.items()
        )
        if not left or not hopeful or remaining <= 0:
            return left
        run.clock.sleep(_PAUSE_SECONDS)


def will_reach_end(before: int, left: int, *, passed: float, remaining: float) -> bool:
    """Return whether a group reaches the end in time at the pace that it has shown.

    :param before: records that were left at the first look
    :param left: records that are left now
    :param passed: seconds between the two looks
    :param remaining: seconds that it is given
    """
    return left * passed <= (before - left) * remaining


def _freeze(run: Run) -> dict[str, dict[TopicPartition, int]]:
    changes = run.acl_changes(run.source, run.permission(Phase.SWITCHING))
    changes.add(plan.group_freeze(run.group), plan.probe_freeze(run.group))
    names = run.consumer_groups(run.source)
    refused = proof.reads_refused(run.probe(run.source), names, clock=run.clock, deadline_seconds=PROOF_SECONDS)
    if refused.outcome != "ok":
        raise TryAgain(f"the groups could not be frozen: {refused.detail}")
    offsets = run.operator(run.source).groups.offsets(names, require_stable=True)
    return {g: {p: o for p, o in found.items() if run.group.owns_topic(p.topic)} for g, found in offsets.items()}
