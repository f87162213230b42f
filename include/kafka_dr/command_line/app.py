"""The command line: one command for each thing that a person or a program asks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kafka_dr.causes import cause
from kafka_dr.command_line.adopting import adopt, un_adopt
from kafka_dr.command_line.approve import approve, review
from kafka_dr.command_line.complete import complete
from kafka_dr.command_line.doctor import doctor
from kafka_dr.command_line.drill import drill
from kafka_dr.command_line.ending import abandon, resume
from kafka_dr.command_line.erase import erase
from kafka_dr.command_line.exit_codes import ExitCode
from kafka_dr.command_line.init import init
from kafka_dr.command_line.keys import keygen
from kafka_dr.command_line.looks import flows, health
from kafka_dr.command_line.observe import observe
from kafka_dr.command_line.offsets import offsets
from kafka_dr.command_line.opened import CommandFiles, TopologyFile
from kafka_dr.command_line.plan import plan
from kafka_dr.command_line.record_audit import record_audit
from kafka_dr.command_line.rights import rights
from kafka_dr.command_line.status import status
from kafka_dr.command_line.stretch import stretch
from kafka_dr.command_line.verbs import failback, failover
from kafka_dr.command_line.verify import CheckReport
from kafka_dr.command_line.verify_stranded import StrandedReport, check_list, is_list
from kafka_dr.errors import Refused
from kafka_dr.evidence.sealed_run_check import check_sealed_run
from kafka_dr.topology.mistakes import TopologyError
from kafka_dr.topology.model import Topology
from kafka_dr.version import VERSION

app = typer.Typer(
    help="Disaster recovery for Kafka without Airflow. No command reads Airflow's database.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="say which version this is, and end")] = False,
) -> None:
    """Say the version, or do what the command says."""
    if version:
        typer.echo(VERSION)
        raise typer.Exit


app.command()(status)
app.command()(plan)
app.command()(resume)
app.command()(abandon)
app.command()(failover)
app.command()(failback)
app.command()(adopt)
app.command()(un_adopt)
app.command()(approve)
app.command()(review)
app.command()(keygen)
app.command()(erase)
app.command()(drill)
app.command()(observe)
app.command()(stretch)
app.command()(complete)
app.command()(init)
app.command()(rights)
app.command()(flows)
app.command()(health)
app.command()(offsets)
app.command()(doctor)
app.command()(record_audit)


@app.command()
def verify(
    folder: Annotated[
        Path,
        typer.Argument(
            help="a run's folder: EVIDENCE_ROOT/runs/GROUP/RUN; or a list of stranded records: .../stranded/GROUP/RUN"
        ),
    ],
    key: Annotated[
        Path | None,
        typer.Option(help="the signer's public key (PEM), from the register or from a person that you trust"),
    ] = None,
    topology: TopologyFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object instead of sentences")] = False,
) -> None:
    """Check a sealed run: its files, its signature, and the group's seals before it.

    Reads nothing but the folder of the run and those next to it. Of a list of stranded records it checks the files, and
    names what was erased from them, who asked for it and why; with --topology it checks the approvers' signatures, too.

    Exit codes: 0 sound; 1 changed after it was sealed; 2 wrong arguments; 3 not proven (never sealed, not signed, or
    signed by a key that was not given with --key).
    """
    if not folder.is_dir():
        raise typer.BadParameter(f"{folder} is not a folder: name a run's folder, EVIDENCE_ROOT/runs/GROUP/RUN")
    try:
        trusted = key.read_text("utf-8") if key is not None else None
        report = _report(folder.resolve(), trusted, topology)
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"the files cannot be read ({cause(error)})") from error
    except Refused as error:
        raise typer.BadParameter(f"--key {key}: {error}") from error
    typer.echo(report.as_json() if as_json else report.in_words())
    codes = {"sound": ExitCode.GOOD, "changed": ExitCode.BAD, "unproven": ExitCode.UNKNOWN}
    raise typer.Exit(codes[report.verdict])


def _report(folder: Path, trusted: str | None, topology: Path | None) -> CheckReport | StrandedReport:
    if is_list(folder):
        return check_list(folder, trusted=trusted, topology=_declared(topology))
    return CheckReport(check_sealed_run(folder, trusted=trusted))


def _declared(topology: Path | None) -> Topology | None:
    try:
        return CommandFiles(topology, None).read_topology() if topology is not None else None
    except TopologyError as error:
        raise typer.BadParameter(f"--topology {topology}: {error}") from error
