"""``erase``: remove the content of stranded records from what is kept of them, with a record of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from kafka_dr.command_line.erasing import ErasedList, Eraser, ErasureRequest
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
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.quoting import line
from kafka_dr.rescue import Wanted

_SHOWN = 10


@with_exit_codes
def erase(
    group: GroupName,
    reason: Annotated[str, typer.Option("--reason", help="why: a number of the request, not the person's name")],
    by: Annotated[str, typer.Option("--by", help="who asks for it; recorded as given, not verified")],
    run: Annotated[
        str | None, typer.Option("--run", help="only what this unplanned failover left; without a key all of it")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="the key of the records, as text in UTF-8")] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", help="a file with exactly the bytes of the key; - for standard input"),
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="only records of this topic")] = None,
    confirmed: Annotated[
        bool, typer.Option("--confirmed", help="erase; without it the command only says what it would erase")
    ] = False,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Erase the content of kept stranded records: key, value, headers and time. Offsets and counts stay.

    What was erased, who asked for it and why is journaled in the registers and sealed as evidence; of the key only a
    digest. A failback does not publish what was erased, and counts it. Stop the job stranded_records before. Not
    erased: the records on Kafka clusters, and copies and former versions of the files that your storage keeps.
    """
    if run is None and key is None and key_file is None:
        raise typer.BadParameter("give --run, --key or --key-file: this command never erases everything of a group")
    if not by.strip() or not reason.strip():
        raise typer.BadParameter("--by and --reason must not be empty: they are the record of who erased what, and why")
    request = ErasureRequest(group, Wanted(topic, _key(key, key_file)), by.strip(), reason.strip())
    with opened(CommandFiles(topology, connections, evidence)) as clients:
        eraser = Eraser(clients, request)
        try:
            found = [(eraser.erase if confirmed else eraser.look)(each) for each in _lists(eraser, run)]
        except OSError as error:
            raise TryAgain(f"the evidence cannot be read or written ({error}): run this again") from error
    _show(found, confirmed=confirmed, as_json=as_json)
    left = any(each.newer for each in found) or (not confirmed and any(_to_do(each) for each in found))
    raise typer.Exit(ExitCode.BAD if left else ExitCode.GOOD)


def _key(text: str | None, file: Path | None) -> bytes | None:
    if text is not None and file is not None:
        raise typer.BadParameter("give --key or --key-file, not both")
    if file is None:
        return None if text is None else text.encode()
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"--key-file {file} cannot be read ({error})") from error


def _lists(eraser: Eraser, run: str | None) -> tuple[str, ...]:
    known = eraser.lists()
    if run is not None and run not in known:
        shown = ", ".join(known) or "none"
        raise Refused(f"no stranded records of run {run} are kept; kept are those of: {shown}. Nothing was changed")
    return known if run is None else (run,)


def _to_do(found: ErasedList) -> bool:
    return bool(found.matches.total or found.former)


def _show(found: list[ErasedList], *, confirmed: bool, as_json: bool) -> None:
    if as_json:
        rows = [_as_json(each) for each in found]
        typer.echo(json.dumps({"confirmed": confirmed, "lists": rows}, indent=1))
        return
    for each in found:
        for text in _sentences(each, confirmed=confirmed):
            typer.echo(line(text))
    if not found:
        typer.echo("no list of stranded records is kept: there is nothing to erase")
    if not confirmed and any(map(_to_do, found)):
        typer.echo("Nothing was changed. To erase, run the same command with --confirmed")


def _sentences(found: ErasedList, *, confirmed: bool) -> Iterator[str]:
    where = f"stranded records of {found.left_by}"
    verb = "was erased" if confirmed else "would be erased"
    if found.finished:
        yield f"{where}: an erasure that had begun is finished, {len(found.finished)} files were replaced"
    if not found.matches.total:
        yield f"{where}: no record that is kept matches"
    else:
        shown = [f"{partition}: {count}" for partition, count in found.matches.records.items()]
        more = f" and {len(shown) - _SHOWN} more partitions" if len(shown) > _SHOWN else ""
        yield f"{where}: the content of {found.matches.total} records {verb} ({', '.join(shown[:_SHOWN])}{more})"
        yield (
            f"  not erased by this command: these records on {found.old}, until its retention removes them, and on "
            f"{found.new} if a failback has published them again"
        )
    if found.erasure is not None:
        yield f"  recorded as {found.erasure.name} in the registers, and sealed as run {found.erasure.run}"
    if found.former:
        yield f"  folders of earlier attempts {'were' if confirmed else 'would be'} removed: {', '.join(found.former)}"
    for name in found.newer:
        yield (
            f"  {name} is newer than the list and no part of it: if no job stranded_records runs, remove this folder, "
            "which may hold the same records"
        )


def _as_json(found: ErasedList) -> dict[str, Any]:
    rows = [
        {"topic": partition.topic, "partition": partition.partition, "records": count}
        for partition, count in found.matches.records.items()
    ]
    kept = {name: getattr(found, name) for name in ("left_by", "old", "new", "finished", "former", "newer")}
    erasure = None if found.erasure is None else found.erasure.to_json()
    return {**kept, "records": found.matches.total, "partitions": rows, "erasure": erasure}
