"""What a person or a program asks for on the command line, as the core's requests."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from kafka_dr.register import Verb
from kafka_dr.runs.request import FailbackMode, HandBackTo, LateWish, RescueWish, RunRequest
from kafka_dr.topology.readers import BeginPositions


class FailoverKind(StrEnum):
    """The two failovers."""

    PLANNED = "planned"
    UNPLANNED = "unplanned"

    @property
    def verb(self) -> Verb:
        """The verb of the core."""
        return "planned_failover" if self is FailoverKind.PLANNED else "unplanned_failover"


Reason = Annotated[
    str, typer.Option("--reason", help="why; shown to approvers and kept with the evidence", show_default=False)
]
NeededReason = Annotated[
    str, typer.Option("--reason", help="how you know that the run is dead; kept with the evidence", show_default=False)
]
Source = Annotated[str | None, typer.Option("--from", help="the active cluster; refused if the register names another")]
Target = Annotated[str | None, typer.Option("--to", help="the cluster to move to; the standby without it")]
Returned = Annotated[
    str | None,
    typer.Option("--cluster", help="failback: which cluster becomes a copy again; un-adopt: which one leaves"),
]
Override = Annotated[
    str, typer.Option("--override", help="unplanned: why to fail over although the topology's rule is not met")
]
Acknowledged = Annotated[
    bool, typer.Option("--acknowledged", help="unplanned: I know that the group was moved a short while ago")
]
Mode = Annotated[
    FailbackMode,
    typer.Option(
        "--mode", help="failback: quarantine deletes nothing; rebuild deletes the old topics and copies them again"
    ),
]
Rescue = Annotated[
    RescueWish,
    typer.Option(
        "--rescue", help="failback: keep the stranded records with the evidence; republish also publishes them"
    ),
]
Late = Annotated[
    LateWish,
    typer.Option(
        "--late",
        help="failback, where copies have other names: what becomes of late records; declared: what the topology says",
    ),
]
HandBack = Annotated[
    HandBackTo,
    typer.Option(
        "--hand-back-to",
        help="what copies afterwards: existing, as before the adoption; own_flow, which runs unattended",
    ),
]
Leaving = Annotated[
    str | None,
    typer.Option("--cluster", help="un-adopt: only this standby leaves the group; the whole group without it"),
]
KnownOff = Annotated[
    str,
    typer.Option(
        "--known-off", help="un-adopt --cluster: name the cluster, and say how you know that it is off for ever"
    ),
]
CreateCanary = Annotated[
    bool,
    typer.Option("--create-canary-topic", help="of an adoption: create the group's canary topic if it is missing"),
]
Run = Annotated[str | None, typer.Option("--run", help="the run that died, so that no other is ended; any without it")]

Confirmed = Annotated[
    bool,
    typer.Option("--confirmed", help="I made sure that the run is dead, although it just showed life"),
]


BeginAt = Annotated[
    str | None,
    typer.Option(
        "--begin-at", help="consumer groups begin at the first record of this time, such as 2026-11-27T04:03:00Z"
    ),
]
WhichBegin = Annotated[
    BeginPositions,
    typer.Option(
        "--begin-positions",
        help="which positions begin there: unknown, those that cannot be translated, or all, which may skip records",
    ),
]


def moment(text: str, option: str) -> datetime:
    """Return the time that somebody wrote, in UTC.

    :param option: where it was written, for the sentence
    :raises typer.BadParameter: it is no time, or says no time zone
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{option} {text} is no time: write it as 2026-11-27T04:03:00Z") from error
    if at.tzinfo is None:
        raise typer.BadParameter(f"{option} {text} says no time zone: write {text}Z for UTC, or {text}+01:00")
    return at.astimezone(UTC)


def new_run(now: datetime) -> str:
    """Return an id for a new run; no other run of any executor has it.

    :param now: aware
    """
    return f"command_line__{now:%Y-%m-%dT%H:%M:%S%z}.{secrets.token_hex(4)}"


def failover_request(
    group: str,
    run: str,
    kind: FailoverKind,
    *,
    source: str | None,
    target: str | None,
    reason: str,
    override: str,
    acknowledged: bool,
    begin_at: str | None = None,
    begin_positions: BeginPositions = "unknown",
    dry_run: bool = False,
) -> RunRequest:
    """Return the request for a failover.

    :raises typer.BadParameter: an option of the other kind was given
    """
    if kind is FailoverKind.PLANNED and (override or acknowledged):
        raise typer.BadParameter("--override and --acknowledged belong to an unplanned failover")
    return RunRequest(
        group,
        run,
        source=source,
        target=target,
        dry_run=dry_run,
        reason=reason,
        verb=kind.verb,
        override=override,
        acknowledged=acknowledged,
        begin_at=moment(begin_at, "--begin-at") if begin_at else None,
        begin_positions=begin_positions,
    )
