"""Copy the rest: the tail is compared by content up to the fenced log ends, and consumer groups are frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from kafka_dr import parallel
from kafka_dr.audit.finding import FindingKind, FirstDifference, Verified
from kafka_dr.checks.change_rights import changes_refused
from kafka_dr.checks.log_ends import ends_unchanged
from kafka_dr.checks.topic_layout import GroupLayout
from kafka_dr.clusters import TopicPartition
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError, Refused, TryAgain
from kafka_dr.failover.planned.fence_source import GROUPS_LEFT, records_left
from kafka_dr.failover.planned.stop_flow import ask_to_stop
from kafka_dr.fencing import plan
from kafka_dr.group_offsets import left_to_do, other_topics, verification
from kafka_dr.group_offsets.other_topics import Elsewhere
from kafka_dr.named_rows import (
    by_name,
    groups_to_json,
    positions_from_json,
    positions_to_json,
    rows_of,
)
from kafka_dr.outcomes import Check
from kafka_dr.positions import Committed
from kafka_dr.register import Phase
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.run import Run
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

#: A group whose offset has not moved for this long is not waited for: applications commit a few times a second.
_IDLE_SECONDS = 0.3


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    copied = f"wait until {run.flow} has passed the last data record of each partition, and compare the tail by content"
    reach_end = f"give consumer groups up to {duration(run.group.timing.drain_seconds)} to reach the end"
    principals = ", ".join(run.group.principals)
    seen = "journal which topics and partitions exist and where each log begins"
    if run.closes_source:
        return (
            copied,
            f"{reach_end}, then deny {principals} every operation on the topics and groups on {run.source}, {seen}, "
            "and journal the groups' offsets",
        )
    return (
        copied,
        f"deny {principals} on {run.source} CREATE, DELETE, ALTER and ALTER_CONFIGS on the topics "
        f"and DELETE on the groups, and {seen}",
        f"{reach_end}, then deny them READ on {run.source} and journal their offsets",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Drain, compare, freeze, and journal the groups' offsets."""
    ends = source_ends(run)
    seconds = run.group.timing.step_deadline_seconds
    (verified, waiting), (seen, looking) = parallel.at_once(
        lambda: parallel.at_once(
            lambda: wait_for_copy(run, ends, seconds=seconds), lambda: _wait_for_groups(run, ends)
        ),
        lambda: parallel.at_once(lambda: other_topics.read_live(run, run.source), lambda: _deny_changes_and_look(run)),
    )
    tail = verification.matched(verified, ends, where=run.target)
    if tail.outcome != "ok":
        raise Refused(
            f"the copy on {run.target} is not equal to {run.source}, so nothing is handed over. {tail.detail}"
        )
    _refuse_outside_topics(run, seen)
    frozen, _ = parallel.at_once(lambda: journal_frozen(run, ends, looking, seen), lambda: _ask_flow_to_stop(run))
    return {
        "verified": verification.to_json(verified),
        "groups_short_of_the_end": rows_of(waiting, **GROUPS_LEFT),
        # Without what applications keep next to them: the register needs it, the evidence does not.
        "group_offsets": groups_to_json({g: {p: int(o) for p, o in of.items()} for g, of in frozen.offsets.items()}),
        **other_topics.left_out(run, frozen.elsewhere),
    }


@dataclass(frozen=True, slots=True)
class FrozenGroups:
    """Consumer groups that can no longer read or commit.

    :param offsets: next to read in the topics of the protection group, by group and partition
    :param elsewhere: what these groups read outside the protection group
    """

    offsets: Committed
    elsewhere: tuple[Elsewhere, ...]


def _deny_changes_and_look(run: Run) -> BackgroundCall[GroupLayout] | None:
    """Add the change fence, and begin to look which topics there are after it; ``None``: the freeze brings both.

    The layout is compared only in the report: no run is undone for it while applications wait.
    """
    if run.closes_source:
        return None
    deny_changes(run)
    return _looking(run)


def _looking(run: Run) -> BackgroundCall[GroupLayout]:
    return BackgroundCall(run.source, lambda: GroupLayout.seen(run, run.source))


def deny_changes(run: Run) -> None:
    """Add the change fence. This runs while longer work is done, and writes are already refused."""
    run.changes_at_source(run.guard(Phase.SWITCHING)).add(plan.change_fence(run.group.on(run.source)))


def journal_frozen(
    run: Run,
    ends: Mapping[TopicPartition, int],
    looking: BackgroundCall[GroupLayout] | None,
    seen: Sequence[Elsewhere] = (),
    *,
    layout_seconds: float = 10.0,
) -> FrozenGroups:
    """Freeze the groups and journal their offsets, with the log ends up to which all was compared.

    :param ends: these log ends of the source, by partition
    :param looking: the look at the topics of the source; ``None`` if that, or its change fence, is not complete, or
        if the freeze denies changes, too: then that is when it begins
    :param seen: what the groups' members read outside the protection group right before
    :param layout_seconds: how long the source may take to say which topics it has
    :raises Refused: a group has begun to read outside, and the policy does not permit that
    """
    _deny_reads(run)
    if run.closes_source:
        looking = _looking(run)
    committed = _frozen_offsets(run)
    outside = other_topics.of_frozen(run, committed, seen)
    _refuse_outside_topics(run, outside)
    moves = partial(run.group.moves_positions_in, cluster=run.source)
    frozen = FrozenGroups(
        {g: {p: o for p, o in found.items() if moves(p.topic)} for g, found in committed.items()}, outside
    )
    run.write_fact(
        "drained",
        {
            "source_ends": positions_to_json(ends),
            "group_offsets": groups_to_json(frozen.offsets),
            "elsewhere": [row.to_json() for row in outside],
            **left_to_do.journaled_starts(run, run.source),
            # The first look counts: a later one would hide what was changed in between.
            "layout": run.journal.get("drained", {}).get("layout") or _layout(looking, layout_seconds),
        },
    )
    return frozen


def _layout(looking: BackgroundCall[GroupLayout] | None, seconds: float) -> dict[str, Any] | None:
    """Return which topics the source has, as it is journaled; ``None`` if it did not say that in time."""
    if looking is None:
        return None
    try:
        return looking.within(seconds).to_json()
    except KafkaDrError:
        return None


def _refuse_outside_topics(run: Run, rows: Sequence[Elsewhere]) -> None:
    """Refuse if a group has begun to read outside since the approval; a run without its source only reports it."""
    if rows and run.group.groups_policy.other_topics == "refuse":
        run.source_policy.refuse_at_source(other_topics.sentence(run, rows, cluster=run.source))


def prove(run: Run) -> Sequence[Check]:
    """The tail is equal, nothing was written since, no group can read or commit, and nobody can change topics."""
    ends = source_ends(run)
    return parallel.at_once(
        lambda: verification.matched(verification.frontier(run).advance(ends), ends, where=run.target),
        lambda: _source_is_still(run, ends),
        lambda: run.reads_refused(run.source, run.consumer_groups(run.source)).named("groups_frozen"),
        lambda: changes_refused(run, run.source),
    )


def _source_is_still(run: Run, ends: Mapping[TopicPartition, int]) -> Check:
    if not run.declared.closes(run.source):
        return Check("source_is_still", "ok", run.stays_open(run.source))
    return ends_unchanged(
        "source_is_still",
        ends,
        run.operator(run.source).topics.high_watermarks(ends),
        about=f"on {run.source} since the fence was proven",
        moved=(
            "A principal that the fence does not cover writes there, maybe a super user: find it and stop it, then "
            "trigger a new run"
        ),
    )


def source_ends(run: Run) -> dict[TopicPartition, int]:
    """Return the log ends of the source, by partition, as they were journaled after the fence."""
    return positions_from_json(run.fact("source_ends")["ends"])


def wait_for_copy(run: Run, ends: Mapping[TopicPartition, int], *, seconds: float) -> Mapping[TopicPartition, Verified]:
    """Wait until each record up to the log ends is found on the target; a difference ends the wait at once.

    :param ends: of the source, by partition
    :raises TryAgain: records are still missing after ``seconds``
    """
    frontier = verification.frontier(run)
    verified: dict[TopicPartition, Verified] = {}

    def advanced() -> Mapping[TopicPartition, Verified]:
        # What is verified to its end is not looked at again: of many partitions each look takes a while.
        left = {p: end for p, end in ends.items() if p not in verified or verified[p].finding is not None}
        verified.update(frontier.advance(left))
        return verified

    with frontier.kept_once():
        wait_until(
            advanced,
            lambda found: not _only_missing(found),
            clock=run.clock,
            seconds=seconds,
            pause_seconds=SHORT_PAUSE_SECONDS,
        )
    if missing := _only_missing(verified):
        shown = "; ".join(map(str, missing[:5]))
        raise TryAgain(
            f"{run.flow} did not copy all records of {run.source} within {duration(seconds)}: {shown}. Look at "
            f"{run.clients.replicator(run.flow).described}, then run the step again"
        )
    return verified


def _only_missing(verified: Mapping[TopicPartition, Verified]) -> list[FirstDifference]:
    """Return the findings if all of them are missing records, which may still be copied; else nothing."""
    findings = [found.finding for found in verified.values() if found.finding is not None]
    return findings if all(finding.kind is FindingKind.MISSING for finding in findings) else []


def _ask_flow_to_stop(run: Run) -> None:
    """Ask for the flow to be stopped now, as nothing is left to copy, unless it continues."""
    if not run.opens_copy:
        return
    try:
        run.guard(Phase.SWITCHING).require()
        ask_to_stop(run)
    except KafkaDrError:
        # The next step asks again, and says what is wrong.
        return


def _wait_for_groups(run: Run, ends: Mapping[TopicPartition, int]) -> dict[str, int]:
    """Give groups time to reach the log ends, and return how many records each other group has left.

    Nobody can write meanwhile. So a group is waited for only if it makes progress, and fast enough to reach the end in
    time at the pace that it has shown since the fence. Every other group resumes on the target where it is.
    """
    groups = run.operator(run.source).groups
    names = run.moved_groups(run.source)
    fact = run.fact("source_ends")
    first = by_name(fact["groups_left"], **GROUPS_LEFT)
    observed = max(0.0, (run.clock.now() - datetime.fromisoformat(fact["groups_seen_at"])).total_seconds())
    began = run.clock.monotonic()
    seen: dict[str, tuple[int, float]] = {name: (records, -observed) for name, records in first.items()}

    def is_hopeless(left: Mapping[str, int]) -> bool:
        waited = run.clock.monotonic() - began
        seen.update(
            (name, (records, waited)) for name, records in left.items() if seen.get(name, (-1, 0))[0] != records
        )
        remaining = run.group.timing.drain_seconds - waited
        return not any(
            waited - seen[name][1] < _IDLE_SECONDS
            and will_reach_end(first.get(name, records), records, passed=observed + waited, remaining=remaining)
            for name, records in left.items()
        )

    return wait_until(
        lambda: records_left(groups.offsets(names, require_stable=False), ends),
        is_hopeless,
        clock=run.clock,
        seconds=run.group.timing.drain_seconds,
        pause_seconds=SHORT_PAUSE_SECONDS,
    )


def will_reach_end(before: int, left: int, *, passed: float, remaining: float) -> bool:
    """Return whether a group reaches the log ends in time at the pace that it has shown.

    :param before: records that were left at the first look
    :param left: records that are left now
    :param passed: seconds between the two looks
    :param remaining: seconds that the group still has
    """
    return left * passed <= (before - left) * remaining


def _deny_reads(run: Run) -> None:
    changes = run.changes_at_source(run.guard(Phase.SWITCHING))
    changes.add(run.closed(plan.group_freeze(run.group.on(run.source))), plan.probe_freeze(run.group.on(run.source)))


def _frozen_offsets(run: Run) -> dict[str, dict[TopicPartition, int]]:
    refused = run.reads_refused(run.source, run.consumer_groups(run.source))
    if refused.outcome != "ok":
        raise TryAgain(f"the groups could not be frozen on {run.source}: {refused.detail}. Run the step again")
    return run.operator(run.source).groups.offsets(run.moved_groups(run.source), require_stable=True)
