"""``stretch``: what the loss of a site of a stretch cluster would do. Reads its metadata, changes nothing."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import KafkaCluster
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.opened import AsJson, CommandFiles, ConnectionsFile, TopologyFile, ended, plain_errors
from kafka_dr.command_line.status_page import plain
from kafka_dr.connections.port import Connections
from kafka_dr.connections.sources import ConnectionSource
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.stretch import StretchLook, look_at_stretch
from kafka_dr.stretch.apply import apply_plan
from kafka_dr.stretch.plan import StretchPlan, plan_for
from kafka_dr.topology.declared import UnknownName
from kafka_dr.topology.stretch import StretchClusterSpec

_CODES = {"ok": ExitCode.GOOD, "warning": ExitCode.GOOD, "failed": ExitCode.BAD, "unknown": ExitCode.UNKNOWN}
_STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red", "unknown": "bold yellow"}
#: How many partitions a table shows.
_MOST_ROWS = 50
_UNTIL = {
    "": "",
    "caught_up": "until replicas catch up",
    "site_back": "until the site is back",
    "quorum_back": "until a majority of controllers is back",
}


@with_exit_codes
def stretch(
    cluster: Annotated[str, typer.Argument(help="the cluster, by its name in stretch_clusters")],
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    lost: Annotated[
        str | None, typer.Option("--lost", metavar="SITE", help="the loss of one site in detail", show_default=False)
    ] = None,
    with_plan: Annotated[
        bool, typer.Option("--plan", help="also print what would correct the placement, as Kafka's tools read it")
    ] = False,
    apply: Annotated[
        str | None,
        typer.Option("--apply", metavar="PLAN", help="apply the plan with this digest", show_default=False),
    ] = None,
    within: Annotated[float, typer.Option(metavar="SECONDS", help="how long applying it may take")] = 600.0,
    as_json: AsJson = False,
) -> None:
    """Say what the loss of each site of a stretch cluster would do now, and what is wrong with its placement.

    Reads brokers, partitions, controllers and settings with the connection of the cluster, and changes nothing. If the
    topology says how, it also measures the delay between sites, with small records in a topic of its own.

    With --apply it moves replicas and leaders as a plan says that --plan has printed, one partition after the other, if
    it is still the plan, and then says how the cluster is.
    """
    try:
        declared = CommandFiles(topology, connections).read_topology().stretch_cluster(cluster)
        known = Connections.stored(ConnectionSource.read(os.environ, connections).get)
    except KafkaDrError as error:
        raise ended(error, ExitCode.MISUSED) from None
    with plain_errors():
        if apply is not None:
            _apply(declared, known, apply, within)
        found = _look(declared, known)
        if lost is not None and lost not in found.facts.sites:
            raise UnknownName(f"{cluster} has no site {lost!r}: its sites are {', '.join(found.facts.sites)}")
        plan = plan_for(found.facts) if with_plan else None
    if as_json:
        typer.echo(json.dumps(found.to_json() | (_planned(found, plan) if plan else {}), indent=1))
    else:
        console = Console()
        _show(found, console)
        if lost is not None:
            _show_loss(found.to_json()["if_lost"][lost], lost, console)
        if plan is not None:
            _show_plan(found, plan)
    raise typer.Exit(_CODES[found.verdict])


def _look(declared: StretchClusterSpec, connections: Connections) -> StretchLook:
    with ExitStack() as stack:

        def reached(connection: str) -> KafkaCluster:
            return stack.enter_context(KafkaCluster(declared.name, connections.kafka(connection)))

        writer = None if declared.delay is None else reached(declared.delay.connection)
        return look_at_stretch(declared, reached(declared.connection), SystemClock(), writer)


def _apply(declared: StretchClusterSpec, connections: Connections, approved: str, seconds: float) -> None:
    """Apply the plan of now if it is the approved one, and name on stderr what has moved."""
    if declared.apply_connection is None:
        raise Refused(
            f"{declared.name} has no apply_connection, so nothing of it is changed: declare one, or use Kafka's tools "
            "as --plan prints it"
        )
    plan = plan_for(_look(declared, connections).facts)
    with KafkaCluster(declared.name, connections.kafka(declared.apply_connection)) as cluster:
        apply_plan(
            plan,
            approved,
            cluster,
            SystemClock(),
            seconds=seconds,
            moved=lambda partition: typer.echo(f"{partition} has moved", err=True),
        )


def _show(found: StretchLook, console: Console) -> None:
    console.print(plain(f"{found.facts.name}: {found.verdict}", _STYLES[found.verdict]))
    console.print(plain(found.sentence), soft_wrap=True)
    table = Table("site", "brokers", "controllers", "if lost: stop", "refuse writes", "leaders move", "quorum", "load")
    for row in found.site_rows:
        load = row["largest_load"]
        stops = f"{row['stops']}" + (f" (and {row['unknown']} unknown)" if row["unknown"] else "")
        refuses = f"{row['refuses']}" + (f" ({row['refuses_for_now']} for now)" if row["refuses_for_now"] else "")
        cells = [row["site"], _numbers(row["brokers"]), _numbers(row["controllers"]), stops, refuses]
        cells += [str(row["leaders_that_move"]), row["quorum"], "unknown" if load is None else f"up to {load:g} times"]
        table.add_row(*map(plain, cells))
    console.print(table)
    for each in found.findings:
        console.print(plain(f"{each.level}: {each.sentence}", _STYLES[each.level]), soft_wrap=True)
    if any(each.typical is not None for each in found.delays):
        delays = Table("delay", "median ms", "99 % below ms", "writes")
        for delay in found.delays:
            shown = ("unknown" if ms is None else f"{ms:g}" for ms in (delay.typical, delay.longest))
            delays.add_row(plain(" → ".join(delay.pair)), *shown, str(delay.samples))
        console.print(delays)


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _show_loss(loss: dict[str, Any], site: str, console: Console) -> None:
    left = loss["voters"] - loss["voters_lost"]
    console.print(plain(f"If {site} is lost: the quorum {loss['quorum']}, {left} of {loss['voters']} controllers left"))
    rows = [each for each in loss["partitions"] if each["outcome"] != "continues" or _moves(each)]
    table = Table("partition", "then", "leader", "replicas", "in sync", "why")
    for row in rows[:_MOST_ROWS]:
        then = f"{row['outcome']} {_UNTIL[row['until']]}".strip()
        leader = f"{_named(row['leader_before'])} → {_named(row['leader_after'])}" if _moves(row) else "stays"
        why = f"{row['reason']}{', and acknowledged records may be lost' if row['loses_records'] else ''}"
        name = f"{row['topic']}-{row['partition']}"
        table.add_row(*map(plain, (name, then, leader, _numbers(row["replicas"]), _numbers(row["in_sync"]), why)))
    console.print(table)
    rest = counted(len(loss["partitions"]) - len(rows), "partition continues", "partitions continue")
    more = f", and {len(rows) - _MOST_ROWS} more are in --json" if len(rows) > _MOST_ROWS else ""
    console.print(plain(f"{rest} with the leader that it has{more}."))
    table = Table("broker", "site", "leads", "bytes of these logs")
    for row in loss["load"]:
        volume = "unknown" if row["bytes_before"] is None else f"{row['bytes_before']:,} → {row['bytes_after']:,}"
        leads = f"{row['leaders_before']} → {row['leaders_after']}"
        table.add_row(str(row["broker"]), plain(row["site"]), leads, volume)
    console.print(table)
    for caveat in loss["caveats"]:
        console.print(plain(f"note: {caveat}"), soft_wrap=True)


def _moves(row: dict[str, Any]) -> bool:
    return bool(row["leader_before"] != row["leader_after"])


def _named(broker: int | None) -> str:
    return "none" if broker is None else str(broker)


def _planned(found: StretchLook, plan: StretchPlan) -> dict[str, Any]:
    left = {why: [*map(str, names)] for why, names in plan.not_fixed.items()}
    return {
        "plan": {
            "digest": plan.digest,
            "reassignment": plan.reassignment,
            "election": plan.election,
            "not_fixed": left,
        },
        "delay_topic": found.command,
    }


def _show_plan(found: StretchLook, plan: StretchPlan) -> None:
    """Print files and commands without wrapping: they are copied."""
    connect = "--bootstrap-server SERVERS"
    if plan.reassign:
        typer.echo(f"\n# {counted(len(plan.reassign), 'partition')} to move. Write this into reassign.json:")
        typer.echo(json.dumps(plan.reassignment))
        options = "--reassignment-json-file reassign.json"
        typer.echo(f"kafka-reassign-partitions.sh {connect} --command-config FILE {options} --throttle BYTES --execute")
        typer.echo(f"kafka-reassign-partitions.sh {connect} --command-config FILE {options} --verify")
    if plan.elect:
        typer.echo(f"\n# {counted(len(plan.elect), 'leader')} to move to the preferred replica. Write into elect.json:")
        typer.echo(json.dumps(plan.election))
        options = "--election-type PREFERRED --path-to-json-file elect.json"
        typer.echo(f"kafka-leader-election.sh {connect} --admin.config FILE {options}")
    if plan.moves_something:
        command = f"python -m kafka_dr stretch {found.facts.name} --apply {plan.digest}"
        typer.echo(f"\n# Or, with the apply_connection of the topology, one partition after the other:\n{command}")
    else:
        typer.echo("\n# Nothing to move.")
    for why, names in plan.not_fixed.items():
        shown = ", ".join(map(str, names[:3])) + (" …" if len(names) > 3 else "")
        typer.echo(f"# Not corrected by moves, {counted(len(names), 'partition')} ({shown}): {why}")
    if found.command:
        typer.echo(f"\n# The topic that delays are measured with:\n{found.command}")
