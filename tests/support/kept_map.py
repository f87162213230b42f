"""The offset map that a checksum audit leaves, without an audit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.clusters import TopicPartition
from support.protection import Protection


def keep_map(folder: Path, protection: Protection, runs: Mapping[TopicPartition, Iterable[OffsetRun]]) -> None:
    """Leave what a checksum audit leaves that matched these records."""
    ids = {}
    for cluster in ("east", "west"):
        with protection.cluster(cluster, "admin") as admin:
            ids[cluster] = admin.topics.describe([protection.topic])[protection.topic].topic_id
    rows = [
        {
            "epoch": 1,
            "source_topic_id": ids["east"],
            "target_topic_id": ids["west"],
            "topic": p.topic,
            "partition": p.partition,
            "source_start": run.source,
            "target_start": run.target,
            "length": run.length,
        }
        for p, found in runs.items()
        for run in found
    ]
    (folder / "map").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / "map" / "one.parquet")
    (folder / "state.json").write_text(json.dumps({"identity": ["e", "w", 1], "maps": ["one"], "partitions": []}))
