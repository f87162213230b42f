"""``offsets``: let a stopped consumer group begin at a time, an offset, the beginning or the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from kafka_dr.command_line.asked import moment
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.opened import (
    AsJson,
    CommandFiles,
    ConnectionsFile,
    EvidenceFolder,
    GroupName,
    TopologyFile,
    opened,
)
from kafka_dr.counted import counted
from kafka_dr.group_offsets.chosen_start import ChosenStart
from kafka_dr.group_offsets.set_by_person import OffsetsPlan, OffsetsRequest, OffsetsSetter
from kafka_dr.positions import TopicPartition
from kafka_dr.quoting import line
from kafka_dr.runs.group_context import GroupContext

_SHOWN = 20


@with_exit_codes
def offsets(
    group: GroupName,
    consumer_group: Annotated[
        str, typer.Option("--consumer-group", help="the consumer group; it must not run", show_default=False)
    ],
    to_time: Annotated[
        str | None,
        typer.Option("--to-time", help="begin at the first record of this time, such as 2026-11-27T04:03:00Z"),
    ] = None,
    to_offset: Annotated[
        int | None, typer.Option("--to-offset", help="begin at this offset of the one --partition that is given")
    ] = None,
    to_beginning: Annotated[bool, typer.Option("--to-beginning", help="read all that the logs hold")] = False,
    to_end: Annotated[bool, typer.Option("--to-end", help="read only what comes from now on")] = False,
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", help="all partitions of this topic; without it all topics in which it has committed"),
    ] = None,
    partition: Annotated[
        list[str] | None, typer.Option("--partition", help="only this partition, such as orders.payments:3")
    ] = None,
    by: Annotated[str, typer.Option("--by", help="who wants it; recorded as given, not verified")] = "",
    reason: Annotated[str, typer.Option("--reason", help="why; recorded")] = "",
    confirmed: Annotated[
        bool, typer.Option("--confirmed", help="commit; without it the command only says what it would commit")
    ] = False,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Let a stopped consumer group of an adopted group begin elsewhere on the active cluster.

    It first says, by partition, what the group reads again and what it then never reads: both are counts of offsets, so
    there are at most as many records. With --confirmed, --by and --reason it commits, reads the offsets back, and seals
    a record with the offsets from before.
    """
    chosen = _chosen(to_time, to_offset, beginning=to_beginning, end=to_end)
    partitions = tuple(map(_partition, partition or ()))
    if chosen.kind == "offset" and (len(partitions) != 1 or topic):
        raise typer.BadParameter("--to-offset needs one --partition and no --topic: an offset belongs to one partition")
    if confirmed and not (by.strip() and reason.strip()):
        raise typer.BadParameter("--confirmed needs --by NAME and --reason TEXT: they are the record of the change")
    request = OffsetsRequest(consumer_group, chosen, tuple(topic or ()), partitions, by.strip(), reason.strip())
    with opened(CommandFiles(topology, connections, evidence)) as clients:
        setter = OffsetsSetter(GroupContext(group, clients), request)
        plan = setter.plan()
        if not as_json:
            for text in _sentences(request, plan):
                typer.echo(line(text))
        sealed = setter.set(plan) if confirmed and plan.changed else None
    if as_json:
        typer.echo(json.dumps(_as_json(request, plan, sealed), indent=1))
    elif sealed:
        typer.echo(line(f"Done, and read back. The record is sealed as {sealed}"))
    elif plan.changed:
        typer.echo("Nothing was changed. To commit this, run the same command with --confirmed --by NAME --reason TEXT")
    raise typer.Exit(ExitCode.GOOD)


def _chosen(to_time: str | None, to_offset: int | None, *, beginning: bool, end: bool) -> ChosenStart:
    given = [to_time is not None, to_offset is not None, beginning, end]
    if sum(given) != 1:
        raise typer.BadParameter("give one of --to-time, --to-offset, --to-beginning and --to-end")
    if to_time is not None:
        return ChosenStart("time", int(moment(to_time, "--to-time").timestamp() * 1000))
    if to_offset is not None:
        return ChosenStart("offset", to_offset)
    return ChosenStart("beginning" if beginning else "end")


def _partition(text: str) -> TopicPartition:
    name, _, number = text.rpartition(":")
    if not name or not number.isdecimal():
        raise typer.BadParameter(f"--partition {text} is no partition: write it as TOPIC:NUMBER")
    return TopicPartition(name, int(number))


def _sentences(request: OffsetsRequest, plan: OffsetsPlan) -> Iterator[str]:
    name = request.consumer_group
    if not plan.changed:
        yield f"{name} begins at {request.chosen} on {plan.cluster} already: there is nothing to commit"
        return
    yield (
        f"{name} on {plan.cluster} would begin at {request.chosen}: it reads at most "
        f"{counted(plan.again, 'record')} again, and "
        f"never reads at most {plan.skipped}"
    )
    for each in plan.changed[:_SHOWN]:
        before = "nothing committed" if each.committed is None else str(each.committed)
        yield f"  {each.partition}: {before} → {each.to} (again {each.again}, never read {each.skipped})"
    if len(plan.changed) > _SHOWN:
        yield f"  and {len(plan.changed) - _SHOWN} more partitions"
    if plan.drops_metadata:
        yield (
            f"  commit metadata is dropped in {counted(len(plan.drops_metadata), 'partition')}, because it "
            f"belongs to the offsets "
            "from before: ask the owners of the application whether they keep state in it"
        )


def _as_json(request: OffsetsRequest, plan: OffsetsPlan, sealed: str | None) -> dict[str, Any]:
    return {
        **{"consumer_group": request.consumer_group, "cluster": plan.cluster, "committed": sealed is not None},
        **{"again_at_most": plan.again, "skipped_at_most": plan.skipped, "positions": plan.rows, "sealed_as": sealed},
    }
