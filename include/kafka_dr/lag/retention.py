"""How long the source still keeps what was not copied.

Kafka deletes whole segments, the oldest first, when their newest record is older than ``retention.ms``, or while the
log without them is still ``retention.bytes`` long. The answer is the earliest moment at which that may happen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kafka_dr.lag.unread import Unread
from kafka_dr.lag.verdict import Sample


@dataclass(frozen=True, slots=True)
class Retention:
    """When the source deletes records of a topic by age or size.

    :param seconds: how old they may become; ``None`` for no limit
    :param size: how many bytes a partition may hold; ``None`` for no limit
    """

    seconds: float | None = None
    size: int | None = None

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Retention:
        """Read it from a topic's effective configuration; compaction alone deletes nothing by age or size."""
        if "delete" not in config.get("cleanup.policy", "delete").replace(" ", "").split(","):
            return cls()
        age, size = int(config.get("retention.ms", -1)), int(config.get("retention.bytes", -1))
        return cls(seconds=age / 1000 if age >= 0 else None, size=size if size >= 0 else None)


def headroom_seconds(
    retention: Retention, unread: Unread, *, now: datetime, samples: Sequence[Sample] = ()
) -> float | None:
    """Return for how many seconds the source keeps what is not copied yet, at least.

    :param unread: what the flow has not copied
    :param samples: looks at the flow, oldest first: how fast the log grows
    :returns: ``None`` if nothing will be deleted, or the time is not known
    """
    found = [
        each for each in (_by_age(retention, unread, now), _by_size(retention, unread, samples)) if each is not None
    ]
    return round(max(min(found), 0.0), 1) if found else None


def _by_age(retention: Retention, unread: Unread, now: datetime) -> float | None:
    if retention.seconds is None:
        return None
    if unread.first_timestamp_ms is None:
        return retention.seconds
    return unread.first_timestamp_ms / 1000 + retention.seconds - now.timestamp()


def _by_size(retention: Retention, unread: Unread, samples: Sequence[Sample]) -> float | None:
    """Bytes are counted as they are read, uncompressed: the log on disk has more room than that."""
    if retention.size is None or not unread.records or len(samples) < 2:
        return None
    first, last = samples[0], samples[-1]
    passed = (last.at - first.at).total_seconds()
    growth = (last.end - first.end) * unread.size / unread.records / passed if passed > 0 else 0.0
    return (retention.size - unread.size) / growth if growth > 0 else None
