"""Checksum audits in tests: faults written to real brokers, and what an audit said about them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kafka_dr.audit.finding import FindingKind
from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.writing import NewRecord
from support.auditing import job_environ, topology_file
from support.faulty_copy import FaultyCopy, Known, Written
from support.protection import Protection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def minutes_ago(minutes: float) -> int:
    """Return milliseconds since the epoch: half an hour ago is longer than a record may wait."""
    return int((time.time() - 60 * minutes) * 1000)


@dataclass(frozen=True, slots=True)
class ChecksumAuditRun:
    """How an audit ended."""

    code: int
    out: Path

    @property
    def report(self) -> dict[str, Any]:
        return cast("dict[str, Any]", json.loads((self.out / "report.json").read_text()))

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / "findings.jsonl").read_text().splitlines()]

    def found(self, topic: str) -> list[Known]:
        """What was found in a topic; what is only on its way left out."""
        return sorted(
            Known(FindingKind(f["kind"]), f["partition"], f["source_offset"], f["target_offset"], f["count"])
            for f in self.lines
            if f["topic"] == topic and f["kind"] != FindingKind.IN_FLIGHT
        )

    def topic(self, name: str) -> dict[str, Any]:
        return next(each for each in self.report["topics"] if each["topic"] == name)


@dataclass(slots=True)
class Auditor:
    """Runs audits of a group's flow in the shared session, as the job would in its own."""

    protection: Protection
    spark: SparkSession
    folder: Path
    number: int = 0

    def __call__(
        self,
        *more: str,
        flow: str | None = None,
        environ: Mapping[str, str] | None = None,
        out: Path | None = None,
    ) -> ChecksumAuditRun:
        from jobs.checksum.job import main

        @contextmanager
        def shared(_name: str) -> Iterator[SparkSession]:
            yield self.spark

        self.number += 1
        out = out or self.folder / f"out-{self.number}"
        arguments = ["--topology", str(topology_file(self.protection)), "--out", str(out)]
        arguments += ["--flow", flow or f"{self.protection.name}.east-to-west", *more]
        given = job_environ(self.protection) if environ is None else environ
        return ChecksumAuditRun(main(arguments, given, shared), out)


def write_copy(
    protection: Protection,
    topic: str,
    copy: FaultyCopy,
    *,
    source: Mapping[str, str] | None = None,
    target: Mapping[str, str] | None = None,
) -> None:
    """Create a topic on both clusters and write the source and the target of a copy to it.

    :param source: the topic's configuration on the source
    :param target: the same on the target
    """
    sides = (("east", copy.source, source), ("west", copy.target, target))
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(_write, protection, topic, *side) for side in sides]:
            done.result()


def _write(
    protection: Protection,
    topic: str,
    cluster: str,
    partitions: Mapping[int, list[Written]],
    config: Mapping[str, str] | None,
) -> None:
    with protection.cluster(cluster, "admin") as admin:
        admin.topics.create(topic, partitions=len(partitions), replication_factor=1, config=config or {})
        records = [
            NewRecord(
                TopicPartition(topic, number),
                record.payload.key,
                record.payload.value,
                cast("tuple[tuple[str, bytes], ...]", record.payload.headers),
                record.payload.timestamp,
            )
            for number, written in partitions.items()
            for record in written
        ]
        for start in range(0, len(records), 50_000):
            admin.writing.append(records[start : start + 50_000])
