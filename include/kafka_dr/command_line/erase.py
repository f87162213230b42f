"""``erase``: remove the content of stranded records from what is kept of them, with a record of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from kafka_dr.approvals.journaled import BY_KEY
from kafka_dr.approvals.signed import approver_of
from kafka_dr.causes import cause
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.keys import read_key
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
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.quoting import line
from kafka_dr.rescue.erasing import Wanted
from kafka_dr.retention.erasing import Confirmation, ErasedList, Eraser, ErasureRequest
from kafka_dr.retention.expiry import Expired, Expiry
from kafka_dr.topology.model import ProtectionGroup

_SHOWN = 10


@with_exit_codes
def erase(
    group: GroupName,
    reason: Annotated[
        str, typer.Option("--reason", help="why: a number of the request, not the person's name", show_default=False)
    ] = "",
    by: Annotated[
        str,
        typer.Option("--by", help="who asks for it; recorded as given, not verified", show_default="the approver"),
    ] = "",
    run: Annotated[
        str | None, typer.Option("--run", help="only what this unplanned failover left; without a key all of it")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="the key of the records, as text in UTF-8")] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", help="a file with exactly the bytes of the key; - for standard input"),
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="only records of this topic")] = None,
    expired: Annotated[
        bool, typer.Option("--expired", help="everything that the topology's evidence.retention no longer keeps")
    ] = False,
    confirmed: Annotated[
        bool, typer.Option("--confirmed", help="erase; without it the command only says what it would erase")
    ] = False,
    approver_key: Annotated[
        Path | None,
        typer.Option(
            "--approver-key",
            help="the private key of an approver, as keygen wrote it, mode 0600: with --confirmed it signs the erasure",
            show_default=False,
        ),
    ] = None,
    break_glass: Annotated[
        bool,
        typer.Option(
            "--break-glass",
            help="erase without a key: kept as not verified, and dr_health names it until somebody has reviewed it",
        ),
    ] = False,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Erase the content of kept stranded records: key, value, headers and time. Offsets and counts stay.

    An approver confirms it with --approver-key; without a key only --break-glass with --by NAME erases, and is recorded
    as not verified. What was erased, who asked for it, who confirmed it and why is journaled in the registers and
    sealed as evidence; of the records' key only a digest. --by is recorded as it was given. A failback does not publish
    what was erased, and counts it. Stop the job stranded_records before. Not erased: the records on Kafka clusters, and
    copies and former versions of the files that your storage keeps.

    With --expired: what evidence.retention of the topology no longer keeps, stranded records and evidence of runs. The
    DAG dr_offset_syncs does the same once a day.
    """
    files = CommandFiles(topology, connections, evidence)
    if expired:
        if by or reason or break_glass or (run, key, key_file, topic, approver_key) != (None,) * 5:
            raise typer.BadParameter("--expired takes no other option than --confirmed: the topology's rule decides")
        raise typer.Exit(_expire(group, files, confirmed=confirmed, as_json=as_json))
    if run is None and key is None and key_file is None:
        raise typer.BadParameter("give --run, --key or --key-file: this command never erases everything of a group")
    if not reason.strip():
        raise typer.BadParameter("--reason must not be empty: it is the record of why something was erased")
    _require_one(approver_key, by, break_glass=break_glass, confirmed=confirmed)
    wanted = Wanted(topic, _key(key, key_file))
    with opened(files) as clients:
        who = _confirmation(clients.topology.group(group), approver_key, by.strip()) if confirmed else None
        asked_by = by.strip() or (who.name if who else "")
        eraser = Eraser(clients, ErasureRequest(group, wanted, asked_by, reason.strip(), who))
        try:
            found = [(eraser.erase if confirmed else eraser.look)(each) for each in _lists(eraser, run)]
        except OSError as error:
            raise TryAgain(f"the evidence cannot be read or written ({cause(error)}): run this again") from error
    _show(found, confirmed=confirmed, as_json=as_json)
    left = any(each.newer for each in found) or (not confirmed and any(_to_do(each) for each in found))
    raise typer.Exit(ExitCode.BAD if left else ExitCode.GOOD)


def _require_one(approver_key: Path | None, by: str, *, break_glass: bool, confirmed: bool) -> None:
    """Refuse options that leave open who confirms the erasure."""
    if break_glass and (approver_key is not None or not by.strip()):
        raise typer.BadParameter("--break-glass needs --by NAME, and no --approver-key")
    if confirmed and approver_key is None and not break_glass:
        raise typer.BadParameter(
            "nobody confirms this: give --approver-key FILE, the private key of an approver, or --break-glass --by NAME"
        )


def _confirmation(group: ProtectionGroup, approver_key: Path | None, by: str) -> Confirmation:
    """Return who confirms the erasure.

    :raises Refused: the key is nobody's who may approve
    """
    if approver_key is None:
        return Confirmation(by)
    private = read_key(approver_key)
    person = approver_of(group, private)
    if person is None:
        raise Refused(f"{approver_key} is not the key of an approver: approver_keys of {group.name} names them")
    return Confirmation(person.name, BY_KEY, private)


def _expire(group: str, files: CommandFiles, *, confirmed: bool, as_json: bool) -> ExitCode:
    """Apply the topology's rules of retention, or say what they would remove."""
    with opened(files) as clients:
        expiry = Expiry(clients, group)
        if not expiry.rules:
            raise Refused("the topology declares no evidence.retention: nothing expires. Nothing was changed")
        try:
            found = expiry.remove() if confirmed else expiry.look()
        except OSError as error:
            raise TryAgain(f"the evidence cannot be read or written ({cause(error)}): run this again") from error
    if as_json:
        typer.echo(json.dumps({"confirmed": confirmed, **_expired_json(found)}, indent=1))
    else:
        for text in found.sentences(confirmed=confirmed):
            typer.echo(line(text))
        if not found.anything:
            typer.echo(f"nothing that the topology keeps for a time only has expired of {group}")
        elif not confirmed:
            typer.echo("Nothing was changed. To remove it, run the same command with --confirmed")
    left = found.problems or found.runs.more or (not confirmed and found.anything)
    return ExitCode.BAD if left else ExitCode.GOOD


def _expired_json(found: Expired) -> dict[str, Any]:
    return {
        "lists": [_as_json(each) for each in found.lists],
        "runs": [each.to_json() for each in found.runs.expired],
        "half_removed": [each.run for each in found.runs.half_removed],
        "more_runs": found.runs.more,
        "recorded_by": found.recorded_by,
        "problems": list(found.problems),
    }


def _key(text: str | None, file: Path | None) -> bytes | None:
    if text is not None and file is not None:
        raise typer.BadParameter("give --key or --key-file, not both")
    if file is None:
        return None if text is None else text.encode()
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"--key-file {file} cannot be read ({cause(error)})") from error


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
        many = counted(len(found.finished), "file was", "files were")
        yield f"{where}: an erasure that had begun is finished, {many} replaced"
    if not found.matches.total:
        yield f"{where}: no record that is kept matches"
    else:
        shown = [f"{partition}: {count}" for partition, count in found.matches.records.items()]
        more = f" and {len(shown) - _SHOWN} more partitions" if len(shown) > _SHOWN else ""
        many = counted(found.matches.total, "record")
        yield f"{where}: the content of {many} {verb} ({', '.join(shown[:_SHOWN])}{more})"
        yield (
            f"  not erased by this command: these records on {found.old}, until its retention removes them, and on "
            f"{found.new} if a failback has published them again"
        )
    if found.erasure is not None:
        yield f"  recorded as {found.erasure.name} in the registers, and sealed as run {found.erasure.run}"
        yield f"  confirmed by {found.erasure.approver}, who was verified by {found.erasure.verified}"
    if found.former:
        yield f"  folders of earlier attempts {'were' if confirmed else 'would be'} removed: {', '.join(found.former)}"
    for name in found.newer:
        yield (
            f"  {name} was written after the list. If no stranded_records job is running, delete this folder, because "
            "it may hold the same records"
        )


def _as_json(found: ErasedList) -> dict[str, Any]:
    rows = [
        {"topic": partition.topic, "partition": partition.partition, "records": count}
        for partition, count in found.matches.records.items()
    ]
    kept = {name: getattr(found, name) for name in ("left_by", "old", "new", "finished", "former", "newer")}
    erasure = None if found.erasure is None else found.erasure.to_json()
    return {**kept, "records": found.matches.total, "partitions": rows, "erasure": erasure}
