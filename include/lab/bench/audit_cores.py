"""The checksum audit on a Spark cluster with one core, two, and so on: the same job, and how fast it reads."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from lab import credentials
from lab.api import Lab
from lab.bench import logs
from lab.clusters import EAST, WEST
from lab.errors import LabError
from lab.spark_cluster import WORKER_CORES, WORKERS
from lab.submitted import audit_argv, audit_environ, done

FLOW = "orders.east-to-west"
_MOST = len(WORKERS) * WORKER_CORES


def numbers(text: str | None) -> tuple[int, ...]:
    """Return the numbers of cores that an option names; none where it was left out.

    :raises LabError: one is not a number, or the cluster does not have so many
    """
    try:
        found = tuple(int(each) for each in text.split(",")) if text is not None else ()
    except ValueError:
        raise LabError(f"--cores is {text!r}: write numbers with commas between them, for example 1,2") from None
    if wrong := [each for each in found if not 1 <= each <= _MOST]:
        raise LabError(f"--cores names {wrong[0]}: the Spark cluster of a lab has 1 to {_MOST}")
    return found


def measure(lab: Lab, records: int, cores: Sequence[int], console: Console) -> dict[str, Any]:
    """Write the logs, audit all of the equal ones once with each number of cores, and return the report.

    :param records: of 200 B on each cluster
    :raises LabError: a log could not be written, or an audit did not find the copies equal
    """
    shapes = tuple(shape for shape in logs.shapes(records) if not shape.faults)
    names = [EAST.name, WEST.name]
    logs.write({name: lab.client_settings(name, credentials.ADMIN) for name in names}, shapes)
    environ, topics = audit_environ(lab), [shape.topic for shape in shapes]
    found: dict[str, Any] = {}
    for number in cores:
        out = lab.home.root / "spark" / "bench" / f"cores-{number}"
        # An executor of the cluster has one core.
        argv = audit_argv(
            lab, "--flow", FLOW, "--out", str(out), "--full", "--topics", *topics, conf={"spark.cores.max": str(number)}
        )
        began = time.monotonic()
        done(argv, environ, expected=(0,))
        found[str(number)] = throughput(json.loads((out / "report.json").read_text()), time.monotonic() - began)
        console.print(
            f"{number} cores: {found[str(number)]['records_per_second']} records a second while it reads, "
            f"{found[str(number)]['seconds']} s in all"
        )
    return {"cores": found, "machine": {"processors": os.cpu_count()}}


def throughput(report: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Return how fast an audit was.

    :param report: the audit's own
    :param seconds: from the start of its process to its end
    """
    scan = float(report["seconds"]["scan"])
    return {
        "records": report["records_read"],
        "scan_seconds": round(scan, 2),
        "records_per_second": round(report["records_read"] / scan),
        "seconds": round(seconds, 2),
        "laps": dict(report["seconds"]),
    }
