"""Clusters whose access rules are kept elsewhere, with a pipeline for each that applies them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from kafka_dr.clusters.acls import Acls
from kafka_dr.topology import AccessRulesSpec
from support.acl_reconciler import Rule
from support.protection import Protection

_TESTS = Path(__file__).resolve().parents[1]


@contextmanager
def nobody_here_changes_acls() -> Iterator[None]:
    """Let every change of a broker's ACLs by this project fail: the operator needs no ALTER."""

    def change(*_: object, **__: object) -> None:
        raise AssertionError("the brokers' ACLs were changed past where they are kept")

    with mock.patch.object(Acls, "add", change), mock.patch.object(Acls, "remove", change):
        yield


def rights_as_rules(protection: Protection, cluster: str) -> list[Rule]:
    """Return the rules that the owners of a cluster have for a group's principals."""
    return [
        (acl.resource, acl.name, acl.pattern, acl.principal, acl.host, acl.operation.lower(), acl.permission.lower())
        for acl in protection.rights_on(cluster)
    ]


def scope_of(protection: Protection) -> tuple[str, ...]:
    """Return how the names of ACLs begin that are a group's own."""
    return (f"{protection.name}.", f"{protection.name}-", f"_kafka_dr.witness.{protection.name}")


def owners_config(protection: Protection, cluster: str, folder: Path) -> dict[str, object]:
    """Return what the owners of a cluster know: a login, their own rules, and which names of ACLs are theirs."""
    settings = folder / "settings.json"
    settings.write_text(json.dumps(protection.lab.client_settings(cluster, "admin")))
    settings.chmod(0o600)
    (folder / "own.json").write_text(json.dumps(rights_as_rules(protection, cluster)))
    return {"settings": str(settings), "scope": scope_of(protection), "own_rules": str(folder / "own.json")}


@dataclass
class RulesProgram:
    """A program that alone can see and change the rules of a cluster.

    :param spared: principals that it says it denies and does not
    """

    protection: Protection
    cluster: str
    spared: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """What the program keeps."""
        return self.protection.folder / f"program-{self.cluster}"

    def install(self) -> None:
        """Write what it needs to know."""
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {"kept": str(self.folder / "kept.json"), "spared": self.spared}
        config = {**owners_config(self.protection, self.cluster, self.folder), **kept}
        (self.folder / "config.json").write_text(json.dumps(config))

    def apply(self) -> None:
        """Let it apply once more what it keeps."""
        asked = {"action": "add", "group": self.protection.name, "denies": []}
        subprocess.run(self._command, input=json.dumps(asked).encode(), check=True, stdout=subprocess.DEVNULL)

    @property
    def _command(self) -> tuple[str, ...]:
        python = ("/usr/bin/env", f"PYTHONPATH={_TESTS}", sys.executable)
        return (*python, "-m", "support.iam_program", str(self.folder / "config.json"))

    def spec(self, *principals: str) -> AccessRulesSpec:
        """Return what the topology says of this cluster.

        :param principals: the applications that have a connection of their own
        """
        return AccessRulesSpec.model_validate(
            {
                "kept_by": "command",
                "program": self._command,
                "principal_connections": {f"User:{who}": f"kafka_{self.cluster}_{who}" for who in principals},
                "applied_within_seconds": 20,
            }
        )


@dataclass
class RulesPipeline:
    """The pipeline of one cluster, which runs as a process of its own.

    :param every: seconds between two comparisons
    :param reads_file: whether it also applies the rules of the project under test
    """

    protection: Protection
    cluster: str
    every: float = 0.5
    reads_file: bool = True
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def folder(self) -> Path:
        """What the pipeline is made of."""
        return self.protection.folder / f"pipeline-{self.cluster}"

    @property
    def file(self) -> Path:
        """The file that the project under test writes."""
        return self.folder / "wanted" / f"{self.cluster}.json"

    def spec(self, **more: object) -> AccessRulesSpec:
        """Return what the topology says of this cluster."""
        declared = {"kept_by": "file", "path": str(self.file), "reconciles_every_seconds": self.every * 2}
        return AccessRulesSpec.model_validate({**declared, "applied_within_seconds": 20, **more})

    def start(self) -> None:
        """Start it, with the rules that the applications have on the cluster as its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        own: list[Rule] = [
            (
                acl.resource,
                acl.name,
                acl.pattern,
                acl.principal,
                acl.host,
                acl.operation.lower(),
                acl.permission.lower(),
            )
            for acl in self.protection.rights_on(self.cluster)
        ]
        settings = self.folder / "settings.json"
        settings.write_text(json.dumps(self.protection.lab.client_settings(self.cluster, "admin")))
        settings.chmod(0o600)
        (self.folder / "own.json").write_text(json.dumps(own))
        names = (f"{self.protection.name}.", f"{self.protection.name}-", f"_kafka_dr.witness.{self.protection.name}")
        config = {
            "settings": str(settings),
            "scope": names,
            "own_rules": str(self.folder / "own.json"),
            "file": str(self.file) if self.reads_file else None,
            "beats": str(self.folder / "beats"),
            "every_seconds": self.every,
        }
        (self.folder / "config.json").write_text(json.dumps(config))
        (self.folder / "beats").unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.acl_reconciler", str(self.folder / "config.json")],
            env={**os.environ, "PYTHONPATH": str(_TESTS)},
        )
        self.wait_for_beat()

    def wait_for_beat(self, seconds: float = 30) -> None:
        """Wait until it has compared everything once more."""
        path, deadline = self.folder / "beats", time.monotonic() + seconds
        before = path.read_text() if path.exists() else ""
        while not path.exists() or path.read_text() == before:
            assert self._process is not None
            assert self._process.poll() is None, f"the pipeline of {self.cluster} ended"
            assert time.monotonic() < deadline, f"the pipeline of {self.cluster} does not compare"
            time.sleep(0.02)

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(20)
            self._process = None

    @contextmanager
    def running(self) -> Iterator[RulesPipeline]:
        """Run it for a while."""
        self.start()
        try:
            yield self
        finally:
            self.stop()
