"""Fence the standby and stop the existing replication, provably: from now on nothing changes the copy.

While it still runs, what it has copied since the audit is compared, so that little is left to compare while nothing is
copied. Then it is asked to stop, where it can be asked, and its principal is denied in any case: a process of somebody
else can be started again at any time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.take_over.ahead import compare_ahead
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.adoption.take_over.copies_back import no_copies_back
from kafka_dr.clock import Clock
from kafka_dr.clusters import Acl, TopicPartition
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.fencing import open_transactions, plan
from kafka_dr.named_rows import positions_from_json, positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.register.taken_over import EXISTING
from kafka_dr.replication.existing.port import ExistingReplication, ExistingStatus
from kafka_dr.runs.end_transactions import end_transactions
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until

#: How long the log ends of the standby have to be still: what a broker had authorized before the DENY is written by
#: then.
STILL_SECONDS = 1.5


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    context = TakeOverContext(run)
    stops = context.existing.abilities().stop
    asked = f"ask {context.existing.described} to stop" if stops.can else f"ask nobody to stop ({stops.reason})"
    group, principal = run.group, context.declared.principal
    denies = (
        f"deny {principal} WRITE, and changes, on the group's topics on {run.target}, and READ on its consumer groups; "
        "deny the applications there what a standby denies"
    )
    if group.existing_is_own:
        denies = f"take over its transactional ids; deny the applications on {run.target} what a standby denies"
    both = f"{run.source} and {run.target}"
    apart = f"deny everybody but replication every change of copies on {both}; "
    apart += f"deny {group.replicator_principal} WRITE on the topics of applications there"
    return (
        f"compare what was copied to {run.target} since the audit, while the existing replication runs",
        f"journal what its parts do and how far they have read; {asked}",
        denies,
        *(() if run.opens_copy else (apart,)),
        f"end the transactions that are open on {run.target}, and see that nothing is written there any more",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Compare near to the head, journal what is there, stop it, deny its principal, end what is open."""
    context, guard = TakeOverContext(run), run.guard(Phase.ADOPTING)
    seconds = run.group.timing.step_deadline_seconds
    compared = compare_ahead(run, context)
    if EXISTING not in run.journal:
        guard.require()
        run.write_fact(EXISTING, _seen(run, context))
    began = run.clock.now()
    if context.existing.abilities().stop.can:
        guard.require()
        context.existing.stop(seconds)
    run.look_for_topics(run.source, run.target)
    group, target = run.group, run.target
    applications, probe, changes = plan.standby_in_order(group.on(target))
    applications |= plan.apart(group, target) | plan.existing_fence(group, target)
    # The probe is denied last: a leader that refuses it applies the DENYs before it, too.
    fence = (applications, probe, changes | plan.existing_change_fence(group, target))
    added = run.acl_changes(target, guard).add(*fence)
    run.acl_changes(run.source, guard).add(_at_source(run))
    _end_transactions(run, context)
    ends = _still_ends(run)
    run.write_fact("copy_ends", {"ends": positions_to_json(ends), "stopped_at": began.isoformat()})
    return {"denies_added": len(added), "compared_ahead": compared, "stopped_at": began}


def prove(run: Run) -> Sequence[Check]:
    """Every leader refuses writes, the DENYs are there, nothing is written, and what can be asked is stopped."""
    group, led = run.group, run.led_with_copies(run.target)
    wanted = (
        plan.standby(group.on(run.target)) | plan.apart(group, run.target) | plan.existing_denies(group, run.target)
    )
    present = run.denies_present(run.target, wanted)
    refused = run.writes_refused(run.target, led=led) if led else present
    return (
        present.named("principal_denied"),
        refused.named("standby_refuses"),
        *_apart(run),
        _nothing_is_written(run),
        _is_stopped(run),
    )


def _at_source(run: Run) -> frozenset[Acl]:
    """Return the DENYs of the cluster that stays active: no flow writes where applications do."""
    return plan.flow_fence(run.group.on(run.source)) | plan.apart(run.group, run.source)


def _apart(run: Run) -> tuple[Check, ...]:
    """Return whether nobody but replication can write copies on the active cluster, where it gets any."""
    if run.opens_copy:
        return ()
    return (run.denies_present(run.source, _at_source(run)).named("copies_denied_on_source"), no_copies_back(run))


def copy_ends(run: Run) -> dict[TopicPartition, int]:
    """Return the log ends of the copy, by partition of the source, as they were journaled after the fence."""
    return positions_from_json(run.own_fact("copy_ends")["ends"])


def _seen(run: Run, context: TakeOverContext) -> dict[str, Any]:
    """Return what is there, for a take over that is given back, and for a release that hands back."""
    existing = context.existing
    positions = positions_if_said(existing)
    principal = context.declared.principal
    acls = run.operator(run.target).acls.list()
    return {
        "described": existing.described,
        "principal": principal,
        "status": known_status(existing, run.clock, run.group.timing.step_deadline_seconds).to_json(),
        "abilities": existing.abilities().to_json(),
        "positions": None if positions is None else positions_to_json(positions),
        "acls_of_principal": sorted(str(acl) for acl in acls if acl.principal == principal),
        "seen_at": run.clock.now().isoformat(),
    }


def positions_if_said(existing: ExistingReplication) -> dict[TopicPartition, int] | None:
    """Return how far the existing replication has read; ``None`` if nobody can say, or does not answer.

    They are only kept as what was seen: where the copy ends is found out by content.
    """
    try:
        return existing.positions()
    except KafkaDrError:
        return None


def known_status(existing: ExistingReplication, clock: Clock, seconds: float) -> ExistingStatus:
    """Return what the parts of the existing replication do; where that can be asked, once it is known of each.

    What is journaled as unknown could not be restored.

    :param seconds: how long to wait for that
    :raises TryAgain: it was not known by then
    """
    if not existing.abilities().state.can:
        return existing.status()
    found = wait_until(existing.status, lambda seen: not seen.unknown, clock=clock, seconds=seconds)
    if found.unknown:
        raise TryAgain(
            f"after {duration(seconds)} it is not known what {', '.join(found.unknown)} does, so it could not be "
            f"restored, and nothing was stopped ({found}): look at what runs it"
        )
    return found


def _end_transactions(run: Run, context: TakeOverContext) -> None:
    """Abort what is open on the standby; whoever opened it cannot write there any more."""
    guard, seconds = run.guard(Phase.ADOPTING), run.group.timing.step_deadline_seconds
    partitions = run.led_with_copies(run.target)
    end_transactions(run, run.target, guard, all_of_them=True, partitions=partitions)
    if ids := context.existing.transactional_ids():
        guard.require()
        run.operator(run.target).transactions.take_over(ids)
    held = open_transactions.wait_until_stable(
        run.operator(run.target), partitions, clock=run.clock, deadline_seconds=seconds
    ).held_back
    if held:
        shown = ", ".join(map(str, sorted(held)[:3]))
        raise TryAgain(
            f"open transactions on {run.target} hold back {shown} after {duration(seconds)}: run the step again"
        )


def _still_ends(run: Run) -> dict[TopicPartition, int]:
    """Return the log ends of the copy once they have been still for a while."""
    topics, partitions = run.copies_by(run.flow).topics, run.copied_by(run.flow)
    seen = topics.high_watermarks(partitions)
    since = run.clock.monotonic()

    def look() -> bool:
        nonlocal seen, since
        now = topics.high_watermarks(partitions)
        if now != seen:
            seen, since = now, run.clock.monotonic()
        return run.clock.monotonic() - since >= STILL_SECONDS

    seconds = run.group.timing.step_deadline_seconds
    if not wait_until(look, lambda still: still, clock=run.clock, seconds=seconds):
        raise TryAgain(
            f"the log ends of {run.target} still move {duration(seconds)} after its writers were denied: find out who "
            "writes there (perhaps a super user), stop it, then trigger a new run"
        )
    return seen


def _nothing_is_written(run: Run) -> Check:
    ends = copy_ends(run)
    now = run.copies_by(run.flow).topics.high_watermarks(ends)
    moved = sorted(p for p, end in ends.items() if now[p] != end)
    said = f"the log ends of {counted(len(ends), 'partition')} on {run.target} are still"
    if moved:
        said = (
            f"the log ends of {', '.join(map(str, moved[:5]))} on {run.target} moved after its writers were denied: "
            "find out who writes there (perhaps a super user), and stop it"
        )
    return Check.that("copy_is_still", not moved, said)


def _is_stopped(run: Run) -> Check:
    """Return whether what can be asked says that it is stopped; the DENY holds whatever it says."""
    name, context = "existing_is_stopped", TakeOverContext(run)
    if not context.existing.abilities().state.can:
        return Check(name, "ok", f"{context.existing.described} cannot be asked; its principal is denied")
    found = context.existing.status()
    return Check.that(name, found.at_rest, f"{found}")
