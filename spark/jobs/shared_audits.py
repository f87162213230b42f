"""The audits of many flows, checksum and lag, in one Spark application.

By hand::

    KAFKA_DR_SECRETS_FILE=secrets.json spark-submit spark/jobs/shared_audits.py \\
        --topology include/topology.yaml --requests requests.json

``requests.json`` lists the audits; each has the options of ``checksum_audit.py`` or ``lag_audit.py``, a deadline, and a
file that says how it ended. Exit code 0: every audit has a result, whatever it says; 2: nothing was run.
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

from jobs.shared.job import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
