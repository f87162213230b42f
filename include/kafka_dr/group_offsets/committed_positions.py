"""What the consumer groups of a protection group have committed on either cluster, and which of them are moved."""

from __future__ import annotations

from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets.transfers import PositionTransfer, along_flow
from kafka_dr.offsets.translate.answers import TranslatedOffset, Translation
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.positions import Committed
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.run import Run


def read_positions(run: Run, transfer: PositionTransfer | None = None) -> tuple[Committed, tuple[str, ...]]:
    """Read what the group's consumer groups have committed on the source.

    :param transfer: in which logs, and under whose names; in what the run's flow copies where ``None``
    :returns: by group, and a sentence for each group that could not be read: it is named, and never left out in silence
    """
    found: dict[str, dict[TopicPartition, int]] = {}
    problems: list[str] = []
    transfer = transfer or along_flow(run)
    answers = run.operator(run.source).group_reading.committed(groups_to_move(run, run.source))
    for group, answer in sorted(answers.items()):
        if isinstance(answer, KafkaDrError):
            problems.append(f"{group}: its positions cannot be read, nothing is known of it: {answer}")
        else:
            found[group] = transfer.of_source(answer, run.group.owns_topic)
    return found, tuple(problems)


def groups_to_move(context: GroupContext, cluster: str) -> list[str]:
    """Return the groups whose positions a failover moves, also those that the operator may not see.

    The audit may see them. They must not be left behind in silence.
    """
    seen = context.clients.cluster(cluster, "audit").groups.names()
    hidden = {name for name in seen if context.group.owns_group(name)} - set(context.group.groups_policy.not_moved)
    return sorted({*context.moved_groups(cluster), *hidden})


def stale_offsets(run: Run, committed: Committed, transfer: PositionTransfer | None = None) -> list[TranslatedOffset]:
    """Return offsets that only the target has, from an earlier time when it was active: they go to their log's start.

    Left as they are they could be past records that the group has not seen.
    """
    transfer = transfer or along_flow(run)
    kept = run.operator(run.target).groups.offsets(run.moved_groups(run.target))
    stale = [
        (group, partition)
        for group, offsets in kept.items()
        for partition in transfer.of_target(offsets, run.group.owns_topic)
        if partition not in committed.get(group, {})
    ]
    if not stale:
        return []
    held = held_by(transfer.target_of(run, "operator"), {partition for _, partition in stale}, uncommitted=True)
    reason = "committed only on the target, when it was active before"
    return [Translation(0, held[p].start, "bounded", len(held[p]), reason).of(group, p) for group, p in sorted(stale)]
