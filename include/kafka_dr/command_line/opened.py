"""How a command reaches the clusters: the topology, the connections and the evidence, without Airflow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from kafka_dr.causes import cause
from kafka_dr.clock import SystemClock
from kafka_dr.command_line.exit_codes import ExitCode
from kafka_dr.connections.port import Connections
from kafka_dr.connections.sources import FILE_SETTING, ConnectionSource
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.people import Person
from kafka_dr.quoting import block
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.declared import UnknownName
from kafka_dr.topology.loading import load
from kafka_dr.topology.mistakes import TopologyError
from kafka_dr.topology.model import Topology

#: The environment variable that names the topology file, here and in Airflow.
TOPOLOGY_SETTING = "KAFKA_DR_TOPOLOGY"

PeopleOf = Callable[[Topology, Sequence[str], Sequence[str]], tuple[Person, ...]]

TopologyFile = Annotated[
    Path | None, typer.Option("--topology", envvar=TOPOLOGY_SETTING, help="the topology (YAML)", show_default=False)
]
ConnectionsFile = Annotated[
    Path | None,
    typer.Option(
        "--connections",
        envvar=FILE_SETTING,
        help="connections by id, JSON as 'airflow connections export --file-format json' writes it, mode 0600; what it "
        "lacks is looked up in AIRFLOW_CONN_… variables",
        show_default=False,
    ),
]
EvidenceFolder = Annotated[
    Path | None,
    typer.Option("--evidence", help="a folder to use in place of the topology's evidence.root", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="one JSON object instead of sentences")]
GroupName = Annotated[str, typer.Option("--group", help="the protection group", show_default=False)]


@dataclass(frozen=True, slots=True)
class CommandFiles:
    """The files of a command.

    :param evidence: ``None``: where the topology says
    """

    topology: Path | None
    connections: Path | None
    evidence: Path | None = None

    def read_topology(self, environ: Mapping[str, str] = os.environ) -> Topology:
        """Read the topology.

        :raises Refused: none is named
        :raises TopologyError: with everything that is wrong with it
        """
        if self.topology is None:
            raise Refused(f"no topology is named: set {TOPOLOGY_SETTING} or give --topology FILE")
        return load(self.topology, environ)

    def clients(self, environ: Mapping[str, str] = os.environ, *, people_of: PeopleOf | None = None) -> Clients:
        """Build the clients. A cluster is connected to when it is asked for, not before.

        :param people_of: finds the people who may approve, by the names and roles of the topology
        :raises Refused: a file is missing, or others may read the connections
        """
        topology = self.read_topology(environ)
        return Clients(
            topology,
            connections=Connections.stored(ConnectionSource.read(environ, self.connections).get),
            evidence_root=evidence_root(topology.evidence.root, self.evidence),
            clock=SystemClock(),
            people_of=None if people_of is None else partial(people_of, topology),
        )


def evidence_root(declared: str, chosen: Path | None) -> Any:
    """Return where evidence is kept, as a path object.

    :param declared: the topology's ``evidence.root``: an absolute path, or a URI
    :param chosen: a folder that is used instead
    :raises Refused: it is an object store whose client is not installed
    """
    local = declared.removeprefix("file://")
    if chosen is not None or local.startswith("/"):
        return chosen.absolute() if chosen is not None else Path(local)
    try:
        from upath import UPath

        return UPath(declared)
    except (ImportError, ValueError) as error:
        raise Refused(
            f"the evidence at {declared} cannot be reached ({cause(error)}): install the client of that storage, or "
            "name a folder with --evidence and copy it into the store later"
        ) from error


@contextmanager
def opened(files: CommandFiles, *, people_of: PeopleOf | None = None) -> Iterator[Clients]:
    """Yield the clients; end the command with a sentence, and no stack, where this project refuses something."""
    try:
        clients = files.clients(people_of=people_of)
    except KafkaDrError as error:
        raise ended(error, ExitCode.MISUSED) from None
    with plain_errors(), clients:
        yield clients


@contextmanager
def plain_errors() -> Iterator[None]:
    """End the command with a sentence, and no stack, where something is refused or cannot be found out."""
    try:
        yield
    except (TopologyError, UnknownName) as error:
        raise ended(error, ExitCode.MISUSED) from None
    except Refused as error:
        raise ended(error, ExitCode.REFUSED) from None
    except KafkaDrError as error:
        raise ended(error, ExitCode.UNKNOWN) from None


def ended(error: Exception, code: ExitCode) -> typer.Exit:
    """Write an error where a person sees it, and return what ends the command."""
    typer.echo(block(cause(error)), err=True)
    return typer.Exit(code)
