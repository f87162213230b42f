"""Whether audits could run here: a session starts, finds the Kafka source on its class path, and counts.

    spark-submit spark/jobs/set_up_trial.py

It reads no cluster. Exit codes: 0 they could; 2 they could not, and the last line says why.
"""

from __future__ import annotations

import sys
from pathlib import Path

_SPARK = Path(__file__).resolve().parents[1]
# spark-submit puts this folder first on the path, where its modules would hide packages of the same name.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _SPARK / "jobs"]
sys.path[:0] = [str(_SPARK), str(_SPARK.parent / "include")]

from jobs.session import exit_code, spark_session  # noqa: E402


def main() -> int:
    """Start a session, and use it."""
    with spark_session("trial of a set-up") as session:
        # Loading it asks no broker: the source is only looked for.
        session.read.format("kafka").option("kafka.bootstrap.servers", "unused:1").option("subscribe", "unused").load()
        session.range(1000).count()
    print("Spark started, knows the Kafka source and has counted")
    return 0


if __name__ == "__main__":
    sys.exit(exit_code(main))
