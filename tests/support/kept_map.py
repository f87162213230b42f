"""The offset map that a checksum audit leaves, without an audit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from kafka_dr.audit.kept_map import MapKey, to_lines
from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.clusters import TopicPartition
from support.protection import Protection


def keep_map(folder: Path, protection: Protection, runs: Mapping[TopicPartition, Iterable[OffsetRun]]) -> None:
    """Leave what a checksum audit leaves that matched these records."""
    ids = {}
    for cluster in ("east", "west"):
        with protection.cluster(cluster, "admin") as admin:
            ids[cluster] = admin.topics.describe([protection.topic])[protection.topic].topic_id
    kept = {MapKey(1, ids["east"], ids["west"], p.topic, p.partition): list(found) for p, found in runs.items()}
    (folder / "map").mkdir(parents=True)
    (folder / "map" / "one.jsonl").write_bytes(to_lines(kept))
    (folder / "state.json").write_text(json.dumps({"identity": ["e", "w", 1], "maps": ["one"], "partitions": []}))
