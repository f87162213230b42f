"""Lag of one flow, and of the consumer groups that read its source.

By hand::

    KAFKA_DR_SECRETS_FILE=secrets.json spark-submit spark/jobs/lag_audit.py \\
        --topology include/topology.yaml --flow orders.east-to-west --out DIR

Writes ``report.json`` into the folder and, below the evidence root, what the next audit compares with and the result
that a failover asks for. Exit code 0: nothing is beyond its limit; 1: something is; 2: unknown.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SPARK = Path(__file__).resolve().parents[1]
# spark-submit puts this folder first on the path, where its modules would hide packages of the same name.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _SPARK / "jobs"]
sys.path[:0] = [str(_SPARK), str(_SPARK.parent / "include")]

from jobs.import_guard import lean  # noqa: E402

lean()

from jobs.session import session_begun  # noqa: E402

if __name__ == "__main__":
    with session_begun("lag audit", sys.argv[1:]) as sessions:
        # What it takes to import all this is done while Spark starts.
        from jobs.lag.job import main

        code = main(sys.argv[1:], os.environ, sessions)
    sys.exit(code)
