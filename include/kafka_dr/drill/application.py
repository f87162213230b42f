"""The application of a drill: it writes numbered records and reads them as a consumer group, where the route says.

It does what any application does that looks its cluster up: when it is refused or gets no answer it reads the route
again, and connects to the cluster that it names. Everything that it saw is in its log, from which the result follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, Thread

from kafka_dr.clock import Clock
from kafka_dr.clusters import ClientSettings, KafkaCluster, TopicPartition
from kafka_dr.clusters.group_member import GroupMember
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.drill.truth import Acknowledged, ApplicationLog, Read
from kafka_dr.errors import KafkaDrError
from kafka_dr.routing import Router

#: How often it writes, in seconds, and how long it waits after an error.
_WRITES_EVERY, _PAUSE = 0.1, 0.1
#: A write without an answer is given up after so long; then the route is read again, in seconds.
_WRITE_SECONDS = 3.0
#: How long its reader waits for records, and after how long it commits, in seconds.
_READ_SECONDS, _COMMIT_SECONDS = 0.2, 0.5
#: How long its threads may take to end, in seconds.
_END_SECONDS = 30.0

#: Returns how the application reaches a cluster, now.
Reach = Callable[[str], ClientSettings]


class DrillApplication:
    """Writes and reads until it is stopped.

    :param read_on: which topics it reads on a cluster: its own, and copies of them that have another name
    :param reach: asked for each connection, so that a disaster can lead it elsewhere
    :param rate: records that it writes each second
    """

    def __init__(
        self,
        topics: tuple[str, ...],
        *,
        read_on: Callable[[str], Sequence[str]],
        partitions: int,
        group: str,
        rate: int,
        router: Router,
        reach: Reach,
        clock: Clock,
    ) -> None:
        self._partitions = [TopicPartition(topic, number) for topic in topics for number in range(partitions)]
        self._read_on, self._group, self._rate = read_on, group, rate
        self._router, self._reach, self._clock = router, reach, clock
        self._stop, self._no_more, self._lock = Event(), Event(), Lock()
        self._log = ApplicationLog()
        self._number = 0
        #: Rises when every connection has to end: see :meth:`lose_connections`.
        self._generation = 0
        #: What ended one of its threads, which nothing should.
        self.broken: BaseException | None = None

    @contextmanager
    def running(self) -> Iterator[DrillApplication]:
        """Run it in the background as long as the block does."""
        threads = [
            Thread(target=self._until, args=(self._no_more, self._write), daemon=True),
            Thread(target=self._until, args=(self._stop, self._read), daemon=True),
        ]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._no_more.set()
            self._stop.set()
            for thread in threads:
                thread.join(_END_SECONDS)

    def stop_writing(self) -> None:
        """Write nothing more, and read on."""
        self._no_more.set()

    def lose_connections(self) -> None:
        """End every connection, as when a cluster is lost: the next one is made as :attr:`reach` then says."""
        self._generation += 1

    def log(self) -> ApplicationLog:
        """Return what it saw until now."""
        with self._lock:
            found = self._log
            return ApplicationLog(list(found.acknowledged), list(found.read), set(found.unanswered))

    def _until(self, end: Event, work: Callable[[], None]) -> None:
        while not end.is_set():
            try:
                work()
            except (KafkaDrError, OSError):
                end.wait(_PAUSE)
            except BaseException as error:
                self.broken = error
                raise

    def _active(self) -> str:
        route = self._router.read()
        return "" if route is None else route.active

    def _write(self) -> None:
        """Write to the cluster of the route until that is not possible any more."""
        active, generation = self._active(), self._generation
        if not active:
            self._no_more.wait(_PAUSE)
            return
        with KafkaCluster(active, self._reach(active), request_seconds=_WRITE_SECONDS) as cluster:
            due = self._clock.monotonic()
            while not self._no_more.is_set() and generation == self._generation:
                self._write_some(cluster, active)
                due = max(due + _WRITES_EVERY, self._clock.monotonic() - 1)
                self._no_more.wait(max(0.0, due - self._clock.monotonic()))

    def _write_some(self, cluster: KafkaCluster, active: str) -> None:
        numbers = range(self._number, self._number + max(1, round(self._rate * _WRITES_EVERY)))
        self._number = numbers.stop
        where = {number: self._partitions[number % len(self._partitions)] for number in numbers}
        with self._lock:
            self._log.unanswered.update(numbers)
        records = [NewRecord(where[number], str(number).encode(), str(number).encode()) for number in numbers]
        cluster.writing.append(records, idempotent=False)
        now = self._clock.now()
        with self._lock:
            self._log.unanswered.difference_update(numbers)
            self._log.acknowledged += [Acknowledged(number, where[number], active, now) for number in numbers]

    def _read(self) -> None:
        """Read from the cluster of the route, as a member of the group, until that is not possible any more."""
        active, generation = self._active(), self._generation
        if not active:
            self._stop.wait(_PAUSE)
            return
        member = GroupMember(active, self._reach(active), group=self._group, topics=self._read_on(active))
        try:
            committed = self._clock.monotonic()
            while not self._stop.is_set() and generation == self._generation:
                self._note(active, [int(record.value or b"-1") for record in member.read(_READ_SECONDS)])
                if self._clock.monotonic() - committed >= _COMMIT_SECONDS:
                    member.commit()
                    committed = self._clock.monotonic()
                    if self._active() != active:
                        return
        finally:
            member.close()

    def _note(self, active: str, numbers: list[int]) -> None:
        now = self._clock.now()
        with self._lock:
            self._log.read += [Read(number, active, now) for number in numbers]
