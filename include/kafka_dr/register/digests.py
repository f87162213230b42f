"""The register's second topic: digests of files that are replaced every few minutes, and that others may write, too.

Topic ``_kafka_dr.digests`` on every cluster, compacted. Key: a path below the evidence root; value: the SHA-256 that
the file may have, and when that was recorded. The register itself keeps each former record for a week: with a digest
every minute for each of hundreds of groups, reading it would take seconds. In this topic only the newest digest of a
path counts, and former ones are compacted within hours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Any

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.errors import NotFound
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.register.topic_settings import settings, unlike
from kafka_dr.waiting import wait_until

DIGESTS_TOPIC = "_kafka_dr.digests"
_PARTITION = TopicPartition(DIGESTS_TOPIC, 0)
#: How long brokers may take to know of a topic that was created, in seconds.
_KNOWN_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class RecordedDigest:
    """What a file may hold.

    :param sha256: of its whole content, in hex; the newest first. A former one stays until the file is replaced
    :param at: when the newest was recorded, as text
    """

    sha256: tuple[str, ...]
    at: str


class KafkaDigests:
    """The digests that one cluster keeps.

    :param cluster: reached as the operator
    """

    def __init__(self, cluster: KafkaCluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._lock = Lock()
        self._known: dict[str, RecordedDigest] = {}
        self._read_to: int | None = None
        self._exists = False

    def read(self) -> Mapping[str, RecordedDigest]:
        """Return the newest digest of every path. What is no digest of this project is not believed, and left out.

        :raises ClusterError: the cluster does not answer, or refuses
        """
        with self._lock:
            try:
                end = self._cluster.topics.high_watermarks([_PARTITION])[_PARTITION]
            except NotFound:
                self._known, self._read_to = {}, None
                return {}
            start = self._read_to
            if start is None or end < start:
                self._known, start = {}, self._cluster.topics.log_starts([_PARTITION])[_PARTITION]
            self._read_to = None
            for record in self._cluster.log.read({_PARTITION: OffsetRange(start, end)}):
                self._take(record.key, record.value)
            self._read_to = end
            return dict(self._known)

    def write(self, path: str, digest: RecordedDigest | None) -> None:
        """Record the digest of a path; ``None``: no file with this path counts any more.

        :raises ClusterError: it was not written
        """
        self._create()
        value = None if digest is None else {"sha256": list(digest.sha256), "at": digest.at}
        content = None if value is None else json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        self._cluster.writing.append([NewRecord(_PARTITION, path.encode(), content)], idempotent=False)

    def correct_topic(self) -> dict[str, str]:
        """Set what the topic, if it exists, does not have as it should, and return what was set."""
        layout = self._cluster.configs.overview().topics.get(DIGESTS_TOPIC)
        if layout is None:
            return {}
        found = self._cluster.topics.configs([DIGESTS_TOPIC])[DIGESTS_TOPIC]
        wrong = unlike(found, replicas=layout.replication_factor, digests=True)
        wanted = {key: value for key, (_, value) in wrong.items()}
        if wanted and (errors := self._cluster.configs.set({DIGESTS_TOPIC: wanted})):
            raise errors[DIGESTS_TOPIC]
        return wanted

    def _take(self, key: bytes | None, value: bytes | None) -> None:
        path = (key or b"").decode(errors="replace")
        found = None if value is None else _digest(value)
        if found is None:
            self._known.pop(path, None)
        else:
            self._known[path] = found

    def _create(self) -> None:
        """Create the topic unless it exists: brokers that create topics by themselves would let its records expire."""
        if self._exists:
            return
        if DIGESTS_TOPIC not in self._cluster.topics.names():
            replicas = min(3, self._cluster.configs.overview().brokers)
            config = settings(replicas=replicas, digests=True)
            self._cluster.topics.create(DIGESTS_TOPIC, partitions=1, replication_factor=replicas, config=config)
            wait_until(
                lambda: DIGESTS_TOPIC in self._cluster.topics.names(),
                bool,
                clock=self._clock,
                seconds=_KNOWN_SECONDS,
                pause_seconds=0.1,
            )
        self._exists = True


def recorded(sha256: str, *, at: datetime, before: RecordedDigest | None, held: str) -> RecordedDigest:
    """Return the digest of a path whose file is about to be replaced. Until it is, the file that is there counts.

    :param before: what is recorded now
    :param held: the digest of the file that is there now; empty if there is none
    """
    still_good = [each for each in (before.sha256 if before else ()) if each == held != sha256]
    return RecordedDigest((sha256, *still_good), at.isoformat(timespec="seconds"))


def _digest(value: bytes) -> RecordedDigest | None:
    try:
        found: Any = json.loads(value)
        return RecordedDigest(tuple(str(each) for each in found["sha256"]), str(found["at"]))
    except (ValueError, LookupError, TypeError):
        return None
