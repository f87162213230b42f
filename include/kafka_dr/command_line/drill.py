"""``drill``: practise a failover on topics of the drill's own, show past results, or remove what a dead drill left."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from kafka_dr.approvals import signed
from kafka_dr.causes import cause
from kafka_dr.command_line.answering import Answering
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.keys import KeyFile, read_key
from kafka_dr.command_line.opened import (
    AsJson,
    CommandFiles,
    ConnectionsFile,
    EvidenceFolder,
    GroupName,
    TopologyFile,
    opened,
    plain_errors,
)
from kafka_dr.counted import counted
from kafka_dr.drill import conduct
from kafka_dr.drill.beginning import remaining
from kafka_dr.drill.life import is_dead, said_of
from kafka_dr.drill.result import DrillResult, DrillResults
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.people import UNKNOWN_PERSON
from kafka_dr.quoting import line
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.drill import DrillKind
from kafka_dr.topology.drill_group import id_at

Kind = Annotated[DrillKind, typer.Option("--kind", help="which failover is practised")]
Standby = Annotated[
    str | None,
    typer.Option("--standby", help="where the drill goes; of several standbys the one drilled longest ago without it"),
]
Teardown = Annotated[
    bool, typer.Option("--teardown", help="only remove what drills of the group left; make sure that none runs")
]
Results = Annotated[bool, typer.Option("--results", help="only show the results of past drills; asks no cluster")]
#: So many past results are shown.
_SHOWN = 20


@with_exit_codes
def drill(
    group: GroupName,
    kind: Kind = "planned",
    standby: Standby = None,
    key: KeyFile = None,
    teardown: Teardown = False,
    results: Results = False,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Practise a failover of a group: the real steps, on topics and consumer groups that the drill makes and removes.

    Nothing of the group itself is touched. Its steps are approved by the approver whose --key is given, or by the
    topology, if it says drill.approval: automatic. A drill that is interrupted removes what it made; one that was
    killed leaves it, until --teardown.
    """
    if teardown and results:
        raise typer.BadParameter("give --teardown or --results, not both")
    with plain_errors():
        own = read_key(key) if key is not None else None
    # Without Airflow an approver is known by the own key.
    people = Answering(key=own).people
    with opened(CommandFiles(topology, connections, evidence), people_of=people) as clients:
        if results:
            raise _show(group, clients, as_json=as_json)
        if teardown:
            raise _remove(group, clients)
        raise _whole_drill(group, kind, standby, clients, own, as_json=as_json)


def _whole_drill(
    group: str, kind: DrillKind, standby: str | None, clients: Clients, key: SigningKey | None, *, as_json: bool
) -> typer.Exit:
    drill_id = id_at(clients.clock.now())
    person = signed.approver_of(clients.topology.group(group), key) if key is not None else None
    requester = person.name if person is not None else UNKNOWN_PERSON
    conduct.begin(group, kind, drill_id, clients, requester=requester, key=key, standby=standby)
    _say(f"the {kind} drill {drill_id} of {group} has begun")
    try:
        conduct.carry_out(group, drill_id, clients, _say, requester=requester, key=key)
    finally:
        ended = conduct.conclude(group, drill_id, clients, _say)
    if ended is None:
        return typer.Exit(ExitCode.UNKNOWN)
    if as_json:
        typer.echo(json.dumps(ended.to_json(), indent=1))
    else:
        _print(ended)
    return typer.Exit(ExitCode.GOOD if ended.passed else ExitCode.BAD)


def _remove(group: str, clients: Clients) -> typer.Exit:
    """Remove what drills left, also of a drill that has no result."""
    results = DrillResults(clients.evidence_root, group)
    unfinished = [each.id for each in results.newest(_SHOWN) if each.stage != "ended"]
    left = remaining(clients.topology.group(group), clients)
    for drill_id in sorted({*left, *unfinished}):
        conduct.conclude(group, drill_id, clients, _say)
    if again := remaining(clients.topology.group(group), clients):
        _say(f"something of {', '.join(again)} is left: see above, then run this again")
        return typer.Exit(ExitCode.BAD)
    typer.echo(f"nothing of any drill of {group} is left")
    return typer.Exit(ExitCode.GOOD)


def _show(group: str, clients: Clients, *, as_json: bool) -> typer.Exit:
    clients.topology.group(group)
    try:
        found = DrillResults(clients.evidence_root, group).newest(_SHOWN)
    except (DocumentDamaged, OSError) as error:
        _say(f"the results of drills cannot be read: {cause(error)}")
        return typer.Exit(ExitCode.UNKNOWN)
    if as_json:
        typer.echo(json.dumps([each.to_json() for each in found], indent=1))
    else:
        for each in found:
            _print(each, died=is_dead(clients.evidence_root, each, clients.clock.now()))
        if not found:
            typer.echo(f"{group} was never drilled")
    return typer.Exit(ExitCode.GOOD)


def _print(result: DrillResult, *, died: bool = False) -> None:
    typer.echo(line(said_of(result, died=died)))
    for leg in result.legs:
        typer.echo(
            line(
                f"  {leg.verb.replace('_', ' ')} {leg.source} → {leg.target}: "
                f"{counted(leg.acknowledged, 'record')} acknowledged, "
                f"{leg.lost} lost, {leg.reordered} in another order"
            )
        )
    for why in result.why:
        typer.echo(line(f"  {why}"))


def _say(sentence: str) -> None:
    typer.echo(line(sentence), err=True)
