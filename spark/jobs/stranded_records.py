"""The records that the old cluster holds after an unplanned failover, and that were never copied.

By hand, once that cluster is back and fenced::

    KAFKA_DR_SECRETS_FILE=secrets.json spark-submit spark/jobs/stranded_records.py \\
        --topology include/topology.yaml --group orders

Of several clusters that may hold some, ``--cluster`` names one. Writes ``summary.json`` and the records as Parquet
below ``stranded/<group>/<run>/`` of the evidence root. Exit code 0: nothing is stranded; 1: there are stranded records,
and they are kept; 2: unknown.
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

from jobs.stranded.job import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
