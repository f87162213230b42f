"""Hand over and open the target. The compare-and-set in this step is the point of no return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused
from kafka_dr.failover.planned.stop_flow import replicator_refused, target_is_still
from kafka_dr.fencing import plan, proof
from kafka_dr.fencing.proof import Finding
from kafka_dr.register import Phase
from kafka_dr.register.transitions import handed_over
from kafka_dr.runs.group_context import PROOF_SECONDS
from kafka_dr.runs.offset_rows import positions_from_json
from kafka_dr.runs.record import Check, standing_facts
from kafka_dr.runs.run import Run

#: Nobody can write on either side while an answer to these is waited for: the run goes on, and asks again at its end.
MAY_BE_UNKNOWN = frozenset({"writes_allowed", "groups_readable"})


def check(run: Run) -> Sequence[Check]:
    """Up to the hand-over: both logs stand where the drain and the end of the flow left them, the source refuses.

    The drain's own ends count, not the fence's: fencing again would move those past records that were never matched.
    """
    if run.request.dry_run or _is_handed_over(run):
        return ()
    run.probe(run.source).asking.connect_ahead()
    run.fact("translations")
    journaled = positions_from_json(run.fact("drained")["source_ends"])
    partitions = run.partitions(run.source)
    now = run.operator(run.source).topics.high_watermarks(partitions)
    moved = sorted(partition for partition in partitions if now[partition] != journaled.get(partition, 0))
    detail = f"the ends of {len(partitions)} partitions on {run.source} stand where the drain left them"
    if moved:
        shown = ", ".join(map(str, moved[:5]))
        detail = f"{shown} on {run.source} moved behind the fence: records would be left there; find out who writes"
    refused, target = run.at_once(lambda: run.writes_refused(run.source), lambda: target_is_still(run))
    return (Check.that("source_is_still", not moved, detail), Check.of("source_refuses", refused), target)


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (
        f"write to the register that {run.target} is active: from here on there is only forward",
        f"lift the fence and the freeze of the applications on {run.target}; {run.group.replicator_principal} "
        "stays denied there",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Hand over, copy the record to the target and read it back there, then lift the fence."""
    state = run.register_state
    if state is None:
        raise NeedsPerson(f"no register has a record of {run.group.name} any more")
    for role in ("probe", "replicator"):
        run.clients.cluster(run.target, role).asking.connect_ahead()
    if state.phase is Phase.SWITCHING:
        new = handed_over(state, run=run.request.run, at=run.clock.now())
        run.clients.register(run.source).compare_and_set(state, new)
        state = new
    kept = run.clients.register(run.target).copy(state)
    if kept != state:
        raise NeedsPerson(
            f"{run.target}'s register holds epoch {kept.epoch} revision {kept.revision} by run {kept.run}, which is "
            "not what was handed over: nothing was opened; compare the registers"
        )
    return {**standing_facts(state), "handed_over_at": state.at, "opened_at": lift_fence(run)}


def lift_fence(run: Run) -> datetime:
    """Let the applications in on the target, journal when, and return that; the first time counts.

    :raises Refused: others have shut it, too
    """
    changes = run.acl_changes(run.target, run.permission(Phase.HANDED_OVER))
    if foreign := changes.foreign(plan.shut_out(run.group)):
        shown = "; ".join(str(acl) for acl in sorted(foreign)[:3])
        raise Refused(f"{run.target} holds DENYs that were not added here and are not lifted: {shown}. Remove them")
    changes.lift(plan.shut_out(run.group))
    return _opened_at(run)


def let_change(run: Run) -> None:
    """Let the applications change topics and delete groups on the target, too, once the route leads there.

    Thousands of DENYs may go with that, which takes seconds, and applications work without it.
    """
    run.acl_changes(run.target, run.permission(Phase.HANDED_OVER)).lift(plan.change_fence(run.group))


def _opened_at(run: Run) -> datetime:
    if "opened" in run.journal:
        return datetime.fromisoformat(run.journal["opened"]["at"])
    opened_at = run.clock.now()
    run.write_fact("opened", {"at": opened_at.isoformat()}, needed_on=[run.target])
    return opened_at


def prove(run: Run) -> Sequence[Check]:
    """The target's register says so, its leaders take application writes, and the replicator stays denied."""
    return run.at_once(
        lambda: _register_read_back(run),
        lambda: _writes_allowed(run),
        lambda: _groups_readable(run),
        lambda: replicator_refused(run),
    )


def _register_read_back(run: Run) -> Check:
    state = run.clients.register(run.target).read(run.group.name)
    held = state is not None and state.run == run.request.run and state.phase is Phase.HANDED_OVER
    return Check.that("register_read_back", held, f"{run.target}'s register names {run.target} active")


def applications_let_in(run: Run) -> Sequence[Check]:
    """Return whether applications may write and read on the target: of a run that went on without knowing, at last."""
    return run.at_once(lambda: _writes_allowed(run), lambda: _groups_readable(run))


def _writes_allowed(run: Run) -> Check:
    """Return whether every leader on the target would take a write by the probe, whom every fence is about, too."""
    return _told("writes_allowed", lambda: run.writes_allowed(run.target))


def _groups_readable(run: Run) -> Check:
    """Return whether every group's coordinator on the target lets the probe read."""

    def ask() -> Finding:
        probe, groups = run.probe(run.target), run.consumer_groups(run.target)
        return proof.reads_allowed(probe, groups, clock=run.clock, deadline_seconds=PROOF_SECONDS)

    return _told("groups_readable", ask)


def _told(name: str, ask: Callable[[], Finding]) -> Check:
    """Return an answer; where none came it is unknown, which ends no run that is past the point of no return."""
    try:
        return Check.of(name, ask())
    except KafkaDrError as error:
        return Check(name, "unknown", str(error))


def _is_handed_over(run: Run) -> bool:
    return run.register_state is not None and run.register_state.phase is Phase.HANDED_OVER
