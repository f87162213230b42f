"""What the newest conflict audit of a block has found: after a failover more clients write on one of its members."""

from __future__ import annotations

from kafka_dr.counted import counted
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run
from kafka_dr.watch_results import WatchResultStore, read_watch_status

NAME = "open_conflicts"


def open_conflicts(run: Run) -> Check:
    """Say before a failover of a member's clients how many conflicts there are. No failover waits for that."""
    member_of = run.declared.member_of
    if member_of is None or member_of.block not in run.clients.topology.conflict_blocks:
        return Check(NAME, "ok", "nobody audits conflicts here")
    store, block = WatchResultStore(run.clients.evidence_root), member_of.block
    status = read_watch_status(block, "conflicts", store, run.clock.now())
    found = status.result.facts if status.result is not None and not status.reason else {}
    certain, possible = found.get("certain"), found.get("possible")
    if not isinstance(certain, int) or not isinstance(possible, int):
        why = status.reason or "no result is kept"
        return Check(NAME, "warning", f"how many conflicts {block} has is not known ({why}): trigger dr_conflict_audit")
    if certain or possible:
        said = f"{counted(certain, 'certain conflict')} and {counted(possible, 'possible one')}"
        todo = "look at its report: the failover decides none of them"
        return Check(NAME, "warning", f"the newest conflict audit of {block} found {said}: {todo}")
    return Check(NAME, "ok", f"the newest conflict audit of {block} found no conflict")
