"""One cluster of two brokers, without anything beside it: for what each broker decides by itself."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from kafka_dr.clusters import ClientSettings, KafkaCluster
from lab import brokers, clients, credentials, jars, java, rights, world
from lab.bootstrap import cache_folder
from lab.clusters import EAST
from lab.jvm import Jvm
from lab.layout import Home, Settings
from lab.premises import Premises
from lab.processes import Supervisor
from support.settling import settled

_READY_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class TwoBrokers:
    """The lab's east, made of two brokers."""

    premises: Premises
    supervisor: Supervisor
    jvm: Jvm

    @classmethod
    def prepare(cls, folder: Path, *, port_base: int) -> TwoBrokers:
        """Take a folder and ports; nothing is started."""
        home, environ = Home(folder), dict(os.environ)
        passwords = credentials.obtain(home, clusters=(EAST.name,), principals=rights.PRINCIPALS)
        kafka = jars.obtain(jars.KAFKA, cache=cache_folder(environ), environ=environ, progress=lambda _done, _of: None)
        return cls(
            premises=Premises(home=home, settings=Settings(port_base=port_base, brokers=2), credentials=passwords),
            supervisor=Supervisor(home),
            jvm=Jvm(java_home=java.java_home(environ), jars=kafka),
        )

    def start(self) -> None:
        """Start the brokers and return when users and rights are there."""
        nodes = EAST.nodes(self.premises.settings)
        for node in nodes:
            self.supervisor.start(brokers.prepare(self.premises, EAST, node, jvm=self.jvm))
        self.supervisor.wait(
            [node.name for node in nodes],
            lambda: world.brokers_answer(self.premises, EAST),
            seconds=_READY_SECONDS,
            expected="an answer from both brokers",
        )
        world.furnish(self.premises, EAST)

    def stop(self) -> None:
        """Stop what runs; the second broker first, it does not vote."""
        for name in reversed(list(self.supervisor.names())):
            self.supervisor.stop(name)

    def cluster(self, principal: str, *, request_seconds: float = 10.0) -> KafkaCluster:
        """Return the cluster as one of the lab's principals sees it, ``admin`` among them."""
        settings = ClientSettings.from_librdkafka(clients.librdkafka(self.premises, EAST, principal))
        return KafkaCluster(EAST.name, settings, request_seconds=request_seconds)

    def pause(self, number: int) -> None:
        """Let a broker hang, its connections open."""
        self.supervisor.signal(f"{EAST.name}-broker-{number}", signal.SIGSTOP)

    def resume(self, number: int) -> None:
        """Let a paused broker run again, and return when it has its place in the cluster."""
        self.supervisor.signal(f"{EAST.name}-broker-{number}", signal.SIGCONT)
        with self.cluster(credentials.ADMIN) as cluster:
            settled(cluster, (1, 2))
