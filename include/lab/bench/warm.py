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
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

_INCLUDE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_INCLUDE), str(_INCLUDE.parent / "spark")]

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as f  # noqa: E402

from jobs.checksum.job import main as audit  # noqa: E402
from jobs.connections import JobConnections  # noqa: E402
from jobs.session import spark_session  # noqa: E402

#: What makes two records the same one: all that the audit compares, too. Offsets differ where transactions end.
CONTENT = ("topic", "partition", "key", "value", "headers", "timestamp")
_ONCE = ("join", "hash_join")


def run(wanted: dict[str, Any]) -> None:
    """Measure the seconds of each kind of work, one for each round; joins are measured once.

    What was measured is kept piece by piece, so that it is known how far a run came that did not end.
    """
    connections = JobConnections.read(os.environ)
    with spark_session("bench") as session:
        work: dict[str, Callable[[], object]] = {
            "count": lambda: [_records(session, connections, c, wanted["equal"]).count() for c in wanted["clusters"]],
            "audit": lambda: _audit(session, wanted, "equal", expected=0),
            "faulty": lambda: _audit(session, wanted, "faulty", expected=1),
            "join": lambda: _join(session, connections, wanted, alone),
            "hash_join": lambda: _join(session, connections, wanted, alone_by_hash),
        }
        seconds: dict[str, list[float]] = {name: [] for name in work}
        for number in range(wanted["rounds"] + 1):
            for name, do in work.items():
                if name in _ONCE and number < wanted["rounds"]:
                    continue  # one takes as long as all the rest
                began = time.monotonic()
                do()
                if number:  # the first round warms up
                    seconds[name].append(round(time.monotonic() - began, 3))
                _keep(Path(wanted["out"]), seconds)


def _keep(out: Path, seconds: dict[str, list[float]]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "seconds.json").write_text(json.dumps({"joined": CONTENT, "seconds": seconds}))


def _records(
    session: SparkSession, connections: JobConnections, cluster: str, topics: list[str], *, headers: bool = False
) -> DataFrame:
    """Read topics as one does who reads the manual of Spark's Kafka source."""
    options = {**connections.kafka(f"kafka_{cluster}_audit").spark(), "subscribe": ",".join(topics)}
    reader = session.read.format("kafka").options(**options, groupIdPrefix="dr-audit", startingOffsets="earliest")
    return reader.option("includeHeaders", headers).load()


def _audit(session: SparkSession, wanted: dict[str, Any], which: str, *, expected: int) -> None:
    @contextmanager
    def shared(_name: str) -> Iterator[SparkSession]:
        yield session

    arguments = ["--topology", wanted["topology"], "--flow", wanted["flow"], "--full"]
    arguments += ["--out", f"{wanted['out']}/{which}", "--topics", *wanted[which]]
    code = audit(arguments, os.environ, shared)
    if code != expected:
        raise SystemExit(f"the audit of the {which} topics ended with {code}, expected {expected}")


def alone(here: DataFrame, there: DataFrame) -> DataFrame:
    """Return what only one cluster has, found without fingerprints, by a join of the records themselves.

    Unlike the audit it takes two equal records for one, and sees no change of order.
    """
    same = [here[name].eqNullSafe(there[name]) for name in CONTENT]
    joined = here.join(there, reduce(and_, same), "full_outer")
    return joined.where(here["offset"].isNull() | there["offset"].isNull())


def alone_by_hash(here: DataFrame, there: DataFrame) -> DataFrame:
    """The same as one finds it who lets only a hash of each record travel."""
    names = ["topic", "partition", "hash", "offset"]
    one, other = (
        side.withColumn("hash", f.xxhash64(f.col("key").isNull(), f.col("value").isNull(), *CONTENT[2:])).select(names)
        for side in (here, there)
    )
    joined = one.join(other, names[:3], "full_outer")
    return joined.where(one["offset"].isNull() | other["offset"].isNull())


def _join(
    session: SparkSession,
    connections: JobConnections,
    wanted: dict[str, Any],
    join: Callable[[DataFrame, DataFrame], DataFrame],
) -> int:
    here, there = (
        _records(session, connections, cluster, wanted["equal"], headers=True) for cluster in wanted["clusters"]
    )
    return join(here, there).count()


if __name__ == "__main__":
    run(json.loads(sys.argv[1]))
