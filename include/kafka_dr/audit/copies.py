"""What a copy is: the one rule for everything that compares records of two clusters.

A copy has the key, the value, the headers and the timestamp of its original. There are two exceptions. If the broker
that holds the copy stamped it (``message.timestamp.type=LogAppendTime``), the original timestamp is gone and not
compared. If the original has no timestamp (-1 in Kafka's format), Connect gives its copy one, which is not compared.
A record's own batch says whether its broker stamped it: a topic whose setting was changed is judged record by record.
Where only hashes of whole topics are compared, :func:`times_count` says whether timestamps are part of them; of a range
of which each record has one number, :func:`are_timeless` says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from struct import pack
from typing import NamedTuple, Protocol

#: The topic setting that decides who stamps records, and the value by which the broker does.
STAMPING, _BY_BROKER = "message.timestamp.type", "LogAppendTime"
#: Kafka's number for a record without a timestamp.
NO_TIMESTAMP = -1
_NOT_COMPARED = "timestamps of these topics are not compared, everything else is"
#: Bytes of a fingerprint. The probability that two different records share one is 2**-128.
SIZE = 16
_NULL = pack(">i", -1)


class Dated(Protocol):
    """What is known of a record's time."""

    @property
    def stamped(self) -> bool:
        """Whether the broker that holds the record set its timestamp."""

    @property
    def untimed(self) -> bool:
        """Whether the record has no timestamp."""


class Entry(NamedTuple):
    """A record in a log, as it is compared.

    :param content: the fingerprint of the whole record
    :param timeless: the fingerprint without the timestamp; compared only if a broker stamped one of the two records
    :param stamped: whether the broker that holds the record set its timestamp
    :param untimed: whether the record has no timestamp: Connect gives its copy the time of the copying
    """

    offset: int
    content: bytes
    timeless: bytes = b""
    stamped: bool = False
    untimed: bool = False

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
        return cls(offset, content, timeless, stamped, timestamp_ms == NO_TIMESTAMP)


def is_copy(original: Entry, copy: Entry) -> bool:
    """Return whether a record of the target is a copy of one of the source."""
    if copy.stamped or original.untimed:
        return original.timeless == copy.timeless
    return original.content == copy.content


def are_timeless(originals: Iterable[Dated], copies: Iterable[Dated]) -> bool:
    """Return whether timestamps of two ranges cannot be compared as a whole, because of any record of them."""
    return any(each.untimed for each in originals) or any(each.stamped for each in copies)


def comparable(one: Sequence[Entry], other: Sequence[Entry]) -> tuple[Sequence[Entry], Sequence[Entry]]:
    """Return two ranges in a form in which records with equal content are copies of each other, in either direction.

    For ranges in which replication may have run in both directions, so that it is not known which cluster holds the
    copies. If a broker stamped any record of them, or one has no timestamp, all timestamps are left out. Two records
    that differ in anything but their timestamps are still never taken for the same one.
    """
    if not are_timeless(one, other) and not are_timeless(other, one):
        return one, other
    timeless = [[Entry(e.offset, e.timeless, e.timeless, stamped=True) for e in entries] for entries in (one, other)]
    return timeless[0], timeless[1]


def times_count(
    *, source_stamps: bool, target_stamps: bool, turned: bool, source_lacks: bool = False, target_lacks: bool = False
) -> bool:
    """Return whether the timestamps of a topic's records can be compared.

    :param source_stamps: whether the source's broker stamps records of this topic, or stamped some that it holds
    :param target_stamps: whether the target's broker does, or did
    :param turned: whether replication ran in the other direction before, so that the source may hold copies, too
    :param source_lacks: whether the source holds a record without a timestamp
    :param target_lacks: whether the target holds one
    """
    return not (target_stamps or source_lacks) and not ((source_stamps or target_lacks) and turned)


def stamped_topics(configs: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    """Return the topics whose records the broker stamps now; records from before such a change keep their timestamps.

    :param configs: settings by topic, as the cluster returns them
    """
    return frozenset(topic for topic, config in configs.items() if config.get(STAMPING) == _BY_BROKER)


def times_lost(cluster: str, topics: Iterable[str]) -> str:
    """Say once, for all topics of which a cluster stamps or stamped records, what is not compared; empty for none."""
    named = sorted(topics)
    if not named:
        return ""
    return f"{cluster} replaces the timestamps of {_first_few(named)} ({STAMPING}={_BY_BROKER}): {_NOT_COMPARED}"


def times_missing(topics: Iterable[str]) -> str:
    """Say once, for all topics that hold records without a timestamp, what is not compared; empty for none."""
    named = sorted(topics)
    if not named:
        return ""
    return f"records of {_first_few(named)} have no timestamp, or had none in an earlier audit: {_NOT_COMPARED}"


def fingerprint(
    *,
    timestamp_ms: int | None,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]] = (),
) -> bytes:
    """Return the fingerprint of a record's timestamp, key, value and headers in their order.

    Each part carries its length, and null has a length of its own, so that the end of each part is unambiguous.

    :param timestamp_ms: ``None`` leaves the time out
    """
    digest = blake2b(b"" if timestamp_ms is None else pack(">q", timestamp_ms), digest_size=SIZE)
    digest.update(_part(key))
    digest.update(_part(value))
    for name, content in headers:
        digest.update(_part(name.encode()))
        digest.update(_part(content))
    return digest.digest()


def _first_few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more topics" if len(names) > 3 else "")


def _part(content: bytes | None) -> bytes:
    return _NULL if content is None else pack(">i", len(content)) + content
