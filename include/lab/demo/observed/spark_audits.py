"""Spark's audits of an observed flow, as somebody runs them by hand: one application, two reports."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.api import Lab
from lab.demo.observed.observer import FLOW, ObserverFiles
from lab.errors import LabError
from lab.layout import PROJECT
from lab.submitted import done, spark_submit

SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class SparkAudits:
    """What they found.

    :param findings: of the checksum audit, a row for each run of records
    """

    checksum: Mapping[str, Any]
    findings: tuple[Mapping[str, Any], ...]
    lag: Mapping[str, Any]


def audit_by_spark(lab: Lab, files: ObserverFiles) -> SparkAudits:
    """Audit the flow.

    :raises LabError: an audit has no report
    """
    out = {audit: files.folder / audit for audit in ("checksum", "lag")}
    with tempfile.TemporaryDirectory(prefix="kafka-dr-audits-") as folder:
        requests = Path(folder) / "requests.json"
        requests.write_text(
            json.dumps(
                {
                    # One after the other: the lag audit continues from where the checksum audit ended.
                    "side_by_side": 1,
                    "requests": [
                        {
                            "audit": audit,
                            "flow": files.flow_name,
                            "deadline_seconds": SECONDS,
                            "ended": str(Path(folder) / f"{audit}.json"),
                            "arguments": ["--out", str(path)],
                        }
                        for audit, path in out.items()
                    ],
                }
            )
        )
        environ = os.environ | lab.spark_environ() | {"KAFKA_DR_SECRETS_FILE": str(files.secrets)}
        job = PROJECT / "spark" / "jobs" / "shared_audits.py"
        argv = [str(spark_submit()), str(job), "--topology", str(files.topology), "--requests", str(requests)]
        done(argv, environ, expected=(0,), seconds=SECONDS)
        ended = {audit: json.loads((Path(folder) / f"{audit}.json").read_text()) for audit in out}
    for audit, said in ended.items():
        if said["code"] not in (0, 1):
            raise LabError(f"the {audit} audit of {FLOW} is unknown: {said['said']}")
    lines = (out["checksum"] / "findings.jsonl").read_text().splitlines()
    reports = {audit: json.loads((path / "report.json").read_text()) for audit, path in out.items()}
    return SparkAudits(reports["checksum"], tuple(map(json.loads, lines)), reports["lag"])
