"""Offset syncs of MirrorMaker 2, as bytes.

::

    key    topic STRING, partition INT32
    value  upstream INT64, downstream INT64

All numbers are big endian; STRING is an INT16 length and that many bytes of UTF-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import error as StructError
from struct import unpack_from

from kafka_dr.errors import KafkaDrError
from kafka_dr.positions import OffsetPair, TopicPartition


class Undecodable(KafkaDrError):
    """The bytes are no offset sync of MirrorMaker 2."""


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """One record that was copied, and the offsets *of* it on both clusters."""

    topic_partition: TopicPartition
    pair: OffsetPair


def sync_topic(source: str) -> str:
    """Return the topic, on the target, with the offset syncs of a flow that reads ``source``."""
    return f"mm2-offset-syncs.{source}.internal"


def decode_sync(key: bytes | None, value: bytes | None) -> OffsetSync | None:
    """Decode an offset sync.

    :returns: ``None`` for a tombstone
    :raises Undecodable: it is no offset sync
    """
    if value is None:
        return None
    fields = _Fields(key, "the key of an offset sync")
    partition = TopicPartition(fields.string(), fields.number(">i"))
    fields.end()
    fields = _Fields(value, "an offset sync")
    sync = OffsetSync(partition, OffsetPair(fields.number(">q"), fields.number(">q")))
    fields.end()
    return sync


class _Fields:
    """Reads one field after the other."""

    def __init__(self, content: bytes | None, what: str) -> None:
        if content is None:
            raise Undecodable(f"{what} is missing")
        self._content = content
        self._what = what
        self._at = 0

    def number(self, layout: str) -> int:
        """Read a signed number."""
        try:
            (value,) = unpack_from(layout, self._content, self._at)
        except StructError as error:
            raise Undecodable(f"{self._what} ends after {len(self._content)} bytes: {self._shown()}") from error
        self._at += {">h": 2, ">i": 4, ">q": 8}[layout]
        return int(value)

    def string(self) -> str:
        """Read a text; MirrorMaker has no null texts."""
        length = self.number(">h")
        content = self._content[self._at : self._at + length]
        if length < 0 or len(content) < length:
            raise Undecodable(f"{self._what} holds a text of length {length}: {self._shown()}")
        self._at += length
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise Undecodable(f"{self._what} holds a text that is not UTF-8: {self._shown()}") from error

    def end(self) -> None:
        """Refuse bytes that are left over."""
        if self._at != len(self._content):
            raise Undecodable(f"{self._what} has {len(self._content) - self._at} bytes too many: {self._shown()}")

    def _shown(self) -> str:
        return self._content[:40].hex()
