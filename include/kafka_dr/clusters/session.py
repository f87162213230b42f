"""One principal's session with one cluster: clients are made at their first use and kept until it is closed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ClusterMetadata
from kafka.errors import KafkaError as PythonKafkaError

from kafka_dr.clock import SystemClock
from kafka_dr.clusters.admin_clients import ADMIN_CLIENTS
from kafka_dr.clusters.errors import BrokerLetGo, ClusterUnreachable, StaleMetadata, error_class, in_words, translated
from kafka_dr.clusters.first_contact import FirstContact
from kafka_dr.clusters.protocol_client import ProtocolClient
from kafka_dr.clusters.settings import ClientSettings
from kafka_dr.errors import ConnectionMistake, KafkaDrError
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

# kafka-python logs every connection, which hides what a step did. Errors are raised anyway.
logging.getLogger("kafka").setLevel(logging.CRITICAL)
#: Takes what librdkafka would log, and shows it to nobody.
SILENT = logging.getLogger("kafka_dr.clusters.librdkafka")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False

K = TypeVar("K")
V = TypeVar("V")
C = TypeVar("C", AdminClient, Consumer, Producer)
Client: TypeAlias = AdminClient | Consumer | Producer

#: Bytes of each partition in one answer to a reader. A far cluster's answers take long: long ranges need large ones.
_SHORT_BYTES, _LONG_BYTES = 48 * 1024, 256 * 1024
#: The deadline of one request to the cluster, in seconds.
REQUEST_SECONDS = 10.0
#: After so many seconds without an answer the brokers are asked what keeps the client away.
_PATIENCE_SECONDS = 2.0
#: A client whose request has no answer yet looks up the brokers again after so many seconds.
_LOOK_SECONDS = 0.5
#: Of the requests made while it connects, kafka-python sends as many as its limit allows. It delays the others until
#: fewer are unanswered, but counts the delayed ones as unanswered: with twice the limit it waits forever (3.0.12).
_NEVER_REACHED = 10_000
#: The topic that holds every transaction's state. The operator may see every topic.
COORDINATORS = "__transaction_state"


@dataclass(slots=True)
class _PooledConsumer:
    """A consumer, and the topics that it has read."""

    consumer: Consumer
    topics: set[str] = field(default_factory=set)


class ClusterSession:
    """Holds the clients of one principal on one cluster.

    :param name: the cluster's name in the topology
    :param settings: how to reach it, and as which principal
    :param request_seconds: the deadline of each request
    :param known_topic: a topic that the principal may DESCRIBE. Looking it up connects a client; the answer does not
        matter. If it is denied, librdkafka asks for it twice a second as long as the client exists (2.16.1), and the
        brokers log each denial.
    """

    def __init__(
        self,
        name: str,
        settings: ClientSettings,
        *,
        request_seconds: float = REQUEST_SECONDS,
        known_topic: str = COORDINATORS,
    ) -> None:
        self.name = name
        #: The cluster and the principal, for messages: another principal may be allowed what this one is refused.
        self.label = f"{name} as {settings.username}" if settings.username else name
        self.settings = settings
        self.request_seconds = request_seconds
        self.known_topic = known_topic
        self._admin: AdminClient | None = None
        self._connected: AdminClient | None = None
        #: Whether the admin client replaced one without an answer, and no look-up was answered since.
        self._renewed = False
        self._python_admin: ProtocolClient | None = None
        self._appender: Producer | None = None
        #: By isolation level, and whether they are for short ranges.
        self._idle_readers: dict[tuple[str, bool], list[_PooledConsumer]] = {}
        self._lock = Lock()
        #: A separate lock: connecting takes a moment, and the other clients must not wait for it.
        self._python_lock = Lock()
        #: Finds out why there is no answer.
        self.contact = FirstContact(name, settings, seconds=request_seconds)
        #: Called with what is being done, once for each request that is waited for; counts round trips.
        self.observer: Callable[[str], None] | None = None

    @contextmanager
    def observed(self, doing: str) -> Iterator[None]:
        """Call the observer, if there is one: a request is waited for inside the block."""
        if self.observer is not None:
            self.observer(doing)
        yield

    @contextmanager
    def translated(self, doing: str) -> Iterator[None]:
        """Turn every error of a client library inside the block into one of this project's.

        :param doing: what is being done, as it continues "could not …"
        :raises ConnectionMistake: the cluster did not answer because it does not accept what the session connects with
        """
        try:
            with translated(self.label, doing):
                yield
        except StaleMetadata:
            raise
        except (ClusterUnreachable, ConnectionMistake) as error:
            raise self.contact.why(error) from error

    @property
    def patience_seconds(self) -> float:
        """After how many seconds without an answer the brokers are asked why there is none."""
        return min(_PATIENCE_SECONDS, self.request_seconds / 3)

    def look_up(self, client: Client, topic: str | None = None) -> ClusterMetadata:
        """Let a client look topics up; ``None``: all of them.

        :raises KafkaException: no answer in time
        :raises ConnectionMistake: the cluster does not accept what the session connects with
        """
        began, topics = time.monotonic(), () if topic is None else (topic,)
        try:
            found = client.list_topics(*topics, timeout=self.patience_seconds)
            self._renewed = False
            return found
        except KafkaException:
            if time.monotonic() - began < self.patience_seconds / 2:
                raise
        self.contact.refuse_mistake()
        if client is self._admin and not self._renewed:
            # Metadata without any broker, as of a cluster whose brokers are all fenced for a moment, may leave a client
            # with none to ask, for minutes (2.16.1). One other client is enough while a cluster is silent.
            self._renewed, self._admin = True, None
            client = self.admin
        return client.list_topics(*topics, timeout=max(0.1, began + self.request_seconds - time.monotonic()))

    def connect(self, client: Client, topic: str | None = None) -> None:
        """Connect a client before it is used. A request of an unconnected one is repeated only after 0.5 to 3 seconds.

        librdkafka 2.16 closes the connection to the bootstrap server as soon as it knows the brokers, and connects to a
        broker only for the next request. So the first look-up ends the one connection, and the second makes the other.

        :param topic: the topic to look up; ``None``: the session's
        :raises KafkaException: no answer in time
        """
        for _look in range(2):
            self.look_up(client, topic or self.known_topic)

    @property
    def admin(self) -> AdminClient:
        """librdkafka's admin client. It must outlive its futures, so it is kept until the session is closed."""
        with self._lock:
            if self._admin is None:
                self._admin = self._made(lambda config: ADMIN_CLIENTS.make(self, config))
            return self._admin

    def admin_for_leaders(self, doing: str) -> AdminClient:
        """Return the connected admin client, for requests to partition leaders.

        Without the connection such a request may wait three seconds, until librdkafka looks for the leaders again.

        :param doing: what is being done, as it continues "could not …"
        """
        admin = self.admin
        if self._connected is not admin:
            with self.translated(doing):
                self.connect(admin)
            self._connected = admin
        return admin

    def connect_ahead(self, isolation: str) -> None:
        """Begin to connect the admin client, a reader and a writer, all in the background."""
        self.connect_reader(isolation)
        _ = self.admin, self.appender()

    def connect_reader(self, isolation: str) -> None:
        """Begin to connect a reader of short ranges, in the background, unless one is there that nobody uses."""
        with self._lock:
            idle = self._idle_readers.setdefault((isolation, True), [])
            if not idle:
                idle.append(_PooledConsumer(self._new_reader(isolation, short=True)))

    @property
    def python_admin(self) -> ProtocolClient:
        """kafka-python's admin client, for the calls that librdkafka's lacks."""
        with self._python_lock:
            if self._python_admin is None:
                with self.translated("connect"):
                    self._python_admin = self._connected_python_admin()
            return self._python_admin

    def _connected_python_admin(self) -> ProtocolClient:
        began, settings = time.monotonic(), self.settings.kafka_python()
        try:
            return self._new_python_admin(settings, self.patience_seconds)
        except PythonKafkaError:
            # It waits for the one server that it chose by chance, which may be the one that hangs.
            if answering := self.contact.answering():
                settings["bootstrap_servers"] = answering
            return self._new_python_admin(settings, max(0.1, began + self.request_seconds - time.monotonic()))

    def _new_python_admin(self, settings: Mapping[str, object], seconds: float) -> ProtocolClient:
        return ProtocolClient(
            **settings,
            request_timeout_ms=int(self.request_seconds * 1000),
            bootstrap_timeout_ms=int(seconds * 1000),
            max_in_flight_requests_per_connection=_NEVER_REACHED,
        )

    def producer(self, extra: Mapping[str, object]) -> Producer:
        """Make a producer with these librdkafka settings and those of the connection."""
        return self._made(Producer, extra)

    def transactional_producer(
        self, transactional_id: str, extra: Mapping[str, object] | None = None, *, known_topic: str | None = None
    ) -> Producer:
        """Make a producer that has taken a transactional id over; the former producer is fenced (KIP-98).

        :param known_topic: looked up to connect; ``None``: the session's
        """
        doing = f"take over the transactional id {transactional_id}"
        with self.observed(doing), self.translated(doing):
            producer = self.producer({"transactional.id": transactional_id, **(extra or {})})
            self.connect(producer, known_topic)
            producer.init_transactions(self.request_seconds)
        return producer

    def appender(self) -> Producer:
        """Return a producer for single records, acks=all, not idempotent; kept, as most of a write is connecting."""
        with self._lock:
            if self._appender is None:
                millis = int(self.request_seconds * 1000)
                self._appender = self.producer({"acks": "all", "linger.ms": 1, "delivery.timeout.ms": millis})
            return self._appender

    def drop_appender(self) -> None:
        """Use a new producer for the next record: a producer that was refused remembers that for a while."""
        with self._lock:
            self._appender = None

    def consumer(self, extra: Mapping[str, object]) -> Consumer:
        """Make a consumer that never commits, with these librdkafka settings and those of the connection."""
        fixed: dict[str, object] = {"group.id": "dr-reader", "enable.auto.commit": False, "auto.offset.reset": "error"}
        return self._made(Consumer, fixed | dict(extra))

    @contextmanager
    def reader(self, isolation: str, topics: Collection[str], *, short: bool = False) -> Iterator[Consumer]:
        """Lend a consumer. It is kept for the next caller: connecting costs more than most reads.

        A consumer whose use ended in an error is closed instead.

        :param topics: the topics that it is going to read
        :param short: it is going to read short ranges
        """
        with self._lock:
            idle = self._idle_readers.setdefault((isolation, short), [])
            lent = idle.pop() if idle else None
        reader = lent or _PooledConsumer(self._new_reader(isolation, short=short))
        kept = False
        try:
            if lent is not None and not reader.topics.issuperset(topics):
                # For a topic that is new to a consumer, it would look for the leaders only after up to a second.
                with self.translated("look at the topics"):
                    self.look_up(reader.consumer)
            reader.topics.update(topics)
            yield reader.consumer
            reader.consumer.unassign()
            kept = True
        finally:
            if kept:
                idle.append(reader)
            else:
                reader.consumer.close()

    def _new_reader(self, isolation: str, *, short: bool) -> Consumer:
        return self.consumer(
            {
                "isolation.level": isolation,
                "enable.partition.eof": True,
                # At the end of a log a broker delays the answer to a fetch, by default half a second. A transaction
                # ends with a control record, so each read up to that end waits for such an answer.
                "fetch.wait.max.ms": 2,
                "queued.min.messages": 10_000,
                "fetch.queue.backoff.ms": 5,
                # Records that are fetched beyond the end of a range are dropped.
                "fetch.message.max.bytes": _SHORT_BYTES if short else _LONG_BYTES,
            }
        )

    def results(self, futures: Mapping[K, Future[V]], doing: str) -> dict[K, V]:
        """Wait for every future, within the deadline of one request.

        :param doing: what is being done, as it continues "could not …"
        """
        with self.observed(doing), self.translated(doing):
            self._suspect(futures.values(), self.request_seconds)
            return {key: future.result(self.request_seconds + 1) for key, future in futures.items()}

    def each(self, futures: Mapping[K, Future[V]], doing: str, *, seconds: float) -> dict[K, KafkaDrError]:
        """Wait for every future, and return the errors of those that failed; the others are done.

        :param seconds: the deadline of the one request that all futures belong to
        """
        errors: dict[K, KafkaDrError] = {}
        with self.observed(doing):
            for key, future in futures.items():
                try:
                    with self.translated(f"{doing} ({key})"):
                        self._suspect([future], seconds)
                        future.result(seconds + 1)
                except KafkaDrError as error:
                    errors[key] = error
        return errors

    def _suspect(self, futures: Collection[Future[Any]], seconds: float) -> None:
        """Wait for the admin client's futures, and find out what keeps the client away if one has no answer in time.

        Most requests go to the controller. A broker that was fenced for a moment knows none, and librdkafka does not
        ask again (2.16.1): without another look such a request would wait until its deadline.
        """
        suspected, began = False, time.monotonic()
        while wait(futures, min(_LOOK_SECONDS, self.patience_seconds)).not_done:
            waited = time.monotonic() - began
            if waited >= seconds:
                return
            if not suspected and waited >= self.patience_seconds:
                suspected = True
                self.contact.refuse_mistake()
            with suppress(KafkaException):
                self.admin.list_topics(self.known_topic, timeout=_LOOK_SECONDS)

    def read(self, ask: Callable[[], Future[V]], doing: str) -> V:
        """Return the answer to a question, which is asked again as long as the client lets go of the broker it asked.

        librdkafka does so when metadata does not name that broker: its controller has fenced it for a moment.

        :raises BrokerLetGo: that did not end within the deadline of one request
        """
        return wait_until(
            lambda: self.wait([ask()], doing)[0],
            lambda _: True,
            clock=SystemClock(),
            seconds=self.request_seconds,
            pause_seconds=SHORT_PAUSE_SECONDS,
            retry=BrokerLetGo,
        )

    def wait(self, futures: Iterable[Future[V]], doing: str) -> list[V]:
        """Wait for futures that have no keys."""
        return list(self.results(dict(enumerate(futures)), doing).values())

    def close(self) -> None:
        """Close the connections. The session can be used again afterwards."""
        if self._python_admin is not None:
            self._python_admin.close()
        self._admin = self._connected = self._python_admin = self._appender = None
        ADMIN_CLIENTS.let_go(self)
        with self._lock:
            readers = [reader for idle in self._idle_readers.values() for reader in idle]
            self._idle_readers.clear()
        for reader in readers:
            reader.consumer.close()

    def request(self, request: Any, doing: str, *, broker: int | None = None) -> Any:
        """Send a request by kafka-python and return its response. Brokers forward requests for the controller.

        :param request: one of kafka-python's generated request objects
        :param doing: what is being done, as it continues "could not …"
        :param broker: the number of the broker to ask; ``None``: any broker
        :raises ClusterUnreachable: no answer before the deadline
        """
        with self.observed(doing), self.translated(doing):
            try:
                return self.python_admin.request(request, broker)
            except (OSError, TimeoutError) as error:
                raise ClusterUnreachable(f"{self.label}: could not {doing}: the connection was lost") from error

    def error(self, code: int, message: str | None, doing: str) -> KafkaDrError | None:
        """Return this project's error for an error code in a response; ``None`` for code 0."""
        if code == 0:
            return None
        return error_class(code)(f"{self.label}: could not {doing}: {in_words(code, message)}")

    def _made(self, make: Callable[[dict[str, object]], C], extra: Mapping[str, object] | None = None) -> C:
        """Make a client. librdkafka reads the files of certificates at once.

        :raises ConnectionMistake: it does not accept what the connection says
        """
        try:
            return make(self._config(extra))
        except KafkaException as error:
            self.contact.refuse_mistake()
            raise ConnectionMistake(f"{self.label}: the client does not accept the connection's settings") from error

    def _config(self, extra: Mapping[str, object] | None = None) -> dict[str, object]:
        # log_level 0: librdkafka would write to stderr what is raised as an error anyway.
        fixed: dict[str, object] = {
            "log_level": 0,
            # It would write to stderr, whatever the level, that another writer took over: that is an error, too.
            "logger": SILENT,
            "client.id": "kafka-dr",
            "socket.connection.setup.timeout.ms": 5000,
            # Half of it passes between the connection to the bootstrap server and the next one, to a broker.
            "reconnect.backoff.ms": 20,
            # By default a producer that looks a topic up also asks the brokers to create it.
            "allow.auto.create.topics": False,
        }
        return {**self.settings.librdkafka(), **fixed, **(extra or {})}
