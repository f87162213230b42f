"""Conflicts: records of one key that two members of active-active use took before either had the other's.

By hand::

    KAFKA_DR_SECRETS_FILE=secrets.json spark-submit spark/jobs/conflict_audit.py \\
        --topology include/topology.yaml --block shop --out DIR [--full]

Writes ``report.json`` and ``findings/`` into the folder and, below the evidence root, what the next audit continues
from. Exit code 0: no conflict is certain; 1: some are; 2: unknown.
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

from jobs.conflicts.job import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
