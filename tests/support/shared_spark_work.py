"""What ``spark-submit`` runs in a test of shared applications: audits that only compute something with Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_ROOT / "spark"), str(_ROOT / "include")]

from jobs.session import Sessions  # noqa: E402
from jobs.shared.job import main  # noqa: E402


def work(command: Sequence[str], sessions: Sessions) -> int:
    """Count with Spark; what the flow is called says how well that goes."""
    flow = command[command.index("--flow") + 1]
    with sessions(flow) as session:
        # A session of its own: what one audit sets, no other sees.
        assert session.conf.get("spark.sql.shuffle.partitions") != "7"
        session.conf.set("spark.sql.shuffle.partitions", "7")
        application = session.sparkContext.applicationId
        if flow == "endless":
            # Every core is busy until somebody cancels these tasks.
            session.range(0, 10**15, numPartitions=8).selectExpr("sum(id % 7)").collect()
        if flow == "wrong":
            session.sql("select nothing from nowhere").collect()
        counted = session.range(1000).count() + len(session.createDataFrame([(1,), (2,)], "x int").toArrow())
    sys.stdout.write(f"equal: {counted} in {application}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ, {"checksum": work, "lag": work}))
