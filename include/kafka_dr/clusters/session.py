"""One principal's session with one cluster: the clients are made when first needed and kept until closed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from kafka_dr.clusters.admins import ADMIN_CLIENTS
from kafka_dr.clusters.errors import StaleMetadata, translated
from kafka_dr.clusters.requesting import RequestingAdminClient
from kafka_dr.clusters.settings import ClientSettings
from kafka_dr.errors import KafkaDrError

# It tells of every connection, in the log of whoever wants to read what a step did. What goes wrong is raised.
logging.getLogger("kafka").setLevel(logging.CRITICAL)

K = TypeVar("K")
V = TypeVar("V")

#: Answers that take longer than this are no answers: seconds for one request to the cluster.
REQUEST_SECONDS = 10.0
#: Of what was asked while it connected kafka-python sends as many as its limit says, and holds the rest back until
#: fewer are unanswered, counting those that it holds back: with twice the limit it waits for ever (seen in 3.0.12).
_NEVER_REACHED = 10_000
#: The topic that every transaction goes through; asked for to be connected, whatever the answer.
COORDINATORS = "__transaction_state"


@dataclass(slots=True)
class _Reader:
    """A consumer, and the topics that it has read."""

    consumer: Consumer
    topics: set[str] = field(default_factory=set)


class ClusterSession:
    """Holds the clients for one principal on one cluster.

    :param name: the cluster's name in the topology
    :param settings: how to reach it, and as whom
    :param request_seconds: the deadline of each request
    """

    def __init__(self, name: str, settings: ClientSettings, *, request_seconds: float = REQUEST_SECONDS) -> None:
        self.name = name
        #: The cluster and the principal, as errors name them: the same call may be allowed to another one.
        self.label = f"{name} as {settings.username}" if settings.username else name
        self.settings = settings
        self.request_seconds = request_seconds
        self._admin: AdminClient | None = None
        self._connected: AdminClient | None = None
        self._python_admin: RequestingAdminClient | None = None
        self._appender: Producer | None = None
        self._idle_readers: dict[str, list[_Reader]] = {}
        self._lock = Lock()
        #: Its own: connecting takes a moment, in which the other clients are not to wait.
        self._python_lock = Lock()
        #: Told what is being done once for each request that is waited for; for whoever counts round trips.
        self.observer: Callable[[str], None] | None = None

    @contextmanager
    def observed(self, doing: str) -> Iterator[None]:
        """Tell the observer, if there is one, that a request is waited for inside the block."""
        if self.observer is not None:
            self.observer(doing)
        yield

    @property
    def admin(self) -> AdminClient:
        """librdkafka's admin client. It must outlive its futures, hence it is held until the session is closed."""
        with self._lock:
            if self._admin is None:
                self._admin = ADMIN_CLIENTS.make(self, self._config())
            return self._admin

    def admin_for_leaders(self, doing: str) -> AdminClient:
        """Return the admin client, connected, for what is asked of leaders.

        Who asks before that may wait three seconds: so long until librdkafka looks for the leaders once more.

        :param doing: what is being done, as it continues "could not …"
        """
        admin = self.admin
        if self._connected is not admin:
            with translated(self.label, doing):
                connect(admin, COORDINATORS, self.request_seconds)
            self._connected = admin
        return admin

    def connect_ahead(self, isolation: str) -> None:
        """Begin to connect what is going to ask, to read and to write, beside each other; none is waited for."""
        self.connect_reader(isolation)
        _ = self.admin, self.appender()

    def connect_reader(self, isolation: str) -> None:
        """Begin to connect what is going to read; it is not waited for."""
        reader = _Reader(self._new_reader(isolation))
        with self._lock:
            self._idle_readers.setdefault(isolation, []).append(reader)

    @property
    def python_admin(self) -> RequestingAdminClient:
        """kafka-python's admin client, for the calls that librdkafka's lacks."""
        with self._python_lock:
            if self._python_admin is None:
                millis = int(self.request_seconds * 1000)
                with translated(self.label, "connect"):
                    self._python_admin = RequestingAdminClient(
                        **self.settings.kafka_python(),
                        request_timeout_ms=millis,
                        bootstrap_timeout_ms=millis,
                        max_in_flight_requests_per_connection=_NEVER_REACHED,
                    )
            return self._python_admin

    def producer(self, extra: Mapping[str, object]) -> Producer:
        """Make a producer with these librdkafka settings besides the connection's."""
        return Producer(self._config(extra))

    def transactional_producer(self, transactional_id: str, extra: Mapping[str, object] | None = None) -> Producer:
        """Make a producer that has taken a transactional id over, and fenced off whoever had it (KIP-98)."""
        doing = f"take over the transactional id {transactional_id}"
        with self.observed(doing), translated(self.label, doing):
            producer = self.producer({"transactional.id": transactional_id, **(extra or {})})
            connect(producer, COORDINATORS, self.request_seconds)
            producer.init_transactions(self.request_seconds)
        return producer

    def appender(self) -> Producer:
        """Return a producer for single records, acks=all, not idempotent; kept, as connecting costs most of a write."""
        with self._lock:
            if self._appender is None:
                millis = int(self.request_seconds * 1000)
                self._appender = self.producer({"acks": "all", "linger.ms": 1, "delivery.timeout.ms": millis})
            return self._appender

    def drop_appender(self) -> None:
        """Let the next record have a new producer: one that was refused remembers that for a while."""
        with self._lock:
            self._appender = None

    def consumer(self, extra: Mapping[str, object]) -> Consumer:
        """Make a consumer that never commits, with these librdkafka settings besides the connection's."""
        fixed: dict[str, object] = {"group.id": "dr-reader", "enable.auto.commit": False, "auto.offset.reset": "error"}
        return Consumer(self._config(fixed | dict(extra)))

    @contextmanager
    def reader(self, isolation: str, topics: Collection[str]) -> Iterator[Consumer]:
        """Lend a consumer. It is kept for the next one who asks: connecting costs more than most reads do.

        One whose use ended in an error is closed instead.

        :param topics: what it is going to read
        """
        with self._lock:
            idle = self._idle_readers.setdefault(isolation, [])
            lent = idle.pop() if idle else None
        reader = lent or _Reader(self._new_reader(isolation))
        kept = False
        try:
            if lent is not None and not reader.topics.issuperset(topics):
                # A topic that a consumer meets in mid-life waits for its next look at the leaders, up to a second.
                with translated(self.label, "look at the topics"):
                    reader.consumer.list_topics(timeout=self.request_seconds)
            reader.topics.update(topics)
            yield reader.consumer
            reader.consumer.unassign()
            kept = True
        finally:
            if kept:
                idle.append(reader)
            else:
                reader.consumer.close()

    def _new_reader(self, isolation: str) -> Consumer:
        return self.consumer(
            {
                "isolation.level": isolation,
                "enable.partition.eof": True,
                # Behind the last data record a broker holds a fetch back, half a second unless told otherwise.
                "fetch.wait.max.ms": 20,
                # Most ranges are short: what is fetched beyond their ends is thrown away.
                "queued.min.messages": 10_000,
                "fetch.queue.backoff.ms": 5,
                "fetch.message.max.bytes": 256 * 1024,
            }
        )

    def results(self, futures: Mapping[K, Future[V]], doing: str) -> dict[K, V]:
        """Wait for every future, within the deadline of one request.

        :param doing: what is being done, as it continues "could not …"
        """
        try:
            with self.observed(doing), translated(self.label, doing):
                return {key: future.result(self.request_seconds + 1) for key, future in futures.items()}
        except StaleMetadata:
            self.replace_admin()
            raise

    def each(self, futures: Mapping[K, Future[V]], doing: str, *, seconds: float) -> dict[K, KafkaDrError]:
        """Wait for every future, and return the errors of those that failed; the others are done.

        :param seconds: the deadline of the one request that all of them stand for
        """
        errors: dict[K, KafkaDrError] = {}
        with self.observed(doing):
            for key, future in futures.items():
                try:
                    with translated(self.label, f"{doing} ({key})"):
                        future.result(seconds + 1)
                except KafkaDrError as error:
                    errors[key] = error
        return errors

    def wait(self, futures: Iterable[Future[V]], doing: str) -> list[V]:
        """Wait for futures that have no keys."""
        return list(self.results(dict(enumerate(futures)), doing).values())

    def close(self) -> None:
        """Let go of the connections. The session can be used again afterwards."""
        if self._python_admin is not None:
            self._python_admin.close()
        self._admin = self._connected = self._python_admin = self._appender = None
        ADMIN_CLIENTS.let_go(self)
        for idle in self._idle_readers.values():
            while idle:
                idle.pop().consumer.close()

    def replace_admin(self) -> None:
        """Let the next call have a new admin client: librdkafka's would believe in its old metadata for minutes.

        The old one is held until the session is closed, as every one is; somebody else may still wait for its answers.
        """
        with self._lock:
            self._admin = None

    def _config(self, extra: Mapping[str, object] | None = None) -> dict[str, object]:
        # log_level 0: librdkafka would write to stderr what is raised as a sentence anyway.
        fixed: dict[str, object] = {
            "log_level": 0,
            "client.id": "kafka-dr",
            "socket.connection.setup.timeout.ms": 5000,
            # Half of it passes between the connection to the server it was told of and the next, to a broker.
            "reconnect.backoff.ms": 20,
        }
        return {**self.settings.librdkafka(), **fixed, **(extra or {})}


def connect(client: Producer | AdminClient, topic: str, seconds: float) -> None:
    """Connect a client before it is used: what it looks for in vain it looks for again half a second later, or three.

    librdkafka 2.16 hangs up on the server that it was told of as soon as it knows the brokers, and connects to one when
    it is asked for something: the first look ends the one connection, the second makes the other.

    :param topic: what is looked at
    :raises KafkaException: no answer in time
    """
    for _look in range(2):
        client.list_topics(topic, seconds)
