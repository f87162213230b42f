"""What a person answers, by flags or at the terminal; the rest is read from the clusters, or stays a question."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from kafka_dr.topology.names import covers

InitRole = Literal["operator", "probe", "audit", "replicator"]
INIT_ROLES: tuple[InitRole, ...] = get_args(InitRole)
#: Where the files of the workers are, on each of them.
WORKERS_FOLDER = "/etc/kafka-connect"
#: The role of FAB that the written commands make.
APPROVERS = "kafka-dr-approver"


@dataclass(frozen=True, slots=True)
class InitAnswers:
    """The answers of one person.

    :param bootstrap: ``host:port`` pairs by cluster, the active one first
    :param client_files: the settings of the client that looks at a cluster, by cluster
    :param group: the one protection group of all topics; empty: one for each set of topics that belong together
    :param topics: names, and prefixes that end in ``*``; empty: every topic of applications
    :param principals: by role, where they are not the usual ones
    :param rest: addresses of the REST API of the workers, by cluster
    """

    folder: Path
    bootstrap: Mapping[str, str]
    client_files: Mapping[str, Path]
    group: str = ""
    topics: tuple[str, ...] = ()
    principals: Mapping[str, str] = field(default_factory=dict)
    super_users: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    evidence: str = ""
    rest: Mapping[str, str] = field(default_factory=dict)
    workers_folder: str = WORKERS_FOLDER

    @property
    def active(self) -> str:
        """The cluster that applications write to now."""
        return next(iter(self.bootstrap))

    @property
    def standby(self) -> str:
        """The cluster that gets the copy."""
        return list(self.bootstrap)[1]

    def principal(self, role: InitRole, protocol: str) -> str:
        """Return the principal of a role.

        :param protocol: of the listener: the principal of a certificate is its whole subject
        """
        usual = f"User:CN=dr-{role}" if protocol == "SSL" else f"User:dr-{role}"
        return self.principals.get(role, usual)

    def wants(self, topic: str) -> bool:
        """Return whether a topic is among those that were asked for."""
        prefixes = [each.removesuffix("*") for each in self.topics if each.endswith("*")]
        return not self.topics or covers(topic, literals=self.topics, prefixes=prefixes)

    @property
    def command(self) -> str:
        """The command that gives the same answers by flags."""
        words = ["python", "-m", "kafka_dr", "init", str(self.folder)]
        for flag, name in (("--active", self.active), ("--standby", self.standby)):
            words += [flag, f"{name}={self.bootstrap[name]}"]
        words += _named("--client-config", {name: str(path) for name, path in self.client_files.items()})
        words += ["--group", self.group] if self.group else []
        words += _each("--topics", self.topics)
        words += _named("--principal", self.principals)
        words += _each("--super-user", self.super_users)
        words += _each("--approver", self.approvers)
        words += ["--evidence", self.evidence] if self.evidence else []
        words += _named("--rest", self.rest)
        words += ["--workers-folder", self.workers_folder] if self.workers_folder != WORKERS_FOLDER else []
        return shlex.join(words)


def _named(flag: str, values: Mapping[str, str]) -> list[str]:
    return _each(flag, tuple(f"{name}={value}" for name, value in values.items()))


def _each(flag: str, values: tuple[str, ...]) -> list[str]:
    return [word for value in values for word in (flag, value)]
