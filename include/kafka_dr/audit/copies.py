"""What a copy is: the one rule for all who compare records of two clusters.

A copy has the key, the value and the headers of its original, and its time too, unless the broker that holds the copy
stamped it (``message.timestamp.type=LogAppendTime``): then the time that the original bears is not there any more, and
says nothing. Who stamped a record is written in the record's own batch, so a topic whose setting changed midway is
judged record by record. Where only hashes of whole topics are compared, :func:`times_count` says what goes into them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from struct import pack
from typing import NamedTuple

from kafka_dr.audit.fingerprint import SIZE, fingerprint

#: The topic setting that decides who stamps records, and the value by which the broker does.
_STAMPING, _BY_BROKER = "message.timestamp.type", "LogAppendTime"


class Entry(NamedTuple):
    """A record in a log, as it is compared.

    :param content: the fingerprint of all of it
    :param timeless: the fingerprint of all but its time; only looked at where a broker stamped one of two records
    :param stamped: whether the broker that holds it gave it its time
    """

    offset: int
    content: bytes
    timeless: bytes = b""
    stamped: bool = False

    @classmethod
    def of(
        cls,
        offset: int,
        *,
        timestamp_ms: int,
        stamped: bool,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> Entry:
        """Return a record as it is compared."""
        timeless = fingerprint(timestamp_ms=None, key=key, value=value, headers=headers)
        content = blake2b(pack(">q", timestamp_ms) + timeless, digest_size=SIZE).digest()
        return cls(offset, content, timeless, stamped)


def is_copy(original: Entry, copy: Entry) -> bool:
    """Return whether a record of the target is a copy of one of the source."""
    return original.timeless == copy.timeless if copy.stamped else original.content == copy.content


def comparable(here: Sequence[Entry], there: Sequence[Entry]) -> tuple[Sequence[Entry], Sequence[Entry]]:
    """Return two stretches so that records are each other's copy, in either direction, if their contents are equal.

    For stretches in which replication may have run both ways, so that nobody knows which side holds the copies. Where
    a broker stamped some of it, times are left out of all: then fewer records can be told from one another, and none
    is taken for another one that differs in anything else.
    """
    if not any(entry.stamped for entry in here) and not any(entry.stamped for entry in there):
        return here, there
    return [_without_time(entry) for entry in here], [_without_time(entry) for entry in there]


def times_count(*, source_stamps: bool, target_stamps: bool, turned: bool) -> bool:
    """Return whether the times of a topic's records can be compared, as a whole.

    :param source_stamps: whether the source's broker stamps records of this topic, or stamped some that it holds
    :param target_stamps: the same of the target
    :param turned: whether replication ran the other way before, so that the source may hold copies, too
    """
    return not target_stamps and not (source_stamps and turned)


def stamped_topics(configs: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    """Return the topics whose records the broker stamps, now; what was written before such a change keeps its time.

    :param configs: settings by topic, as the cluster that holds them says
    """
    return frozenset(topic for topic, config in configs.items() if config.get(_STAMPING) == _BY_BROKER)


def times_lost(cluster: str, topics: Iterable[str]) -> str:
    """Say once, for all topics of which a cluster stamps or stamped records, what that costs; nothing for none."""
    named = sorted(topics)
    if not named:
        return ""
    shown = ", ".join(named[:3]) + (f" and {len(named) - 3} more topics" if len(named) > 3 else "")
    return (
        f"{cluster} gives records of {shown} its own time (message.timestamp.type=LogAppendTime): when they were made "
        "is lost there and is not compared, all else is"
    )


def _without_time(entry: Entry) -> Entry:
    return Entry(entry.offset, entry.timeless, entry.timeless, stamped=True)
