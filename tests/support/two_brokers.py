"""One cluster of two brokers and nothing else: for what each broker decides by itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka_dr.clusters import ClientSettings, KafkaCluster
from lab import brokers, class_archives, clients, credentials, jars, java, provisioning, rights
from lab.bootstrap import cache_folder
from lab.clusters import EAST
from lab.context import LabContext
from lab.jvm import Jvm
from lab.layout import KAFKA_VERSION, Home, Settings
from lab.processes import Supervisor
from support.waiting import settled

_READY_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class TwoBrokers:
    """The lab's east, made of two brokers."""

    context: LabContext
    supervisor: Supervisor
    jvm: Jvm

    @classmethod
    def prepare(cls, folder: Path, *, port_base: int, kafka: str | None = None) -> TwoBrokers:
        """Take a folder and ports; nothing is started.

        :param kafka: the version of the brokers; by default that of the lab
        """
        home, environ = Home(folder), dict(os.environ)
        passwords = credentials.obtain(home, clusters=(EAST.name,), principals=rights.PRINCIPALS)
        lock = jars.BROKERS[kafka or KAFKA_VERSION]
        found = jars.obtain(lock, cache=cache_folder(environ), environ=environ, progress=lambda _done, _of: None)
        home_of_java = java.java_home(environ)
        archives = class_archives.folder_of(cache_folder(environ), java_home=home_of_java, kafka=found)
        return cls(
            context=LabContext(home=home, settings=Settings(port_base=port_base, brokers=2), credentials=passwords),
            supervisor=Supervisor(home),
            jvm=Jvm(java_home=home_of_java, jars=found, archives=archives),
        )

    def start(self) -> None:
        """Start the brokers and return when users and rights are there."""
        nodes = EAST.nodes(self.context.settings)
        for node in nodes:
            self.supervisor.start(brokers.prepare(self.context, EAST, node, jvm=self.jvm))
        self.supervisor.wait(
            [node.name for node in nodes],
            lambda: provisioning.brokers_answer(self.context, EAST),
            seconds=_READY_SECONDS,
            expected="an answer from both brokers",
        )
        provisioning.provision(self.context, EAST)

    def stop(self) -> None:
        """Stop what runs; the second broker first, it does not vote."""
        for name in reversed(list(self.supervisor.names())):
            self.supervisor.stop(name)

    def cluster(self, principal: str, *, request_seconds: float = 10.0) -> KafkaCluster:
        """Return the cluster as one of the lab's principals sees it, ``admin`` among them."""
        settings = ClientSettings.from_librdkafka(clients.librdkafka(self.context, EAST, principal))
        return KafkaCluster(EAST.name, settings, request_seconds=request_seconds)

    @contextmanager
    def without(self, number: int) -> Iterator[None]:
        """Do something while one broker is stopped, and wait until it is back."""
        self.supervisor.stop(f"{EAST.name}-broker-{number}")
        try:
            yield
        finally:
            node = next(node for node in EAST.nodes(self.context.settings) if node.number == number)
            self.supervisor.start(brokers.prepare(self.context, EAST, node, jvm=self.jvm))
            with self.cluster(credentials.ADMIN) as cluster:
                settled(cluster, (1, 2))

    def log_bytes(self, topic: str) -> dict[str, int]:
        """Return the bytes of every segment of a topic on every broker: what was appended, replicated or not."""
        found = {}
        for node in EAST.nodes(self.context.settings):
            data = self.context.home.broker(node.name) / "data"
            for segment in data.glob(f"{topic}-*/*.log"):
                found[str(segment.relative_to(data.parent.parent))] = segment.stat().st_size
        return found

    def pause(self, number: int) -> None:
        """Let a broker hang, its connections open."""
        self.supervisor.pause(f"{EAST.name}-broker-{number}")

    def resume(self, number: int) -> None:
        """Let a paused broker run again, and return when the cluster counts it again."""
        self.supervisor.signal(f"{EAST.name}-broker-{number}", signal.SIGCONT)
        with self.cluster(credentials.ADMIN) as cluster:
            settled(cluster, (1, 2))
