"""The applications that only read, each with its own habit of committing."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from lab.traffic.application import (
    CALL_SECONDS,
    SILENCE_SECONDS,
    Application,
    Ended,
    LivenessCheck,
    check,
    ended_by,
    finding,
)
from lab.traffic.records import identify

HELD_BACK = (1, 40, 1, 400, 1500)  # how many processed records a commit with gaps leaves out, by partition
#: The answers to a commit of a group that shares its partitions again: the next commit comes soon.
_REBALANCES = frozenset({KafkaError.REBALANCE_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION})


class Commits(StrEnum):
    """How a group commits."""

    ALL = "what it processed"
    GAPS = "some partitions at a time, some of them always far behind what it processed"
    NEVER = "nothing; it reads everything again when it starts"


@dataclass(frozen=True, slots=True)
class Habit:
    """How a group reads and commits.

    :param topics: their names, or patterns
    :param per_second: the most records that it processes in a second; ``None`` for as many as come
    """

    group: str
    topics: tuple[str, ...]
    commits: Commits
    per_second: float | None = None
    commit_seconds: float = 0.4


class ReadingApp:
    """One incarnation of a reading application."""

    def __init__(self, application: Application, habit: Habit) -> None:
        self._app = application
        self._habit = habit
        self._processed: dict[tuple[str, int], deque[int]] = {}
        self._committed: dict[tuple[str, int], int] = {}
        #: When a commit was sent that has no answer yet, and why one failed.
        self._asked: float | None = None
        self._failure: KafkaError | None = None
        self._consumer = Consumer(
            application.client(
                **{
                    "group.id": habit.group,
                    "group.instance.id": application.name,
                    "session.timeout.ms": 6000,
                    "isolation.level": "read_committed",
                    "enable.auto.commit": False,
                    "on_commit": self._answered,
                    "auto.offset.reset": "earliest",
                    "fetch.wait.max.ms": 100,  # in batches: no application fetches each record by itself
                    "fetch.min.bytes": 65536,
                    "queued.max.messages.kbytes": 4096 if habit.per_second is None else 64,
                    **finding(habit.topics),
                }
            )
        )

    def run(self) -> None:
        """Read until stopped.

        :raises Ended: refused
        """
        self._app.log.write("start", role="reader", cluster=self._app.access.cluster, group=self._habit.group)
        try:
            self._consumer.subscribe(list(self._habit.topics), on_assign=self._assigned)
            self._work()
            self._commit_last()
        except KafkaException as error:
            raise ended_by(error) from error
        self._consumer.close()

    def _work(self) -> None:
        at_once = 500 if self._habit.per_second is None else max(int(self._habit.per_second / 10), 1)
        last, presence = time.monotonic(), LivenessCheck(lambda: self._consumer.list_topics(timeout=SILENCE_SECONDS))
        while not self._app.stopping():
            messages = self._consumer.consume(at_once, timeout=0.1)
            self._process(messages)
            presence.heard(bool(messages))
            if self._habit.per_second is not None:
                time.sleep(at_once / self._habit.per_second)
            self._check_commit()
            if time.monotonic() - last > self._habit.commit_seconds:
                last = time.monotonic()
                self._commit()

    def _process(self, messages: Sequence[Message]) -> None:
        """To process a record is to write it into the log."""
        rows: dict[tuple[str, int], list[tuple[int, str, int]]] = {}
        for message in messages:
            check(message.error())
            if message.error() is not None:
                continue
            where = (message.topic() or "", message.partition() or 0)
            offset = message.offset() or 0
            who = identify(message.headers())
            if who is not None:
                rows.setdefault(where, []).append((offset, who.application, who.sequence))
            self._processed.setdefault(where, deque(maxlen=2 * max(HELD_BACK))).append(offset)
        for (topic, partition), records in rows.items():
            self._app.log.write("processed", topic=topic, partition=partition, records=records)

    def _commit(self) -> None:
        """Send a commit, unless one has no answer yet: to wait for the answer of a dead cluster may take for ever."""
        positions = self._due()
        if not positions or self._asked is not None:
            return
        self._asked = time.monotonic()
        rows = [TopicPartition(topic, partition, offset) for (topic, partition), offset in positions.items()]
        self._consumer.commit(offsets=rows, asynchronous=True)

    def _answered(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Note the answer to a commit; called while records are asked for."""
        self._asked, self._failure = None, error or next((each.error for each in partitions if each.error), None)
        if self._failure is None:
            rows = [(each.topic, each.partition, each.offset) for each in partitions]
            self._app.log.write("committed", positions=rows)
            self._committed.update({(topic, partition): offset for topic, partition, offset in rows})

    def _check_commit(self) -> None:
        """Look at what became of the last commit.

        :raises Ended: refused, or nobody answers
        :raises KafkaException: failed, and not because the group rebalances
        """
        if self._asked is not None and time.monotonic() - self._asked > CALL_SECONDS:
            raise Ended("no answer to a commit")
        failure, self._failure = self._failure, None
        check(failure)
        if failure is not None and failure.code() not in _REBALANCES:
            raise KafkaException(failure)

    def _commit_last(self) -> None:
        """Commit before the end, and wait for the answer without taking more records."""
        self._consumer.pause(self._consumer.assignment())
        self._commit()
        while self._asked is not None:
            self._consumer.poll(0.1)
            self._check_commit()

    def _due(self) -> dict[tuple[str, int], int]:
        """The positions to commit now: never before what is committed, never past what was processed."""
        due = {}
        for where, offsets in self._processed.items():
            held_back = 1
            if self._habit.commits is Commits.NEVER or not offsets:
                continue
            if self._habit.commits is Commits.GAPS:
                if self._app.random.random() < 0.5:
                    continue
                held_back = HELD_BACK[where[1] % len(HELD_BACK)]
            if held_back > len(offsets):
                continue
            position = offsets[-held_back] + 1
            if position > self._committed.get(where, -1):
                due[where] = position
        return due

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._processed.clear()  # another member may have gone on with what this one had processed and not committed
        for each in consumer.committed(partitions, timeout=5.0):
            self._committed[each.topic, each.partition] = each.offset  # negative where there is none
