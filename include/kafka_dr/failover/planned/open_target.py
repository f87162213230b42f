"""Hand over and open the target. The compare-and-set in this step is the point of no return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from kafka_dr import parallel
from kafka_dr.checks.log_ends import ends_unchanged
from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused, TryAgain
from kafka_dr.failover.planned import copy_first
from kafka_dr.failover.planned.cut_over_groups import unread_is_held
from kafka_dr.failover.planned.stop_flow import replicator_refused, target_is_shut
from kafka_dr.fencing import plan
from kafka_dr.named_rows import positions_from_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.most_registers import require_most
from kafka_dr.register.state import is_on_majority
from kafka_dr.register.transitions import handed_over
from kafka_dr.runs.admitted_writes import READERS_FIRST
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.fence_proofs import Led
from kafka_dr.runs.record import standing_facts
from kafka_dr.runs.register_read import OTHERS_SECONDS
from kafka_dr.runs.run import Run

#: Proofs that may be unknown: while they are waited for nobody can write on either cluster. The report asks again.
MAY_BE_UNKNOWN = frozenset({"writes_allowed", "groups_readable"})


def check(run: Run) -> Sequence[Check]:
    """Until the hand-over: both clusters' log ends are the journaled ones, source and target refuse what they should,
    and the target holds what its groups have not read.

    The ends that ``drain`` journaled count, not those of the fence: a repeated fence could have journaled ends that are
    past records that were never compared.
    """
    if run.request.dry_run or (run.register_state is not None and run.register_state.phase is Phase.HANDED_OVER):
        return ()
    run.probe(run.source).write_permission.connect_ahead()
    run.fact("translations")
    source, target, held = parallel.at_once(
        lambda: _source_is_shut(run), lambda: target_is_shut(run), lambda: (unread_is_held(run),)
    )
    return (*source, *target, *held)


def _source_is_shut(run: Run) -> tuple[Check, Check]:
    """Return whether the source's log ends are those of the drain, and whether it refuses writes."""
    if not run.declared.closes(run.source):
        said = run.stays_open(run.source)
        return Check("source_is_still", "ok", said), Check("source_refuses", "ok", said)
    led = run.led(run.source)
    now, refused = parallel.at_once(
        lambda: run.operator(run.source).topics.high_watermarks(led), lambda: run.writes_refused(run.source, led=led)
    )
    still = ends_unchanged(
        "source_is_still",
        positions_from_json(run.fact("drained")["source_ends"]),
        now,
        about=f"on {run.source} since drain",
        moved=(
            f"The new records are not on {run.target}: find out which principal writes to {run.source}, and stop it"
        ),
    )
    return still, refused.named("source_refuses")


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    waits = copy_first.question(run)
    return (
        f"write to the register that {run.target} is active: after this the run can only be finished, not rolled back",
        f"lift the fence and the freeze of the applications on {run.target}; {run.group.replicator_principal} "
        f"stays denied on {run.target}",
        *([f"{waits}: so long their DENYs of WRITE stay"] if waits else []),
    )


def act(run: Run) -> Mapping[str, Any]:
    """Hand over in the source's register, copy the record to the target and read it back, then lift the fence."""
    state = run.record()
    for role in ("probe", "replicator"):
        run.clients.cluster(run.target, role).write_permission.connect_ahead()
    if state.phase is Phase.SWITCHING:
        state = run.advance(handed_over(state, run=run.request.run, at=run.clock.now()))
    kept = run.clients.register(run.target).copy(state)
    if kept != state:
        raise NeedsPerson(
            f"the register of {run.target} holds epoch {kept.epoch} revision {kept.revision} of run {kept.run}, "
            f"expected epoch {state.epoch} revision {state.revision} of run {state.run}: {run.target} was not opened. "
            "Compare the registers of both clusters"
        )
    tell_most(run, state)
    return {**standing_facts(state), "handed_over_at": state.at, "opened_at": lift_fence(run)}


def tell_most(run: Run, state: RegisterState, *, first: str | None = None) -> None:
    """Copy the hand-over to the other registers, and see that most registers hold it.

    Source and target are most of three. They are waited for only if there are more clusters.

    :param first: the cluster whose register is waited for first; the source where ``None``
    :raises TryAgain: too few registers hold it, so the target is not opened yet
    """
    if not state.has_several:
        return
    order = sorted(state.standbys, key=lambda name: name != (first or run.source))
    asked: dict[str, BackgroundCall[RegisterState | None]] = {
        name: BackgroundCall(f"the register of {name}", partial(_told, run, name, state)) for name in order
    }
    held: dict[str, RegisterState | None] = {run.target: state}
    for name, question in asked.items():
        if not is_on_majority(state, held):
            with suppress(KafkaDrError):
                held[name] = question.within(OTHERS_SECONDS)
    try:
        require_most(state, held, off=run.override)
    except Refused as error:
        raise TryAgain(
            f"only the registers of {', '.join(sorted(held))} hold the hand-over to {run.target}, and more than half "
            f"have to: {run.target} is not opened. Bring the others back, then run the step again"
        ) from error


def _told(run: Run, cluster: str, state: RegisterState) -> RegisterState:
    run.clients.require_declared(cluster)
    return run.clients.register(cluster).copy(state)


def lift_fence(run: Run) -> datetime:
    """Lift the fence and the freeze on the target, journal when, and return that time; the first time counts.

    :raises Refused: the target holds DENYs that this project did not add
    """
    changes = run.acl_changes(run.target, run.guard(Phase.HANDED_OVER))
    # What was fenced here by another process since this one began has to be lifted, too.
    run.look_for_topics(run.target)
    if foreign := changes.foreign(plan.work_denies(run.group.on(run.target))):
        shown = "; ".join(str(acl) for acl in sorted(foreign)[:3])
        raise Refused(
            f"{run.target} holds DENYs that this project did not add and does not lift: {shown}. Remove them, then run "
            "the step again"
        )
    closed = copy_first.still_closed(run)
    changes.lift(plan.work_denies(run.group.on(run.target)) - closed)
    return _opened_at(run, readers_first=bool(closed))


def allow_changes(run: Run) -> None:
    """Lift the change fence on the target, so that applications can change topics and delete groups.

    It is done after the route is set: there may be thousands of DENYs, which takes seconds, and applications can work
    without it.
    """
    run.acl_changes(run.target, run.guard(Phase.HANDED_OVER)).lift(plan.change_fence(run.group.on(run.target)))


def _opened_at(run: Run, *, readers_first: bool) -> datetime:
    if "opened" in run.journal:
        return datetime.fromisoformat(run.journal["opened"]["at"])
    opened_at = run.clock.now()
    fact = {"at": opened_at.isoformat(), **({READERS_FIRST: True} if readers_first else {})}
    run.write_fact("opened", fact, needed_on=[run.target])
    return opened_at


def prove(run: Run) -> Sequence[Check]:
    """The target's register holds the record, its leaders accept application writes, and the replicator is denied."""
    (register, readable), (writable, refused) = parallel.at_once(
        lambda: parallel.at_once(lambda: _register_read_back(run), lambda: _groups_readable(run)),
        lambda: _applications_write_alone(run),
    )
    return (register, writable, readable, refused)


def _applications_write_alone(run: Run) -> tuple[Check, Check]:
    """Return whether the target takes the applications' writes, and whether it refuses the replicator's."""
    led = run.led(run.target)
    return parallel.at_once(lambda: _writes_allowed_or_wait(run, led), lambda: replicator_refused(run, led))


def _writes_allowed_or_wait(run: Run, led: Led) -> Check:
    """Return the same of a target whose writers may have to wait until its readers have read."""

    def ask() -> Check:
        if copy_first.still_waits(run):
            return Check("writes_allowed", "excused", copy_first.question(run))
        return run.writes_allowed(run.target, led=led)

    return _or_unknown("writes_allowed", ask)


def _register_read_back(run: Run) -> Check:
    state = run.clients.register(run.target).read(run.group.name)
    held = state is not None and state.run == run.request.run and state.phase is Phase.HANDED_OVER
    said = f"the register of {run.target} says that {run.target} is active"
    wrong = f"the register of {run.target} does not hold the hand-over of run {run.request.run}: run the step again"
    return Check.that("register_read_back", held, said if held else wrong)


def applications_let_in(run: Run) -> Sequence[Check]:
    """Return whether applications may write and read on the target; ``open_target`` may have left that unknown."""
    return parallel.at_once(lambda: _writes_allowed(run), lambda: _groups_readable(run))


def _writes_allowed(run: Run) -> Check:
    """Return whether every leader on the target accepts a write by the probe, which every fence covers, too."""
    return _or_unknown("writes_allowed", lambda: run.writes_allowed(run.target))


def _groups_readable(run: Run) -> Check:
    """Return whether every group's coordinator on the target permits the probe to read."""

    def ask() -> Check:
        return run.reads_allowed(run.target, run.consumer_groups(run.target))

    return _or_unknown("groups_readable", ask)


def _or_unknown(name: str, ask: Callable[[], Check]) -> Check:
    """Return the answer; if none came it is unknown, which does not stop a run after the point of no return."""
    try:
        return ask().named(name)
    except KafkaDrError as error:
        return Check(name, "unknown", str(error))
