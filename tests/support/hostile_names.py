"""Names that look like secrets, which a cluster may hold: every one of them is data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kafka_dr.clusters import TopicPartition
from support.protection import Protection

_GROUPS = (
    "{}-token",
    "{}-secret",
    "{}-x.password",
    '{}-password="hunter2"',
    "{}-sasl.jaas.config",
    "{}-a/b#0\n| c | <b>\u00e9",
    "{}------BEGIN PRIVATE KEY-----",
)
_TOPICS = ("{}.authorization", "{}.client_secret")


def groups(protection: Protection) -> list[str]:
    """Return consumer groups of a protection group that are called like secrets."""
    return [each.format(protection.name) for each in _GROUPS]


def topics(protection: Protection) -> list[str]:
    """Return topics of a protection group that are called like secrets."""
    return [each.format(protection.name) for each in _TOPICS]


def make_topics(protection: Protection) -> None:
    """Create the topics on both clusters."""
    for cluster in ("east", "west"):
        with protection.cluster(cluster, "admin") as admin:
            for topic in topics(protection):
                admin.topics.create(topic, partitions=1, replication_factor=1, config={})


def fill(protection: Protection, cluster: str) -> None:
    """Write to the topics, and let the groups commit there and in the topic of payments."""
    for topic in topics(protection):
        protection.produce(cluster, 12, topic=topic, partitions=1)
    for number, group in enumerate(groups(protection)):
        commit(protection, cluster, group, number + 1)


def commit(protection: Protection, cluster: str, group: str, offset: int) -> None:
    """Commit a group's offset in each of the topics."""
    places = {TopicPartition(topic, 0): offset for topic in (protection.topic, *topics(protection))}
    protection.commit(cluster, group, places)


def names_that_are_keys(protection: Protection, run: str, *, journal: dict[str, Any]) -> set[str]:
    """Return which of the names are keys in the evidence of a run, in what it journaled, or in what is kept."""
    kept = [json.loads(path.read_text()) for path in (protection.folder / "evidence" / "runs").rglob(f"{run}/*.json")]
    kept += [json.loads(path.read_text()) for path in (protection.folder / "evidence" / "last_looks").rglob("*.json")]
    assert kept
    wanted = {*groups(protection), *topics(protection)}
    return wanted & {key for document in (*kept, journal) for key in _keys(document)}


def all_evidence(folder: Path) -> str:
    """Return everything that is kept below an evidence root, pages among it."""
    return "\n".join(path.read_text("utf-8") for path in folder.rglob("*") if path.suffix in (".json", ".html"))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)
