"""Spark's audits of a flow that somebody else runs, by a principal that may read and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import yaml

from kafka_dr.clusters import Acl, AclOperation, AclPermission, KafkaCluster, PatternType, ResourceType, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from lab import rights
from support.checksum import ChecksumAuditRun
from support.faulty_copy import FaultyCopy, Written
from support.others_copy import OthersCopy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: In a lab of tests this principal has no right that matters here.
OBSERVER = rights.DRILL
FLOW = "theirs.east-to-west"
_LOOK = (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)


@dataclass
class ObservedAudits:
    """Audits of one copy by the jobs themselves, in the shared session.

    :param more: what else the topology says of the flow
    """

    copy: OthersCopy
    spark: SparkSession
    more: dict[str, Any] = field(default_factory=dict)
    number: int = 0

    @property
    def remote(self) -> str:
        """What the copy of the topic is called."""
        return f"{self.copy.alias}.{self.copy.topic}"

    @property
    def root(self) -> Path:
        """The evidence root."""
        return self.copy.folder

    def allow(self) -> None:
        """Let the observer look, on both clusters, and do nothing else."""
        for name, topics in (("east", self.copy.topic), ("west", f"{self.copy.alias}.")):
            wanted = [self._right(ResourceType.TOPIC, topics, each) for each in _LOOK]
            wanted.append(self._right(ResourceType.GROUP, f"orders-{self.copy.alias}", AclOperation.DESCRIBE))
            with self.copy.cluster(name, "admin") as admin:
                admin.acls.add(wanted)

    def write(self, copy: FaultyCopy) -> None:
        """Create the topic and its copy, and write both."""
        for name, topic, partitions in (("east", self.copy.topic, copy.source), ("west", self.remote, copy.target)):
            self.copy.create(name, topic, partitions=len(partitions))
            self.append(name, topic, partitions)

    def append(self, cluster: str, topic: str, partitions: Mapping[int, list[Written]]) -> None:
        """Write records to the end of partitions."""
        with self.copy.cluster(cluster, "admin") as admin:
            admin.writing.append(
                NewRecord(
                    TopicPartition(topic, number),
                    record.payload.key,
                    record.payload.value,
                    cast("tuple[tuple[str, bytes], ...]", record.payload.headers),
                    record.payload.timestamp,
                )
                for number, written in partitions.items()
                for record in written
            )

    def checksum(self, *more: str) -> ChecksumAuditRun:
        """Audit the copy."""
        from jobs.checksum.job import main

        out = self._out("checksum")
        return ChecksumAuditRun(main([*self._arguments(out), *more], self._environ(), self._shared), out)

    def lag(self, *more: str) -> tuple[int, dict[str, Any]]:
        """Audit the lag; return how the job ended, and its report."""
        from jobs.lag.job import main

        out = self._out("lag")
        code = main([*self._arguments(out), *more], self._environ(), self._shared)
        report = out / "report.json"
        return code, json.loads(report.read_text()) if report.exists() else {}

    def ends(self) -> dict[str, dict[str, int]]:
        """Return the ends of everything that an audit could have written to, on both clusters."""
        found = {}
        for name in ("east", "west"):
            with self.copy.cluster(name, "admin") as admin:
                topics = {t for t in admin.topics.names() if self.copy.alias in t or t.startswith("_kafka_dr")}
                partitions = [p for each in admin.topics.describe(topics).values() for p in each.partitions]
                found[name] = {str(p): end for p, end in admin.topics.high_watermarks(partitions).items()}
        return found

    def topology(self) -> Path:
        """Write the topology of this flow alone, and return its file."""
        path = self.root / "observed.yaml"
        declared = self.copy.declared(audits={}, **self.more)
        path.write_text(yaml.safe_dump({"evidence": {"root": str(self.root)}, "observed_flows": {"theirs": declared}}))
        return path

    def denied(self) -> list[str]:
        """Return what both clusters' authorizers logged as denied to the observer.

        librdkafka looks for its group's coordinator although it joins none; refused, it reads all the same.
        """
        supervisor = self.copy.lab.supervisor
        logs = [supervisor.log(name).read_text() for name in supervisor.names() if "-broker-" in name]
        return [
            line
            for text in logs
            for line in text.splitlines()
            if f"User:{OBSERVER} is Denied" in line and "Group:LITERAL:dr-reader" not in line
        ]

    def cluster(self, name: str) -> KafkaCluster:
        """Return a cluster as the observer sees it."""
        return self.copy.cluster(name, OBSERVER)

    @contextmanager
    def _shared(self, _name: str) -> Iterator[SparkSession]:
        yield self.spark

    def _right(self, kind: ResourceType, name: str, operation: AclOperation) -> Acl:
        return Acl(kind, name, PatternType.PREFIXED, f"User:{OBSERVER}", operation, AclPermission.ALLOW)

    def _out(self, audit: str) -> Path:
        self.number += 1
        return self.root / f"{audit}-{self.number}"

    def _arguments(self, out: Path) -> list[str]:
        return ["--topology", str(self.topology()), "--flow", FLOW, "--out", str(out)]

    def _environ(self) -> dict[str, str]:
        path = self.root / "secrets.json"
        path.touch(mode=0o600)
        names = ("east", "west")
        path.write_text(json.dumps({f"kafka_{n}_observer": self.copy.lab.client_settings(n, OBSERVER) for n in names}))
        return {"KAFKA_DR_SECRETS_FILE": str(path)}
