"""What the owners of special readers do after a failover, with the commands of Kafka's tools for the new cluster.

A share group's start on the source is translated like a committed offset. Its tool takes no offset, so the time of the
record there is given. The tool begins at the first record that is as young, which is that record or an earlier one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.tool_access import ToolAccess
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets import unmovable_groups
from kafka_dr.group_offsets.reset_commands import (
    CLIENT_FILE,
    ShareStart,
    reset_share_group,
    reset_streams_application,
)
from kafka_dr.group_offsets.transfers import along_flow
from kafka_dr.group_offsets.translation_basis import basis_of
from kafka_dr.group_offsets.unmovable_groups import SpecialReaders
from kafka_dr.named_rows import groups_from_json, groups_to_json
from kafka_dr.offsets.translate.answers import TranslatedOffset
from kafka_dr.offsets.translate.by_time import record_times
from kafka_dr.offsets.translate.pipeline import translate_committed
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.positions import Committed, OffsetRange
from kafka_dr.readers.recognition import StreamsApplication
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.run import Run

#: In the fact of a drained cluster.
SHARE_STARTS = "share_starts"
#: How far back the last record before an offset is looked for.
_BACK = 4_096


def read_share_starts(context: GroupContext, cluster: str, groups: Collection[str]) -> Committed:
    """Return where the state of each share group begins in the protection group's topics, next to read.

    :param groups: names, also of groups of another kind; without those of which the brokers do not say it
    """
    if not groups:
        return {}
    found: dict[str, dict[TopicPartition, int]] = {}
    for group, starts in context.operator(cluster).group_reading.share_starts(groups).items():
        if isinstance(starts, KafkaDrError):
            continue
        known = {p: at for p, at in starts.items() if at is not None and context.group.owns_topic(p.topic)}
        if known:
            found[group] = known
    return found


def of_now(run: Run, readers: SpecialReaders) -> list[dict[str, Any]]:
    """Return what would be left to do if the group failed over now: a row for each command."""
    starts = read_share_starts(run, run.source, [each.group for each in readers.share])
    found = rows(run, readers, _on_target(run, starts))
    return [*found, *_not_begun(run, readers)]


def after(run: Run, drained: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what is left to do after a failover whose source was drained, and still answers.

    Nobody waits for it, and nothing depends on it: what cannot be asked is said.

    :param drained: the journaled fact
    """
    try:
        readers = unmovable_groups.look(run, run.source, run.target)
        starts = groups_from_json(drained.get(SHARE_STARTS, []))
        found = rows(run, readers, _on_target(run, starts))
        return [*found, *_not_begun(run, readers)]
    except KafkaDrError as error:
        return [{"reader": "", "to_do": f"whether something is left to do could not be asked: {error}", "command": ""}]


def _on_target(run: Run, starts: Committed) -> list[TranslatedOffset]:
    """Translate where share groups begin, by the names that the target has for the partitions."""
    called = along_flow(run).at_target
    found = translate_committed(basis_of(run), starts) if starts else []
    return [replace(each, partition=called(each.partition)) for each in found]


def journaled_starts(context: GroupContext, cluster: str) -> dict[str, Any]:
    """Return where the share groups of ``not_moved`` begin, for the fact of a drained cluster.

    Applications wait. So a cluster without such groups is not asked, and no failover stops if it does not answer.
    """
    try:
        starts = read_share_starts(context, cluster, context.group.groups_policy.not_moved)
    except KafkaDrError:
        return {}
    return {SHARE_STARTS: groups_to_json(starts)} if starts else {}


def rows(run: Run, readers: SpecialReaders, shared: Sequence[TranslatedOffset]) -> list[dict[str, Any]]:
    """Return what is left to do after a failover: a row for each command, or one without.

    :param shared: where the state of each share group begins, translated to the target
    """
    access, commands = _access(run), dict[str, tuple[str, ...]]()
    starts = share_starts(run, shared)
    for each in readers.share:
        commands[each.group] = reset_share_group(access, [at for at in starts if at.group == each.group])
    on_target = run.operator(run.target).topics.names() if readers.streams else frozenset()
    for found in readers.streams:
        # A reset deletes the internal topics: it is no part of moving an application together with them.
        if found.state != "moved" or run.request.verb == "unplanned_failover":
            commands[found.application.group] = (_reset_command(access, found.application, on_target),)
    return [row for reader, todo in _said(readers) for row in _of_reader(reader, todo, commands.get(reader, ()))]


def _access(run: Run) -> ToolAccess:
    servers = run.clients.topology.cluster(run.target).route_bootstrap_servers
    return ToolAccess(run.target, servers, client_file=CLIENT_FILE)


def _reset_command(access: ToolAccess, application: StreamsApplication, on_target: Collection[str]) -> str:
    """Return the command that resets an application.

    :param on_target: the topics of the target
    """
    return reset_streams_application(
        access,
        application.group,
        inputs=application.inputs,
        internal=[topic for topic in application.internal if topic in on_target],
        own_protocol=application.own_protocol,
    )


def _not_begun(run: Run, readers: SpecialReaders) -> Iterator[dict[str, Any]]:
    """Yield a row for each share group with partitions in which it has done with nothing: no broker keeps a start."""
    groups = [each.group for each in readers.share]
    found = run.operator(run.source).group_reading.share_starts(groups) if groups else {}
    for group, starts in sorted(found.items()):
        if isinstance(starts, KafkaDrError):
            yield {"reader": group, "to_do": f"where its state begins could not be read: {starts}", "command": ""}
            continue
        blank = sorted(p for p, at in starts.items() if at is None and run.group.owns_topic(p.topic))
        if blank:
            said = (
                f"in {counted(len(blank), 'partition')} it has not done with any record, so no broker keeps a "
                f"start: it begins "
                "there by share.auto.offset.reset. If that may skip records, run this, and it reads all of them"
            )
            commands = reset_share_group(_access(run), [ShareStart(group, p, None) for p in blank])
            yield from _of_reader(group, said, commands)


def _said(readers: SpecialReaders) -> Iterator[tuple[str, str]]:
    yield from ((each.group, each.todo) for each in readers.share)
    yield from ((each.application.group, each.todo) for each in readers.streams)
    yield from ((name, "map its offsets with the newest offset map of DR 7: offsets") for name in readers.outside)


def _of_reader(reader: str, todo: str, commands: Sequence[str]) -> Iterator[dict[str, Any]]:
    yield {"reader": reader, "to_do": todo, "command": commands[0] if commands else ""}
    for command in commands[1:]:
        yield {"reader": reader, "to_do": "", "command": command}


def share_starts(run: Run, shared: Sequence[TranslatedOffset]) -> list[ShareStart]:
    """Return where share groups should begin on the target, by time. An offset that is not known becomes the start."""
    placed = {(each.partition, each.target_offset) for each in shared if each.target_offset is not None}
    target = run.clients.cluster(run.target, "audit")
    held = held_by(target, {p for p, _ in placed}, uncommitted=True)
    wanted: dict[TopicPartition, set[int]] = {}
    for p, at in placed:
        wanted.setdefault(p, set()).add(at)
    times = record_times(target, wanted, held) if wanted else {}
    for p, at in sorted(placed - times.keys()):
        # Nothing is unread yet. What is written next may carry an earlier time than now, so the record before counts.
        before = OffsetRange(max(held[p].start, min(at, held[p].end) - _BACK), min(at, held[p].end))
        if len(before) and (last := _last_time(target.log.read({p: before}))) is not None:
            times[p, at] = last
    return [
        ShareStart(each.group, each.partition, _time(each, times, held))
        for each in sorted(shared, key=lambda each: (each.group, each.partition))
    ]


def _last_time(records: Any) -> int | None:
    last = None
    for record in records:
        last = record.timestamp_ms
    return last


def _time(
    each: TranslatedOffset,
    times: Mapping[tuple[TopicPartition, int], int],
    held: Mapping[TopicPartition, OffsetRange],
) -> int | None:
    at = each.target_offset
    if at is None or at <= held[each.partition].start:
        return None
    return times.get((each.partition, at))
