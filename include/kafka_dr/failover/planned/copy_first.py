"""Let applications write to a topic of the target only when their consumer groups have read its copy to the end.

Where a copy has another name than its original, a group reads two logs of one topic. What it has not read in the copy
is older than all that is written from now on. A topic whose copy is read opens at once, without waiting for others: an
application that writes one topic while it reads another continues.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from datetime import datetime
from typing import Any

from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.model import Acl, PatternType
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.failover.planned.fence_source import GROUPS_LEFT
from kafka_dr.fencing import plan
from kafka_dr.named_rows import by_name, rows_of
from kafka_dr.offsets.translate.answers import to_commit, translations_from_json
from kafka_dr.outcomes import Check
from kafka_dr.positions import Committed
from kafka_dr.register import Phase
from kafka_dr.runs.admitted_writes import READERS_FIRST, WRITES_ADMITTED, admitted_at
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until

#: The fact that says what groups had left to read when writes were admitted.
COPIES_LEFT = "copies_left"
#: How far before the end of a log its last data record is looked for first.
_BACK = 200


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
    return closed_for(_writes(run), _topics(run, UnreadCopies(run).now()))


def admit_writes(run: Run) -> Mapping[str, Any]:
    """Open each topic when its copy is read, and after ``copy_first_seconds`` all others.

    The time counts from when readers were let in. What was left is journaled before the last topic opens: who runs this
    again would see less.
    """
    if not run.journal.get("opened", {}).get(READERS_FIRST):
        return {}
    if COPIES_LEFT not in run.journal:
        left = _by_group(_wait_until_read(run))
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


def checks(run: Run) -> Iterator[Check]:
    """Yield whether the groups had read their copies when writes were admitted; nothing where writes did not wait."""
    if not run.group.flow.writes_wait_seconds or (found := run.own_facts().get(COPIES_LEFT)) is None:
        return
    name, left = "copies_read_first", by_name(found["left"], **GROUPS_LEFT)
    if not left:
        yield Check(name, "ok", f"every group had read its copies on {run.target} before anybody wrote to these topics")
        return
    shown = ", ".join(f"{group} {counted(records, 'record')}" for group, records in sorted(left.items())[:5])
    yield Check(
        name,
        "warning",
        f"writes began on {run.target} after {duration(run.group.flow.copy_first_seconds)} although groups had not "
        f"read their copies ({shown}): they may read records of a key out of order. Find out why they do not read",
    )


def closed_for(denies: Collection[Acl], topics: Set[str]) -> frozenset[Acl]:
    """Return those of the DENYs that cover one of the topics."""
    return frozenset(
        deny
        for deny in denies
        if any(
            name.startswith(deny.name) if deny.pattern is PatternType.PREFIXED else name == deny.name for name in topics
        )
    )


class UnreadCopies:
    """What the groups that a run moves have left to read in copies on its target.

    The copies do not grow meanwhile: their flows are fenced, or their sources are.
    """

    def __init__(self, run: Run) -> None:
        self._groups = run.operator(run.target).groups
        renamed = run.group.original_of
        begins = to_commit(translations_from_json(run.fact("translations")))
        self._begins: Committed = {
            group: {p: offset for p, offset in found.items() if renamed(p.topic, run.target) is not None}
            for group, found in begins.items()
        }
        lowest: dict[TopicPartition, int] = {}
        for found in self._begins.values():
            for p, offset in found.items():
                lowest[p] = min(offset, lowest.get(p, offset))
        self._ends = ends_of_data(run.clients.cluster(run.target, "audit"), lowest)

    def now(self) -> dict[str, dict[TopicPartition, int]]:
        """Return how many offsets each group has left, by partition; without what is read."""
        found = self._groups.offsets(self._begins, require_stable=False) if self._begins else {}
        left = {
            group: {p: self._ends[p] - found.get(group, {}).get(p, begin) for p, begin in begins.items()}
            for group, begins in self._begins.items()
        }
        unread = {group: {p: count for p, count in of.items() if count > 0} for group, of in left.items()}
        return {group: of for group, of in unread.items() if of}


def ends_of_data(cluster: KafkaCluster, begins: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the offset after the last data record of each partition, or where reading begins if none follows there.

    Control records and aborted ones take offsets, too, and no application commits past them for certain.

    :param begins: next to read, by partition
    """
    starts, ends = cluster.topics.log_starts(begins), cluster.topics.last_stable_offsets(begins)
    first = {p: max(begin, starts[p]) for p, begin in begins.items()}
    found, back = dict[TopicPartition, int](), _BACK
    unseen = {p for p, start in first.items() if start < ends[p]}
    while unseen:
        ranges = {p: OffsetRange(max(first[p], ends[p] - back), ends[p]) for p in unseen}
        for record in cluster.log.read(ranges):
            found[record.topic_partition] = record.offset + 1
        unseen -= found.keys() | {p for p, seen in ranges.items() if seen.start == first[p]}
        back *= 10
    return {p: found.get(p, begin) for p, begin in begins.items()}


def _wait_until_read(run: Run) -> Mapping[str, Mapping[TopicPartition, int]]:
    """Wait until the groups have read their copies, open each topic as soon as they have, and return what is left."""
    copies, writes = UnreadCopies(run), _writes(run)
    opened = datetime.fromisoformat(run.fact("opened")["at"])
    closed = writes

    def look() -> Mapping[str, Mapping[TopicPartition, int]]:
        nonlocal closed
        left = copies.now()
        still = closed_for(closed, _topics(run, left))
        if left and still != closed:
            _lift(run, closed - still)
            closed = still
        return left

    passed = (run.clock.now() - opened).total_seconds()
    return wait_until(look, lambda left: not left, clock=run.clock, seconds=run.group.flow.writes_wait_seconds - passed)


def _lift(run: Run, denies: Collection[Acl]) -> None:
    run.acl_changes(run.target, run.guard(Phase.HANDED_OVER)).lift(denies)


def _writes(run: Run) -> frozenset[Acl]:
    """Return the DENYs that keep applications and the probe from writing to the target's topics."""
    return plan.topic_writes(run.group.on(run.target))


def _topics(run: Run, left: Mapping[str, Mapping[TopicPartition, int]]) -> frozenset[str]:
    """Return the topics that applications write, of whose copies something is left to read."""
    found = (run.group.original_of(p.topic, run.target) for of in left.values() for p in of)
    return frozenset(name for name in found if name is not None)


def _by_group(left: Mapping[str, Mapping[TopicPartition, int]]) -> dict[str, int]:
    return {group: sum(of.values()) for group, of in left.items()}
