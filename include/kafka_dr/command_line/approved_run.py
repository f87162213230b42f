"""A whole run of a verb that somebody approves: how it is approved, and whether anybody can."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kafka_dr.approvals.signed import key_people
from kafka_dr.approvals.who_may_answer import needs_second
from kafka_dr.command_line.answering import Answering
from kafka_dr.command_line.keys import read_key
from kafka_dr.command_line.opened import plain_errors
from kafka_dr.command_line.step_page import StepPage
from kafka_dr.command_line.whole_run import carry_out
from kafka_dr.counted import counted
from kafka_dr.errors import Refused
from kafka_dr.people import UNKNOWN_PERSON
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.request import RunRequest

BreakGlass = Annotated[
    bool,
    typer.Option(
        "--break-glass",
        help="approve without a key: kept as not verified, and dr_health names it until somebody has reviewed it",
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option("--by", help="with --break-glass: who approves; twice, if two approvals are needed"),
]
Yes = Annotated[bool, typer.Option("--yes", help="approve the question without typing")]


def answering_of(key: Path | None, by: list[str] | None, *, break_glass: bool, yes: bool) -> Answering:
    """Return what the person at the terminal can answer with.

    :raises typer.BadParameter: the options contradict each other
    """
    if break_glass is not bool(by):
        raise typer.BadParameter("--break-glass and --by NAME belong together")
    if break_glass and key is not None:
        raise typer.BadParameter("give --key or --break-glass, not both")
    if yes and key is None and not break_glass:
        raise typer.BadParameter("--yes answers the question, so it needs --key or --break-glass")
    with plain_errors():
        return Answering(read_key(key) if key is not None else None, tuple(by or ()), yes)


def approved_run(request: RunRequest, clients: Clients, answering: Answering, *, as_json: bool) -> typer.Exit:
    """Run the verb, if it is possible that somebody approves it, and return what ends the command.

    :raises Refused: nobody can approve it
    """
    group, two = clients.topology.group(request.protection_group), needs_second(request, clients)
    needed = 2 if two else 1
    if answering.names and request.verb == "failback" and request.mode == "rebuild":
        raise Refused("a rebuild deletes data, so its approvals are never by break glass: use keys, or quarantine")
    if answering.names and len(set(answering.names)) < needed:
        raise Refused(f"{needed} different people have to approve: give --by {needed} times, with different names")
    if not answering.names and len(key_people(group)) < needed:
        raise Refused(
            f"{counted(len(key_people(group)), 'approver')} of {group.name} with a key in approver_keys, "
            f"{needed} are needed: "
            "nobody could approve. Use keygen and add the key to the topology, or --break-glass"
        )
    request = replace(request, requester=answering.requester(group))
    if request.requester == UNKNOWN_PERSON and not group.requester_may_approve:
        raise Refused(
            f"requester_may_approve of {group.name} is false, so it has to be known who begins the run: give --key "
            "with your own key, which approver_keys or requester_keys names; another person then approves"
        )
    page = StepPage(group.name, request.run, as_json)
    page.say(f"run {request.run}")
    return carry_out(request, clients, answering, page)
