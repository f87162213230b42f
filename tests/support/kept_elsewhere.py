"""Clusters whose access rules are kept elsewhere, with a pipeline for each that applies them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from kafka_dr.clusters import Acl
from kafka_dr.clusters.acls import Acls
from kafka_dr.topology.access_rules import AccessRulesSpec
from support.acl_reconciler import Pipeline, Rule, compare
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
    return [as_rule(acl) for acl in protection.rights_on(cluster)]


def as_rule(acl: Acl) -> Rule:
    """Return an ACL as owners write it."""
    words = (acl.operation.lower(), acl.permission.lower())
    return (acl.resource, acl.name, acl.pattern, acl.principal, acl.host, *words)


def scope_of(protection: Protection) -> tuple[str, ...]:
    """Return how the names of ACLs begin that are a group's own."""
    return (f"{protection.name}.", f"{protection.name}-", f"_kafka_dr.witness.{protection.name}")


def owners_config(protection: Protection, cluster: str, folder: Path, also: Collection[Acl] = ()) -> dict[str, object]:
    """Return what the owners of a cluster know: a login, their own rules, and which names of ACLs are theirs.

    :param also: rules that are not those of the group's principals
    """
    settings = folder / "settings.json"
    settings.write_text(json.dumps(protection.lab.client_settings(cluster, "admin")))
    settings.chmod(0o600)
    own = [*rights_as_rules(protection, cluster), *map(as_rule, also)]
    (folder / "own.json").write_text(json.dumps(own))
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
    :param also: rules of its owners that are not those of the group's principals
    """

    protection: Protection
    cluster: str
    every: float = 0.5
    reads_file: bool = True
    also: tuple[Acl, ...] = ()
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

    def install(self) -> None:
        """Write what it needs to know, with the rights that the applications have on the cluster as its own rules."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = {
            **owners_config(self.protection, self.cluster, self.folder, self.also),
            "file": str(self.file) if self.reads_file else None,
            "beats": str(self.folder / "beats"),
            "every_seconds": self.every,
        }
        (self.folder / "config.json").write_text(json.dumps(config))

    def compare(self) -> None:
        """Compare once, in this process."""
        config = json.loads((self.folder / "config.json").read_text())
        compare(config, Pipeline(json.loads(Path(config["settings"]).read_text()), tuple(config["scope"])))

    def applies_once(self) -> tuple[str, ...]:
        """Return a program that adds what the file names, as somebody does who forgets the job that compares."""
        code = (
            "import json, sys; from support.acl_reconciler import Pipeline, rules_in_file; from pathlib import Path\n"
            "settings, file, own, scope = sys.argv[1:]\n"
            "own = {tuple(rule) for rule in json.loads(Path(own).read_text())}\n"
            "Pipeline(json.loads(Path(settings).read_text()), (scope,)).apply(own | rules_in_file(Path(file)))"
        )
        paths = (str(self.folder / "settings.json"), str(self.file), str(self.folder / "own.json"))
        python = ("/usr/bin/env", f"PYTHONPATH={_TESTS}", sys.executable)
        return (*python, "-c", code, *paths, f"_kafka_dr.witness.{self.protection.name}")

    def start(self) -> None:
        """Start it."""
        self.install()
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
