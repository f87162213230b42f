"""What every application of the lab is given, and how it ends: refused, stopped, or broken."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient

from lab.traffic.logbook import Logbook

REFUSALS = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
CALL_SECONDS = 5.0
#: After so much silence a reader asks whether its cluster is still there: a client reads on for ever from a dead one.
SILENCE_SECONDS = 3.0
#: Within so many milliseconds a reader finds a topic that its pattern takes.
FOUND_MS = 2000


class Ended(Exception):
    """The application cannot continue; its supervisor starts it again."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The cluster that an application found when it started.

    :param settings: how its principal reaches it, in librdkafka's names
    """

    cluster: str
    settings: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Application:
    """One running incarnation.

    :param stopping: whether it was asked to end
    :param now: the present time in seconds
    """

    name: str
    access: ClusterAccess
    log: Logbook
    stopping: Callable[[], bool]
    now: Callable[[], float]
    random: Random
    _troubles: list[KafkaError] = field(default_factory=list)

    @property
    def disturbed(self) -> bool:
        """Whether a connection broke: then a refusal may be the answer to a second try, after a first that worked."""
        return bool(self._troubles)

    def client(self, **settings: Any) -> dict[str, Any]:
        """Settings of a client of this application."""
        return {
            **self.access.settings,
            "client.id": self.name,
            "log_level": 2,
            "error_cb": self._trouble,
            "socket.nagle.disable": True,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 500,
            **settings,
        }

    def check_right_to_write(self, topic: str) -> None:
        """Ask the cluster whether this application may write; a client that may not takes a second to find out.

        :raises Ended: it may not, or the cluster does not say
        """
        with AdminClient(self.client()) as admin:
            try:
                described = admin.describe_topics(
                    TopicCollection([topic]), include_authorized_operations=True, request_timeout=CALL_SECONDS
                )[topic].result(timeout=CALL_SECONDS)
            except (KafkaException, TimeoutError) as error:
                raise Ended(f"the cluster does not say what may be done: {error}") from error
        if AclOperation.WRITE not in (described.authorized_operations or ()):
            raise Ended("TOPIC_AUTHORIZATION_FAILED")

    def connect(self, producer: Producer, topic: str) -> None:
        """Connect a producer before it is used: one that is not connected asks for its id every half second only.

        Of two looks the first goes to the server of the route, which librdkafka leaves again, the second to a broker.

        :raises KafkaException: nobody answers
        """
        for _look in range(2):
            producer.list_topics(topic, timeout=CALL_SECONDS)

    def _trouble(self, error: KafkaError) -> None:
        if error.code() not in REFUSALS:
            self._troubles.append(error)


@dataclass(slots=True)
class LivenessCheck:
    """Whether the cluster that a reader reads from is there at all.

    :param ask: puts a question to the cluster that any of its brokers answers
    :param now: seconds that never go back
    """

    ask: Callable[[], object]
    now: Callable[[], float] = time.monotonic
    _heard: float = field(init=False)

    def __post_init__(self) -> None:
        self._heard = self.now()

    def heard(self, anything: bool) -> None:
        """Note that records came; or ask, when none have for a while.

        :raises Ended: nobody answers
        """
        if not anything and self.now() - self._heard < SILENCE_SECONDS:
            return
        if not anything:
            try:
                self.ask()
            except KafkaException as error:
                raise ended_by(error) from error
        self._heard = self.now()


def finding(topics: Iterable[str]) -> dict[str, Any]:
    """Settings of a reader that subscribes to these topics, patterns among them."""
    return {"topic.metadata.refresh.interval.ms": FOUND_MS} if any(each.startswith("^") for each in topics) else {}


def check(error: KafkaError | None) -> None:
    """End if the error is one that an application cannot do anything about.

    :raises Ended: refused for lack of rights, or fatal
    """
    if error is not None and (error.code() in REFUSALS or error.fatal()):
        raise Ended(error.name())


def ended_by(error: KafkaException) -> Ended:
    """The end that an exception of the client means."""
    return Ended(error.args[0].name())


def find_access(route: Path, clients: Path, *, principal: str) -> ClusterAccess:
    """Look up the active cluster, as applications do when they start.

    :param route: the route's file
    :param clients: folder of client settings by cluster and principal
    :raises Ended: there is no route yet, or it is not readable
    """
    try:
        stored = json.loads(route.read_text())
        cluster, bootstrap = str(stored["active"]), str(stored["bootstrap_servers"])
        lines = (clients / cluster / f"{principal}.properties").read_text().splitlines()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Ended(f"no way to a cluster: {error}") from error
    settings = dict(line.split("=", 1) for line in lines if "=" in line)
    return ClusterAccess(cluster, {**settings, "bootstrap.servers": bootstrap})
