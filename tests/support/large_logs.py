"""Logs with faults at offsets that are known without keeping a record, and audits of them by ``spark-submit``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.api import Lab
from lab.bench.audit import PeakMemory
from lab.bench.logs import Shape
from support.auditing import job_environ, topology_file
from support.protection import Protection

_JOBS = Path(__file__).resolve().parents[2] / "spark" / "jobs"
#: What the audit calls each kind of fault, in the order in which the writer of the logs makes them.
_CALLED = (
    *("LOST", "DUPLICATE", "CORRUPT_VALUE", "CORRUPT_KEY", "CORRUPT_HEADER", "CORRUPT_TIMESTAMP"),
    *("REORDERED", "MOVED", "FOREIGN", "REPLAY"),
)
_REPLAYED = 5

#: A finding: its kind, the partition, the offset on the source, and how many records.
Found = tuple[str, int, int | None, int]


def truth(shape: Shape) -> list[Found]:
    """Return the faults of a copy that :mod:`lab.bench.logs` writes."""
    apart = shape.records // (shape.faults + 1)
    found: list[Found] = []
    for place in range(shape.faults):
        number, kind = place * apart + apart // 2, _CALLED[place % len(_CALLED)]
        partition, offset = number % shape.partitions, number // shape.partitions
        if kind == "FOREIGN":  # no record of the source is meant
            found.append((kind, partition, None, 1))
        elif kind == "REPLAY":
            found.append((kind, partition, offset - _REPLAYED + 1, _REPLAYED))
        else:
            found.append((kind, partition, offset, 1))
    return ordered(found)


def ordered(found: Iterable[Found]) -> list[Found]:
    """Return findings in an order that does not depend on where they were found."""
    return sorted(found, key=lambda each: (each[0], each[1], -1 if each[2] is None else each[2]))


@dataclass(frozen=True, slots=True)
class SubmittedAudit:
    """How an audit that was submitted ended.

    :param memory_gb: the most that driver and JVM had together; in local mode that JVM reads Kafka, too
    """

    code: int
    out: Path
    said: str
    memory_gb: float

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "report.json").read_text())
        return found

    @property
    def found(self) -> list[Found]:
        lines = [json.loads(line) for line in (self.out / "findings.jsonl").read_text().splitlines()]
        return ordered((f["kind"], f["partition"], f["source_offset"], f["count"]) for f in lines)


def submitted(
    lab: Lab,
    protection: Protection,
    job: str,
    out: Path,
    *more: str,
    master: str,
    settings: Mapping[str, str] | None = None,
    seconds: float = 1_500,
) -> SubmittedAudit:
    """Submit an audit of a group's flow as Airflow would: only the master says where it runs.

    :param job: ``checksum_audit`` or ``lag_audit``
    """
    argv = [str(Path(sys.executable).parent / "spark-submit"), "--master", master]
    argv += [each for name, value in (settings or {}).items() for each in ("--conf", f"{name}={value}")]
    argv += [str(_JOBS / f"{job}.py"), "--topology", str(topology_file(protection)), "--out", str(out)]
    argv += ["--flow", f"{protection.name}.east-to-west", *more]
    environ = os.environ | lab.spark_environ() | job_environ(protection)
    with PeakMemory() as memory, (out.parent / f"{out.name}.log").open("w+") as log:
        process = subprocess.Popen(argv, env=environ, stdout=log, stderr=subprocess.STDOUT)
        memory.watch(process.pid)
        code = process.wait(seconds)
        log.seek(0)
        said = log.read()
    return SubmittedAudit(code, out, said, memory.peak_gb)
