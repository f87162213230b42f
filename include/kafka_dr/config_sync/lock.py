"""One apply at a time for each protection group, held in the active cluster's register topic.

A compare-and-set like the register's own: a run that wants the lock takes over the transactional id
``kafka-dr-config-<group>``, which fences the former holder off. It reads who holds the lock, and writes itself as the
holder in a transaction. The lock is written again before each batch of changes: a holder that was delayed beyond its
time, and was replaced, is then refused by the broker and changes nothing more. If a holder died, the next run waits
until the holder's time ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, TopicPartition, WriterFenced
from kafka_dr.clusters.writing import NewRecord, TransactionalWriter
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.register import REGISTER_TOPIC, Register
from kafka_dr.register.records import fact_records

#: Under which run the register keeps what is about the config sync of a group as a whole.
FACTS = "config-sync"
_LOCK = "lock"
#: The owner of a released lock. A time alone is not enough: the next holder's clock may be slow.
_NOBODY = ""
_PARTITION = TopicPartition(REGISTER_TOPIC, 0)


class HeldLock:
    """The lock, as long as it is held."""

    def __init__(self, group: str, owner: str, writer: TransactionalWriter, *, clock: Clock, seconds: float) -> None:
        self._group = group
        self._owner = owner
        self._writer = writer
        self._clock = clock
        self._seconds = seconds

    def renew(self) -> None:
        """Hold it for the whole time again.

        :raises Refused: somebody else holds it by now
        """
        self._write(self._owner, self._seconds)

    def release(self) -> None:
        """Let the next one in at once, or, where that fails, when the time is over."""
        try:
            self._write(_NOBODY, 0.0)
        except KafkaDrError:
            return

    def _write(self, owner: str, seconds: float) -> None:
        until = self._clock.now() + timedelta(seconds=seconds)
        payload = {"owner": owner, "until": until.isoformat()}
        kept = fact_records(self._group, FACTS, _LOCK, payload)
        try:
            self._writer.write([NewRecord(_PARTITION, key, value) for key, value in kept])
        except WriterFenced as error:
            raise Refused(
                f"another apply took over the configuration of {self._group}: nothing more was changed by this one"
            ) from error


def _refuse_while_another_holds_it(group: str, owner: str, register: Register, clock: Clock) -> None:
    holder: dict[str, Any] = register.facts(group, FACTS).get(_LOCK, {})
    if holder and holder["owner"] not in (owner, _NOBODY) and datetime.fromisoformat(holder["until"]) > clock.now():
        raise Refused(
            f"run {holder['owner']} is applying configuration to {group} until {holder['until']} at the latest: "
            "wait for it, then plan again"
        )


@contextmanager
def held(
    group: str, owner: str, *, cluster: KafkaCluster, register: Register, clock: Clock, seconds: float
) -> Iterator[HeldLock]:
    """Hold the lock of a group's configuration inside the block.

    :param owner: the run that applies; the same run may come back after it died
    :param cluster: the active one, reached as the operator
    :param register: of that same cluster
    :param seconds: after which a holder that says nothing more has died
    :raises Refused: another run holds it
    """
    # Before the transactional id is taken over, too: that ends whoever holds the lock.
    _refuse_while_another_holds_it(group, owner, register, clock)
    with cluster.writing.transactions(f"kafka-dr-config-{group}") as writer:
        _refuse_while_another_holds_it(group, owner, register, clock)
        lock = HeldLock(group, owner, writer, clock=clock, seconds=seconds)
        lock.renew()
        try:
            yield lock
        finally:
            lock.release()
