"""What groups that read on each member what is written there alone have left on a member that is left, or is lost.

They are not moved. What they have left on a member they read there; of a lost one another group can read it elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafka_dr.counted import counted
from kafka_dr.outcomes import Check
from kafka_dr.positions import Committed, TopicPartition
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few
from kafka_dr.runs.run import Run

NAME = "local_groups_left"
_MOST_NAMED = 3


def on(context: GroupContext, cluster: str) -> Sequence[str]:
    """Return the groups that would leave something on a cluster; none if other members' clients are there."""
    member_of = context.declared.member_of
    return member_of.local if member_of is not None and context.declared.closes(cluster) else ()


def owned(context: GroupContext, committed: Committed) -> dict[str, dict[TopicPartition, int]]:
    """Return what groups have committed in the topics of the protection group, on the cluster of their originals."""
    owns = context.group.owns_topic
    return {group: {p: at for p, at in found.items() if owns(p.topic)} for group, found in committed.items()}


def read_by_them(context: GroupContext, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the partitions of applications that hold anything, with the ends of their logs; none of canaries.

    :param ends: high watermarks
    """
    member_of = context.declared.member_of
    canaries = member_of.canary_topics if member_of is not None else frozenset()
    return {p: end for p, end in ends.items() if end and p.topic not in canaries and context.group.owns_topic(p.topic)}


def left(committed: Committed, ends: Mapping[TopicPartition, int]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return how many records each group has left, at most, and the groups of which that is not known. Pure.

    A group that has no offset in a partition may have read all of it, or nothing. Groups that have read all are not
    named.

    :param ends: high watermarks of the partitions that they read
    """
    counts = {
        group: sum(max(0, end - found[p]) for p, end in ends.items() if p in found)
        for group, found in sorted(committed.items())
    }
    unknown = tuple(group for group, found in sorted(committed.items()) if ends.keys() - found.keys())
    return {group: count for group, count in counts.items() if count}, unknown


def in_words(counts: Mapping[str, int], unknown: Collection[str]) -> str:
    """Say how many records groups have left."""
    said = [f"{group} at most {counted(many, 'record')}" for group, many in counts.items() if group not in unknown]
    said += [f"{group} more than is known, because it has no offset in some partitions" for group in unknown]
    return ", ".join(first_few(said, _MOST_NAMED))


def local_groups_left(run: Run) -> Check:
    """Say before a planned failover how many records these groups have left, at most."""
    source, groups = run.operator(run.source), on(run, run.source)
    committed = owned(run, source.groups.offsets(groups, require_stable=False)) if groups else {}
    ends = read_by_them(run, source.topics.high_watermarks(run.partitions(run.source))) if groups else {}
    counts, unknown = left(committed, ends)
    if not counts and not unknown:
        return Check(NAME, "ok", f"no group that reads on {run.source} alone has records left there")
    said = (
        f"to read on {run.source} have {in_words(counts, unknown)}: they stay readable there and nowhere else, so let "
        "these groups run there until they have read them"
    )
    return Check(NAME, "warning", said)


def lost_with_source(run: Run, committed: Committed, ends: Mapping[TopicPartition, int]) -> Check:
    """Say before an unplanned failover what these groups had left on the source when it was seen last.

    :param committed: what they had committed then
    :param ends: where the source ended then
    """
    (counts, unknown), rests = left(committed, read_by_them(run, ends)), rest_groups(run)
    groups = sorted({*counts, *unknown})
    if not groups:
        return Check(NAME, "ok", f"no group that reads on {run.source} alone is known to have records left there")
    said = f"when {run.source} was seen last, to read there had {in_words(counts, unknown)}"
    read = {group: rests[group] for group in groups if group in rests}
    if busy := _running(run, read.values()):
        todo = f"{' and '.join(busy)} runs on {run.target}, so its offsets are not set: stop it before you approve"
        return Check(NAME, "warning", f"{said}. {todo}")
    by = [f"{rest} reads what {group} has left, as far as it was copied" for group, rest in read.items()]
    by += [f"what {group} has left waits until {run.source} is back" for group in groups if group not in rests]
    good = len(read) == len(groups) and not unknown
    return Check(NAME, "ok" if good else "warning", f"{said}; on {run.target} {'; '.join(by)}")


def rest_groups(run: Run) -> Mapping[str, str]:
    """Return, by group, the one that reads elsewhere what it has left on the source."""
    member_of = run.declared.member_of
    return member_of.rest_groups if member_of is not None and run.declared.closes(run.source) else {}


def rests_of(
    run: Run, committed: Committed, ends: Mapping[TopicPartition, int]
) -> dict[str, Mapping[TopicPartition, int]]:
    """Return from where on the source groups read what others have left there, by their own names.

    Where another one has no offset, all is read: else a reset to the end would skip it.

    :param committed: what the others had committed on the source
    :param ends: where the source ended
    """
    logs = read_by_them(run, ends)
    return {
        rest: {p: committed[group].get(p, 0) for p in logs}
        for group, rest in rest_groups(run).items()
        if group in committed
    }


def without_running(run: Run, committed: Committed) -> Committed:
    """Leave out those of them that run on the target: they continue where they are."""
    running = _running(run, committed.keys() & set(rest_groups(run).values()))
    return {group: offsets for group, offsets in committed.items() if group not in running}


def _running(run: Run, groups: Collection[str]) -> list[str]:
    """Return those of some groups that have members on the target: the offsets of a live group are never set."""
    found = run.operator(run.target).groups.states(sorted(groups)) if groups else {}
    return sorted(state.group for state in found.values() if state.members)
