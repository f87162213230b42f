"""Let applications write to a topic of the target only when their consumer groups have read its copy to the end.

Where a copy has another name than its original, a group reads two logs of one topic. What it has not read in the copy
is older than all that is written from now on. A topic whose copy is read opens at once, without waiting for others: an
application that writes one topic while it reads another continues. Whatever cannot be read, writes are admitted in the
end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from datetime import datetime
from typing import Any

from kafka_dr.clusters.model import Acl
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import Refused
from kafka_dr.failover.planned.fence_source import GROUPS_LEFT
from kafka_dr.fencing import plan
from kafka_dr.group_offsets.unread_copies import LeftToRead, UnreadCopies
from kafka_dr.named_rows import by_name, rows_of
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.runs.admitted_writes import READERS_FIRST, WRITES_ADMITTED, admitted_at
from kafka_dr.runs.record import first_few
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until

#: The fact that says what groups had left to read when writes were admitted.
COPIES_LEFT = "copies_left"
_MOST_NAMED = 3


def question(run: Run) -> str:
    """Say what an approver has to know of it; empty where writes do not wait."""
    if not (longest := run.group.flow.writes_wait_seconds):
        return ""
    return (
        f"Writes to a topic wait until the consumer groups have read its copy on {run.target}, at most "
        f"{duration(longest)}"
    )


def still_closed(run: Run) -> frozenset[Acl]:
    """Return the DENYs on the target that stay when it is opened to readers: of topics whose copy is not read yet."""
    if not run.group.flow.writes_wait_seconds or COPIES_LEFT in run.journal:
        return frozenset()
    return closed_for(_writes(run), _topics(UnreadCopies(run).now()))


def admit_writes(run: Run) -> Mapping[str, Any]:
    """Open each topic when its copy is read, and after ``copy_first_seconds`` all others.

    The time counts from when readers were let in. What was left is journaled before the last topic opens: who runs this
    again would see less.
    """
    # The journal is read only where it matters: applications wait. It counts if the topology says otherwise by now.
    if not run.group.renames_copies or not run.journal.get("opened", {}).get(READERS_FIRST):
        return {}
    run.look_for_topics(run.target)
    if COPIES_LEFT not in run.journal:
        left = {group: each.offsets for group, each in _wait_until_read(run).items()}
        run.write_fact(COPIES_LEFT, {"left": rows_of(left, **GROUPS_LEFT)}, needed_on=[run.target])
    _lift(run, _writes(run))
    if WRITES_ADMITTED not in run.journal:
        run.write_fact(WRITES_ADMITTED, {"at": run.clock.now().isoformat()}, needed_on=[run.target])
    found = run.own_facts()
    return {"writes_admitted_at": found[WRITES_ADMITTED]["at"], "copies_left": found[COPIES_LEFT]["left"]}


def still_waits(run: Run) -> bool:
    """Return whether readers are let in on the target, and writers are not yet."""
    if not run.group.flow.writes_wait_seconds:
        return False
    facts = run.own_facts()
    return "opened" in facts and admitted_at(facts) is None


def require_writers_let_in(run: Run) -> None:
    """Stop a step that comes after the wait, if somebody has passed the wait over.

    :raises Refused: writers are not let in yet
    """
    if still_waits(run):
        raise Refused(
            f"writers are not let in on {run.target} yet: clear the task switch with downstream, or run dr_resume with "
            "finish"
        )


def checks(run: Run) -> Iterator[Check]:
    """Yield whether the groups had read their copies when writes were admitted; nothing where writes did not wait."""
    facts = run.own_facts() if run.group.flow.writes_wait_seconds else {}
    if COPIES_LEFT not in facts:
        return
    name, left = "copies_read_first", by_name(facts[COPIES_LEFT]["left"], **GROUPS_LEFT)
    if not left:
        said = f"every group with an offset in a copy on {run.target} had read it before anybody wrote to its topic"
        yield Check(name, "ok", said)
        return
    opened, admitted = (datetime.fromisoformat(facts[fact]["at"]) for fact in ("opened", WRITES_ADMITTED))
    shown = "; ".join(first_few([_said(group, count) for group, count in sorted(left.items())], _MOST_NAMED))
    yield Check(
        name,
        "warning",
        f"all topics of {run.target} took writes {duration(admitted - opened)} after readers were let in, although "
        f"groups had not read their copies ({shown}): they may read records of a key out of order. Find out why they "
        "do not read",
    )


def closed_for(denies: Collection[Acl], topics: Set[str]) -> frozenset[Acl]:
    """Return those of the DENYs that cover one of the topics."""
    return frozenset(deny for deny in denies if any(map(deny.covers, topics)))


def _wait_until_read(run: Run) -> Mapping[str, LeftToRead]:
    """Wait until the groups have read their copies, open each topic as soon as they have, and return what is left.

    A change of rules that are kept elsewhere takes minutes, so there is only the last one.
    """
    copies, closed = UnreadCopies(run), _writes(run)
    one_by_one = run.access_rules(run.target).is_direct
    said = ""

    def look() -> Mapping[str, LeftToRead]:
        nonlocal closed, said
        left = copies.now()
        still = closed_for(closed, _topics(left))
        if one_by_one and left and still != closed:
            _lift(run, closed - still)
            closed, left = still, copies.now()
        if (now := _waited_for(left)) != said:
            said = now
            run.clients.shown.says(run.group.name, run.request.run, said)
        return left

    passed = run.clock.now() - datetime.fromisoformat(run.fact("opened")["at"])
    seconds = run.group.flow.writes_wait_seconds - max(0.0, passed.total_seconds())
    return wait_until(look, lambda left: not left, clock=run.clock, seconds=seconds)


def _waited_for(left: Mapping[str, LeftToRead]) -> str:
    """Say which groups writers wait for, without figures that change all the time."""
    if not left:
        return "every group has read its copies"
    names = ", ".join(first_few(sorted(left), _MOST_NAMED))
    unknown = next((f" ({each.why})" for _, each in sorted(left.items()) if each.why), "")
    return f"writers wait until {names} {'has' if len(left) == 1 else 'have'} read the copies{unknown}"


def _said(group: str, offsets: int | None) -> str:
    return f"{group}: not known" if offsets is None else f"{group}: at most {counted(offsets, 'record')}"


def _lift(run: Run, denies: Collection[Acl]) -> None:
    run.acl_changes(run.target, run.guard(Phase.HANDED_OVER)).lift(denies)


def _writes(run: Run) -> frozenset[Acl]:
    """Return the DENYs that keep applications and the probe from writing to the target's topics."""
    return plan.topic_writes(run.group.on(run.target))


def _topics(left: Mapping[str, LeftToRead]) -> frozenset[str]:
    """Return the topics that applications write, of whose copies something is left to read."""
    return frozenset().union(*(each.topics for each in left.values()))
