"""A canary record: its content, its format in Kafka, and the number of the next one.

Kafka alone holds the state. The sender first reads the end of the source's log, so that after a restart it continues
with the next number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

ORIGIN_DC = "origin-dc"
ORIGIN_TIMESTAMP = "origin-timestamp"
ORIGIN_PRODUCER = "origin-producer"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class CanaryFlow:
    """The flow that canaries are sent through, in one epoch of the DR register."""

    group: str
    source: str
    target: str
    epoch: int

    @property
    def producer(self) -> str:
        """Who sends: the same after a restart, another one after a switch."""
        return f"{self.group}/{self.source}/{self.epoch}"


@dataclass(frozen=True, slots=True, order=True)
class Canary:
    """One canary. It equals its copies on every cluster, and no other canary.

    :param producer: see :attr:`CanaryFlow.producer`
    :param number: counts from 1 in each partition of each producer
    :param origin: the cluster that it was sent to
    :param at: when, aware, in whole milliseconds
    """

    producer: str
    number: int
    origin: str
    at: datetime

    @property
    def key(self) -> bytes:
        """The key of the record."""
        return self.producer.encode()

    @property
    def value(self) -> bytes:
        """The value of the record."""
        return str(self.number).encode()

    @property
    def headers(self) -> list[tuple[str, bytes]]:
        """The headers of the record."""
        return [
            (ORIGIN_DC, self.origin.encode()),
            (ORIGIN_TIMESTAMP, str((self.at - _EPOCH) // _MILLISECOND).encode()),
            (ORIGIN_PRODUCER, self.producer.encode()),
        ]

    @classmethod
    def parse(cls, value: bytes | None, headers: Headers) -> Canary | None:
        """Return the canary that a record holds, or None for a record that is none."""
        found = {name: content for name, content in headers if content is not None}
        try:
            return cls(
                producer=found[ORIGIN_PRODUCER].decode(),
                number=int((value or b"").decode()),
                origin=found[ORIGIN_DC].decode(),
                at=_EPOCH + int(found[ORIGIN_TIMESTAMP].decode()) * _MILLISECOND,
            )
        except (KeyError, ValueError, OverflowError):
            return None


@dataclass(frozen=True, slots=True)
class SentCanary:
    """A canary in the source's log.

    :param offset: the offset *of* the record
    """

    partition: int
    offset: int
    canary: Canary


@dataclass(frozen=True, slots=True)
class SeenCanary:
    """A canary in the target's log.

    :param offset: the offset *of* the record
    :param seen_at: when a waiting reader saw it arrive; ``None`` if it was only found later
    """

    partition: int
    offset: int
    canary: Canary
    seen_at: datetime | None = None


def next_canary(flow: CanaryFlow, partition: int, *, on_source: Iterable[SentCanary], now: datetime) -> Canary:
    """Return what to send to a partition.

    :param on_source: the canaries at the end of the source's log
    :param now: aware; even if the clock was set back, a canary is later than the one before it
    """
    mine = [each.canary for each in on_source if each.partition == partition and each.canary.producer == flow.producer]
    at = now - (now - _EPOCH) % _MILLISECOND
    if not mine:
        return Canary(flow.producer, 1, flow.source, at)
    last = max(mine, key=lambda canary: canary.number)
    return Canary(flow.producer, last.number + 1, flow.source, max(at, last.at + _MILLISECOND))
