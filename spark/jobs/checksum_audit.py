"""Proof that the copy of a flow is the original, record by record, to the exact offset.

By hand::

    KAFKA_DR_SECRETS_FILE=secrets.json spark-submit spark/jobs/checksum_audit.py \\
        --topology include/topology.yaml --flow orders.east-to-west --out DIR [--full]

Writes ``report.json``, ``findings.jsonl``, ``findings/``, ``digests/`` and ``offset_map/`` into the folder and, below
the evidence root, the fingerprint log and what the next audit continues from. It prints the command that records it
with its digest: only a recorded audit counts for a failover. Exit code 0: equal; 1: findings; 2: unknown.
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
    with session_begun("checksum audit", sys.argv[1:]) as sessions:
        # What it takes to import all this is done while Spark starts.
        from jobs.checksum.job import main

        code = main(sys.argv[1:], os.environ, sessions)
    sys.exit(code)
