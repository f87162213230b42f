"""What the consumer groups of a protection group have committed on either cluster, and which of them are moved."""

from __future__ import annotations

from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.offsets.translate.answers import TranslatedOffset, Translation
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.positions import Committed
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.run import Run


def read_positions(run: Run) -> tuple[Committed, tuple[str, ...]]:
    """Read what the group's consumer groups have committed on the source.

    :returns: by group, and a sentence for each group that could not be read: it is named, and never left out in silence
    """
    found: dict[str, dict[TopicPartition, int]] = {}
    problems: list[str] = []
    answers = run.operator(run.source).group_reading.committed(groups_to_move(run, run.source))
    for group, answer in sorted(answers.items()):
        if isinstance(answer, KafkaDrError):
            problems.append(f"{group}: its positions cannot be read, nothing is known of it: {answer}")
        else:
            found[group] = {p: offset for p, offset in answer.items() if run.group.owns_topic(p.topic)}
    return found, tuple(problems)


def groups_to_move(context: GroupContext, cluster: str) -> list[str]:
    """Return the groups whose positions a failover moves, also those that the operator may not see.

    The audit may see them. They must not be left behind in silence.
    """
    seen = context.clients.cluster(cluster, "audit").groups.names()
    hidden = {name for name in seen if context.group.owns_group(name)} - set(context.group.groups_policy.not_moved)
    return sorted({*context.moved_groups(cluster), *hidden})


def stale_offsets(run: Run, committed: Committed) -> list[TranslatedOffset]:
    """Return offsets that only the target has, from an earlier time when it was active: they go to their log's start.

    Left as they are they could be past records that the group has not seen.
    """
    kept = run.operator(run.target).groups.offsets(run.moved_groups(run.target))
    stale = [
        (group, partition)
        for group, offsets in kept.items()
        for partition in offsets
        if run.group.owns_topic(partition.topic) and partition not in committed.get(group, {})
    ]
    if not stale:
        return []
    held = held_by(run.operator(run.target), {partition for _, partition in stale}, uncommitted=True)
    reason = "committed only on the target, when it was active before"
    return [Translation(0, held[p].start, "bounded", len(held[p]), reason).of(group, p) for group, p in sorted(stale)]
