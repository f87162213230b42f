"""What one Spark session does again and again, so that nothing of its start is counted. Run by ``spark-submit``.

Count, audit and join take turns over the same topics, so that what else the machine does meets all of them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_INCLUDE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_INCLUDE), str(_INCLUDE.parent / "spark")]

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as f  # noqa: E402

from jobs.checksum import main as audit  # noqa: E402
from jobs.connections import Connections  # noqa: E402
from jobs.session import spark_session  # noqa: E402

ROUNDS = 3


def run(wanted: dict[str, Any]) -> dict[str, list[float]]:
    """Measure, and return the seconds of each kind of work, one for each round."""
    connections = Connections.read(os.environ)
    with spark_session("bench") as session:
        work: dict[str, Callable[[], object]] = {
            "count": lambda: [_records(session, connections, c, wanted["equal"]).count() for c in wanted["clusters"]],
            "audit": lambda: _audit(session, wanted, "equal", expected=0),
            "faulty": lambda: _audit(session, wanted, "faulty", expected=1),
            "join": lambda: _join(session, connections, wanted),
        }
        seconds: dict[str, list[float]] = {name: [] for name in work}
        for number in range(ROUNDS + 1):
            for name, do in work.items():
                if name == "join" and number < ROUNDS:
                    continue  # one takes as long as all the rest
                began = time.monotonic()
                do()
                if number:  # the first round warms up
                    seconds[name].append(round(time.monotonic() - began, 3))
        return seconds


def _records(session: SparkSession, connections: Connections, cluster: str, topics: list[str]) -> DataFrame:
    """Read topics as one does who reads the manual of Spark's Kafka source."""
    options = {**connections.kafka(f"kafka_{cluster}_audit").spark(), "subscribe": ",".join(topics)}
    reader = session.read.format("kafka").options(**options, groupIdPrefix="dr-audit", startingOffsets="earliest")
    return reader.load()


def _audit(session: SparkSession, wanted: dict[str, Any], which: str, *, expected: int) -> None:
    @contextmanager
    def shared(_name: str) -> Iterator[SparkSession]:
        yield session

    arguments = ["--topology", wanted["topology"], "--flow", wanted["flow"], "--full"]
    arguments += ["--out", f"{wanted['out']}/{which}", "--topics", *wanted[which]]
    code = audit(arguments, os.environ, shared)
    if code != expected:
        raise SystemExit(f"the audit of the {which} topics ended with {code}, expected {expected}")


def _join(session: SparkSession, connections: Connections, wanted: dict[str, Any]) -> int:
    """Find what one side alone has as one does who has no fingerprints: by joining the records themselves."""
    content = ["topic", "partition", "key", "value", "timestamp"]
    here, there = (
        _records(session, connections, cluster, wanted["equal"]).select(*content, f.col("offset").alias(cluster))
        for cluster in wanted["clusters"]
    )
    alone = [f.col(cluster).isNull() for cluster in wanted["clusters"]]
    return here.join(there, content, "full_outer").where(alone[0] | alone[1]).count()


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    Path(asked["out"]).mkdir(parents=True, exist_ok=True)
    Path(asked["out"], "seconds.json").write_text(json.dumps(run(asked)))
