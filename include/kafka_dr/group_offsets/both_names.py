"""Whether consumer groups read a topic and the copy of its namesake, where copies have other names than originals.

On the other cluster a group finds what it has read under the copy's name, and what is written from then on under the
topic's own one. Whoever reads only one of them here would miss records there. Brokers do not show a pattern that an
application subscribes to: what its members are assigned says it, and, without members, what the group has committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets.committed_positions import groups_to_move
from kafka_dr.outcomes import Check
from kafka_dr.runs.record import first_few
from kafka_dr.runs.run import Run

NAME = "groups_read_both_names"
#: The same of groups that run on each of several members, which no failover moves.
UNION = "union_groups_see_all"
_MOST_NAMED = 3
#: How long a group may take to rebalance before what its members read counts as unknown.
_SETTLE_SECONDS = 10.0


def groups_read_both_names(run: Run) -> Check:
    """Answer for a preflight; what cannot be seen of a group is unknown."""
    read, unknown = _read_on(run, groups_to_move(run, run.source), run.source)
    names = _names_on(run, run.source)
    lacking = list(missed(read, names, declared=run.group.groups_policy.reads_both_names))
    if lacking:
        said = "; ".join(
            first_few([f"{group} reads {one} and not {other}" for group, one, other in lacking], _MOST_NAMED)
        )
        return Check(
            NAME,
            "failed",
            f"{said} on {run.source}, so it would miss records on {run.target}: let its application subscribe to both "
            "names, as by the pattern ^(.*\\.)?orders$, and wait until both are there. If it does, name it in "
            "groups_policy.reads_both_names",
            {"lacking": [list(each) for each in lacking]},
        )
    if unknown:
        return Check(
            NAME, "unknown", f"it is not known what {', '.join(first_few(unknown, _MOST_NAMED))} read: try again"
        )
    return Check(NAME, "ok", f"every group that reads a topic on {run.source} also reads the copies of its namesake")


def union_groups_see_all(run: Run) -> Check:
    """Return whether the groups that run on each member read everything on the target, where the clients go."""
    member_of = run.declared.member_of
    read, unknown = _read_on(run, member_of.union if member_of else (), run.target)
    names = _names_on(run, run.target)
    lacking = list(missed(read, names))
    idle = sorted(group for group, topics in read.items() if not topics)
    if lacking or idle:
        said = [f"{group} reads {one} and not {other}" for group, one, other in lacking]
        said += [f"{group} reads nothing" for group in idle]
        why = f"so it would not see what the clients of {run.source} wrote"
        todo = "start it there, with a subscription to all names, as by the pattern ^(.*\\.)?orders$"
        return Check(UNION, "failed", f"{'; '.join(first_few(said, _MOST_NAMED))} on {run.target}, {why}: {todo}")
    if unknown:
        named = ", ".join(first_few(unknown, _MOST_NAMED))
        return Check(UNION, "unknown", f"it is not known what {named} read on {run.target}: try again")
    many = counted(len(read), "group reads", "groups read")
    return Check(UNION, "ok", f"on {run.target} {many} the records of all members")


def _read_on(run: Run, groups: Collection[str], cluster: str) -> tuple[dict[str, Collection[str]], list[str]]:
    """Return the topics that groups read on a cluster, and the groups of which that is not known."""
    reading = run.operator(cluster).group_reading
    live, committed = reading.live(groups, seconds=_SETTLE_SECONDS), reading.committed(groups)
    read: dict[str, Collection[str]] = {}
    unknown = []
    for group in groups:
        seen, offsets = live[group], committed[group]
        if isinstance(seen, KafkaDrError) or isinstance(offsets, KafkaDrError) or not seen.complete:
            unknown.append(group)
        else:
            read[group] = seen.topics if seen.members else {p.topic for p in offsets}
    return read, unknown


def _names_on(run: Run, cluster: str) -> dict[str, str]:
    """Return the topics of the applications on a cluster, by the names that the copies of their namesakes have."""
    member_of = run.declared.member_of
    canaries = frozenset((run.group.canary_topic,)) if member_of is None else member_of.canary_topics
    own = (name for name in run.topic_names(cluster) if name not in canaries)
    return {copy: name for name in own for copy in run.group.copies_of([name], cluster)}


def missed(
    read: Mapping[str, Collection[str]], originals: Mapping[str, str], *, declared: Collection[str] = ()
) -> Iterator[tuple[str, str, str]]:
    """Yield each group with a topic that it reads and the other one that it does not read. Pure.

    :param read: the topics that each group reads on a cluster
    :param originals: the topics there, by the name that the copy of their namesake has, or is to get
    :param declared: groups of which the topology says that they read both
    """
    for group, topics in sorted(read.items()):
        for copy, original in sorted(originals.items()) if group not in declared else ():
            if (copy in topics) is not (original in topics):
                yield (group, original, copy) if original in topics else (group, copy, original)
