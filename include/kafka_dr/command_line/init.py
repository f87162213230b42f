"""``init``: writes the folder of a set-up, from what two clusters show and a few answers."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from kafka_dr import parallel
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.opened import ended, plain_errors
from kafka_dr.command_line.rights import FORMATS, RightsFormat
from kafka_dr.errors import Refused
from kafka_dr.quoting import block
from kafka_dr.rights import needed_on
from kafka_dr.set_up.answers import INIT_ROLES, WORKERS_FOLDER, InitAnswers
from kafka_dr.set_up.client_file import read_client_file
from kafka_dr.set_up.files import SetUpFile, files_of
from kafka_dr.set_up.folder import KeptFile, write_missing
from kafka_dr.set_up.proposal import propose
from kafka_dr.set_up.seen import look_at
from kafka_dr.set_up.topology_text import topology_text
from kafka_dr.topology.loading import load
from kafka_dr.topology.mistakes import TopologyError
from kafka_dr.topology.model import Topology

TOPOLOGY = "topology.yaml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_SERVERS = re.compile(r"[^\s,:]+:\d{1,5}(,[^\s,:]+:\d{1,5})*")
#: How the files of the rights end, by their format; JSON is for programs.
_ENDINGS: Mapping[RightsFormat, str] = {
    RightsFormat.KAFKA_ACLS: "sh",
    RightsFormat.STRIMZI: "json",
    RightsFormat.TERRAFORM: "tf.json",
    RightsFormat.CONFLUENT_TERRAFORM: "tf.json",
    RightsFormat.MARKDOWN: "md",
}


@with_exit_codes
def init(
    folder: Annotated[Path, typer.Argument(help="where the files are written", show_default=False)],
    active: Annotated[
        str, typer.Option(help="the cluster that applications write to: NAME=HOST:PORT,…", show_default=False)
    ] = "",
    standby: Annotated[
        str, typer.Option(help="the cluster that gets the copy: NAME=HOST:PORT,…", show_default=False)
    ] = "",
    client_config: Annotated[
        list[str] | None,
        typer.Option(
            help="a properties file of Java's tools or of librdkafka, of a client that may describe everything: "
            "FILE, or NAME=FILE for each cluster",
            show_default=False,
        ),
    ] = None,
    group: Annotated[
        str,
        typer.Option(help="one protection group of this name for all topics; else one for each set that shares use"),
    ] = "",
    topics: Annotated[
        list[str] | None, typer.Option(help="only these topics: a name, or a prefix and *", show_default=False)
    ] = None,
    principal: Annotated[
        list[str] | None,
        typer.Option(help="of a role: operator=User:NAME; else User:dr-operator and so on", show_default=False),
    ] = None,
    super_user: Annotated[
        list[str] | None, typer.Option(help="one of the brokers' super.users: User:NAME", show_default=False)
    ] = None,
    approver: Annotated[
        list[str] | None, typer.Option(help="a user of Airflow who may approve; else a role", show_default=False)
    ] = None,
    evidence: Annotated[str, typer.Option(help="where evidence is kept: a URI, or an absolute path")] = "",
    rest: Annotated[
        list[str] | None,
        typer.Option(help="the REST API of the workers next to a cluster: NAME=http://HOST:PORT", show_default=False),
    ] = None,
    workers_folder: Annotated[str, typer.Option(help="where the files of the workers are, on each")] = WORKERS_FOLDER,
) -> None:
    """Write topology, connections, rights, settings of workers and Airflow, roles and a check list for two clusters.

    It reads the clusters and changes nothing there. No secret is written, and no file that exists is changed: of such
    a file it shows how the proposal differs. All files but topology.yaml are made from topology.yaml as it is in the
    folder. What is not given is asked at a terminal, or becomes a question in the topology.
    """
    asked = _asked_at_terminal if sys.stdin.isatty() else _not_asked
    try:
        active = active or asked("The cluster that applications write to (NAME=HOST:PORT,…)", "--active")
        standby = standby or asked("The cluster that gets the copy (NAME=HOST:PORT,…)", "--standby")
        bootstrap = _clusters(active, standby)
        configs = client_config or [asked("Client settings that may describe both clusters (FILE)", "--client-config")]
        answers = InitAnswers(
            folder,
            bootstrap,
            {name: Path(file) for name, file in _for_each(bootstrap, configs, "--client-config").items()},
            group=_named_group(group or asked("One protection group for all topics (NAME, or nothing)", "")),
            topics=tuple(topics or ()),
            principals=_principals(principal or ()),
            super_users=tuple(
                super_user or _listed(asked("The brokers' super.users (as there: User:NAME;User:NAME)", ""))
            ),
            approvers=tuple(approver or ()),
            evidence=evidence or asked("Where evidence is kept (URI or absolute path, or nothing)", ""),
            rest=_pairs(rest or (), "--rest", bootstrap),
            workers_folder=workers_folder.rstrip("/"),
        )
        reached = {name: read_client_file(answers.client_files[name], servers) for name, servers in bootstrap.items()}
        for name, settings in reached.items():
            if settings.security_protocol == "PLAINTEXT":
                raise Refused(
                    f"the listener of {name} has no login (PLAINTEXT), so nobody could be fenced there: give the "
                    "address of a listener with SASL or TLS, and its client settings"
                )
    except Refused as error:
        raise ended(error, ExitCode.MISUSED) from None
    with plain_errors():
        seen = parallel.ask_all(lambda name: look_at(name, reached[name]), bootstrap)
        here, there = seen[answers.active], seen[answers.standby]
        if here.cluster_id == there.cluster_id:
            raise Refused(
                f"{here.name} and {there.name} are the same cluster ({here.cluster_id}): name another address"
            )
        proposal = propose(here, there, answers)
        if not proposal.groups:
            raise Refused(f"{here.name} shows no topic of an application to this client: check its rights, or --topics")
        proposed = topology_text(here, there, proposal, answers)
        if not (folder / TOPOLOGY).exists():
            _require_sound(proposed)
        kept = list(write_missing(folder, [SetUpFile(TOPOLOGY, proposed)]))
        present = (folder / TOPOLOGY).read_text("utf-8")
        declared = load(folder / TOPOLOGY, os.environ)
        files = (
            *files_of(declared, present, {name: each.ca_file for name, each in reached.items()}, answers),
            *_rights(declared),
        )
        kept += write_missing(folder, files)
    typer.echo(block("\n".join(_page(folder, kept))))
    raise typer.Exit(ExitCode.BAD if any(each.fate == "differs" for each in kept) else ExitCode.GOOD)


def _require_sound(proposed: str) -> None:
    """Raise an error, before anything is written, if the topology would be refused because of an answer."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, TOPOLOGY)
        file.write_text(proposed, "utf-8")
        try:
            load(file, os.environ)
        except TopologyError as error:
            said = " ".join(f"{each.path}: {each.seen}; {each.expected}." for each in error.mistakes)
            raise Refused(f"an answer makes no topology, and nothing was written. {said}") from error


def _rights(declared: Topology) -> Iterator[SetUpFile]:
    for kept_in, ending in _ENDINGS.items():
        for name, spec in declared.clusters.items():
            groups = [group for group in declared.protection_groups.values() if name in group.clusters]
            if groups:
                text = FORMATS[kept_in](name, spec, needed_on(name, spec, groups))
                # A program of commands ends at the first one that fails.
                first = "set -e\n" if ending == "sh" else ""
                yield SetUpFile(f"rights/{kept_in}/{name}.{ending}", f"{first}{text}\n")


def _page(folder: Path, kept: Iterable[KeptFile]) -> Iterator[str]:
    for each in kept:
        yield f"{each.fate:8} {folder / each.name}"
        if each.difference:
            yield each.difference
        elif each.fate == "differs":
            yield "         it may hold your secrets, so the difference is not shown"
    yield f"Read {folder / 'CHECK-LIST.md'} next. No secret was written, and no file that existed was changed."


def _asked_at_terminal(question: str, flag: str) -> str:
    return str(typer.prompt(question, default=None if flag else "", err=True, show_default=False)).strip()


def _not_asked(question: str, flag: str) -> str:
    if flag:
        raise Refused(f"{flag} is missing: {question[0].lower()}{question[1:]}")
    return ""


def _clusters(active: str, standby: str) -> dict[str, str]:
    found = _pairs((active, standby), "--active and --standby", None)
    for name, servers in found.items():
        if not _NAME.fullmatch(name) or not _SERVERS.fullmatch(servers):
            raise Refused(
                f"{name}={servers} is no cluster: write NAME=HOST:PORT, several addresses with commas; a name has "
                "letters, digits, - and _"
            )
    if len(found) != 2:
        raise Refused("the two clusters have the same name: give each a name of its own")
    return found


def _pairs(values: Iterable[str], flag: str, clusters: Mapping[str, str] | None) -> dict[str, str]:
    found = {}
    for each in values:
        name, sign, value = each.partition("=")
        if not (name and sign and value):
            raise Refused(f"{each} is no answer to {flag}: write NAME=VALUE")
        if clusters is not None and name not in clusters:
            raise Refused(f"{flag} {each} is no answer: write one of {', '.join(clusters)} in front of =")
        found[name] = value
    return found


def _for_each(clusters: Mapping[str, str], values: list[str], flag: str) -> dict[str, str]:
    """Return a value for each cluster, where one without a name is for all of them."""
    named = [each for each in values if each.partition("=")[0] in clusters and "=" in each]
    common = [each for each in values if each not in named]
    found = dict.fromkeys(clusters, common[-1]) if common else {}
    found |= _pairs(named, flag, clusters)
    if missing := [name for name in clusters if name not in found]:
        raise Refused(f"{flag} is missing for {missing[0]}: write {missing[0]}=FILE")
    return found


def _listed(super_users: str) -> list[str]:
    """Return what brokers read of the same text."""
    return [each.strip() for each in super_users.split(";") if each.strip()]


def _named_group(name: str) -> str:
    if name and not _NAME.fullmatch(name):
        raise Refused(f"{name} is no name of a protection group: use letters, digits, - and _, up to 100")
    return name


def _principals(values: Iterable[str]) -> dict[str, str]:
    found = _pairs(values, "--principal", dict.fromkeys(INIT_ROLES, ""))
    for role, principal in found.items():
        if not re.fullmatch(r"User:[^\s*](.*[^\s])?", principal):
            raise Refused(f"--principal {role}={principal} is no principal: write {role}=User:NAME")
    return found
