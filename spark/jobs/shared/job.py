"""Many audits in one application: arguments, what runs each audit, exit code."""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from jobs.checksum.job import main as checksum_main
from jobs.lag.job import main as lag_main
from jobs.session import exit_code
from jobs.shared.application import START_SECONDS, SharedApplication
from jobs.shared.audit_process import RunJob
from jobs.shared.joined_session import GATEWAY_PORT
from jobs.shared.requests import AuditEnded, AuditJob, SharedRequests
from kafka_dr.clock import Clock, SystemClock
from kafka_dr.errors import Refused

JOBS: Mapping[AuditJob, RunJob] = {
    "checksum": lambda command, sessions: checksum_main(command, os.environ, sessions),
    "lag": lambda command, sessions: lag_main(command, os.environ, sessions),
}


def main(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    jobs: Mapping[AuditJob, RunJob] = JOBS,
    clock: Clock | None = None,
) -> int:
    """Run all audits that a file asks for.

    :param jobs: what runs an audit, by its name
    :returns: 0 if every audit has a result, whatever it says; 2 if nothing was run
    """
    parser = argparse.ArgumentParser(prog="shared_audits.py", description="Audit many flows in one application.")
    parser.add_argument("--topology", required=True, type=Path, help="the topology file")
    parser.add_argument("--requests", required=True, type=Path, help="a JSON file that lists the audits")
    parser.add_argument("--start-seconds", type=float, default=START_SECONDS, help="for Spark's start (%(default)g)")
    parsed = parser.parse_args(arguments)
    return exit_code(lambda: _run(parsed, environ, jobs, clock or SystemClock()))


def _run(parsed: argparse.Namespace, environ: Mapping[str, str], jobs: Mapping[AuditJob, RunJob], clock: Clock) -> int:
    if GATEWAY_PORT not in environ:
        raise Refused("the audits find Spark by what spark-submit leaves in the environment: start this with it")
    asked = SharedRequests.read(parsed.requests)
    gc.freeze()  # what is imported is shared by all processes as long as nothing counts its references
    SharedApplication(jobs, parsed.topology, clock, parsed.start_seconds).run(asked)
    for request in asked.requests:
        ended = AuditEnded.read(request.ended)
        print(f"{request.name}: {ended.code if ended else 2}: {ended.said if ended else 'no result'}")
    return 0
