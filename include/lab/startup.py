"""One ``up``: bring every part to where it answers, all or nothing.

The clusters come up side by side and Airflow beside them. A part that already runs is left alone; if one part fails,
what this call started is stopped again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from lab import brokers, clients, connect, world
from lab.clusters import CLUSTERS, Cluster
from lab.credentials import Credentials
from lab.jvm import Jvm
from lab.layout import Home, Settings
from lab.ports import check_free
from lab.processes import Command, Supervisor

BROKER_SECONDS = 60.0
CONNECT_SECONDS = 90.0

Report = Callable[[str, float], None]


class Part(Protocol):
    """Something that comes up beside the clusters."""

    def ports(self) -> list[tuple[int, str]]:
        """The ports that it listens on, each with the name of the process."""

    def start(self, startup: Startup) -> None:
        """Start what does not run and return when it answers."""


@dataclass(slots=True)
class Startup:
    """The state of one ``up``.

    :param report: called with what became ready and the seconds since the start.
    """

    home: Home
    settings: Settings
    credentials: Credentials
    jvm: Jvm
    supervisor: Supervisor
    report: Report
    _began: float = field(default_factory=time.monotonic)
    _started: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, *beside: Part) -> float:
        """Start what does not run and wait until everything answers.

        :param beside: more parts, started at the same time as the clusters.
        :returns: the seconds it took.
        :raises LabError: a part did not become ready; nothing that this call started still runs.
        """
        self._check_ports([port for part in beside for port in part.ports()])
        clients.write_files(self.home, settings=self.settings, credentials=self.credentials)
        try:
            with ThreadPoolExecutor(len(CLUSTERS) + len(beside)) as pool:
                parts = [pool.submit(self._datacenter, cluster) for cluster in CLUSTERS]
                parts += [pool.submit(part.start, self) for part in beside]
                for part in parts:
                    part.result()
        except BaseException:
            self._undo()
            raise
        return self.seconds()

    def _check_ports(self, needed: list[tuple[int, str]]) -> None:
        for cluster in CLUSTERS:
            for node in cluster.nodes(self.settings):
                votes = node in cluster.voters(self.settings)
                ports = (node.client_port, node.internal_port, *((node.controller_port,) if votes else ()))
                needed += [(port, node.name) for port in ports]
            needed.append((cluster.connect_port(self.settings.ports), cluster.connect_name))
        check_free((port, name) for port, name in needed if self.supervisor.find(name) is None)

    def start(self, command: Command) -> bool:
        """Start a process unless it runs.

        :returns: whether it had to be started.
        """
        if self.supervisor.find(command.name) is not None:
            return False
        with self._lock:
            self._started.append(command.name)
        self.supervisor.start(command)
        return True

    def seconds(self) -> float:
        """Seconds since this ``up`` began."""
        return time.monotonic() - self._began

    def _datacenter(self, cluster: Cluster) -> None:
        nodes = cluster.nodes(self.settings)
        for node in nodes:
            if self.supervisor.find(node.name) is None:
                self.start(
                    brokers.prepare(
                        cluster,
                        node,
                        home=self.home,
                        settings=self.settings,
                        credentials=self.credentials,
                        jvm=self.jvm,
                    )
                )
        self.supervisor.wait(
            [node.name for node in nodes],
            lambda: world.brokers_answer(cluster, settings=self.settings, credentials=self.credentials),
            seconds=BROKER_SECONDS,
            expected=f"an answer from all {len(nodes)} broker(s) of {cluster.name}",
        )
        world.furnish(cluster, settings=self.settings, credentials=self.credentials)
        self.report(f"{cluster.name}: {len(nodes)} broker(s), users, rights, topics", self.seconds())
        if self.supervisor.find(cluster.connect_name) is None:
            self.start(
                connect.prepare(
                    cluster, home=self.home, settings=self.settings, credentials=self.credentials, jvm=self.jvm
                )
            )
        self.supervisor.wait(
            [cluster.connect_name],
            lambda: connect.answers(cluster, self.settings),
            seconds=CONNECT_SECONDS,
            expected="an answer 200 from /connectors",
        )
        self.report(f"{cluster.name}: Connect worker", self.seconds())

    def _undo(self) -> None:
        for name in reversed(self._started):
            self.supervisor.stop(name)
