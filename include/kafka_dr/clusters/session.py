"""One principal's session with one cluster: the clients are made when first needed and kept until closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from kafka.admin import KafkaAdminClient

from kafka_dr.clusters.errors import StaleMetadata, translated
from kafka_dr.clusters.settings import ClientSettings

K = TypeVar("K")
V = TypeVar("V")

#: Answers that take longer than this are no answers: seconds for one request to the cluster.
REQUEST_SECONDS = 10.0


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
        self._retired: list[AdminClient] = []
        self._transactions: KafkaAdminClient | None = None
        self._idle_readers: dict[str, list[Consumer]] = {}
        self._lock = Lock()

    @property
    def admin(self) -> AdminClient:
        """librdkafka's admin client. It must outlive its futures, hence it is kept."""
        with self._lock:
            if self._admin is None:
                self._admin = AdminClient(self._config())
            return self._admin

    @property
    def python_admin(self) -> KafkaAdminClient:
        """kafka-python's admin client, for the calls that librdkafka's lacks."""
        with self._lock:
            if self._transactions is None:
                millis = int(self.request_seconds * 1000)
                with translated(self.label, "connect"):
                    self._transactions = KafkaAdminClient(
                        **self.settings.kafka_python(), request_timeout_ms=millis, bootstrap_timeout_ms=millis
                    )
            return self._transactions

    def producer(self, extra: Mapping[str, object]) -> Producer:
        """Make a producer with these librdkafka settings besides the connection's."""
        return Producer(self._config(extra))

    def consumer(self, extra: Mapping[str, object]) -> Consumer:
        """Make a consumer that never commits, with these librdkafka settings besides the connection's."""
        fixed: dict[str, object] = {"group.id": "dr-reader", "enable.auto.commit": False, "auto.offset.reset": "error"}
        return Consumer(self._config(fixed | dict(extra)))

    @contextmanager
    def reader(self, isolation: str) -> Iterator[Consumer]:
        """Lend a consumer. It is kept for the next one who asks: connecting costs more than most reads do.

        One whose use ended in an error is closed instead.
        """
        with self._lock:
            idle = self._idle_readers.setdefault(isolation, [])
            lent = idle.pop() if idle else None
        consumer = lent or self.consumer(
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
        kept = False
        try:
            yield consumer
            consumer.unassign()
            kept = True
        finally:
            if kept:
                idle.append(consumer)
            else:
                consumer.close()

    def results(self, futures: Mapping[K, Future[V]], doing: str) -> dict[K, V]:
        """Wait for every future, within the deadline of one request.

        :param doing: what is being done, as it continues "could not …"
        """
        try:
            with translated(self.label, doing):
                return {key: future.result(self.request_seconds + 1) for key, future in futures.items()}
        except StaleMetadata:
            self.replace_admin()
            raise

    def wait(self, futures: Iterable[Future[V]], doing: str) -> list[V]:
        """Wait for futures that have no keys."""
        return list(self.results(dict(enumerate(futures)), doing).values())

    def close(self) -> None:
        """Let go of the connections. The session can be used again afterwards."""
        if self._transactions is not None:
            self._transactions.close()
        self._admin = self._transactions = None
        self._retired.clear()
        for idle in self._idle_readers.values():
            while idle:
                idle.pop().close()

    def replace_admin(self) -> None:
        """Let the next call have a new admin client: librdkafka's would believe in its old metadata for minutes.

        The old one is kept until the session is closed; somebody else may still wait for its answers.
        """
        with self._lock:
            if self._admin is not None:
                self._retired.append(self._admin)
            self._admin = None

    def _config(self, extra: Mapping[str, object] | None = None) -> dict[str, object]:
        # log_level 0: librdkafka would write to stderr what is raised as a sentence anyway.
        quiet: dict[str, object] = {"log_level": 0, "client.id": "kafka-dr", "socket.connection.setup.timeout.ms": 5000}
        return {**self.settings.librdkafka(), **quiet, **(extra or {})}
