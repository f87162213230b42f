"""One ``up``: bring every part to where it answers, all or nothing.

The clusters and Airflow start at the same time. A part that already runs is left alone; if one part fails,
what this call started is stopped again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Protocol

from lab import brokers, clients, connect, provisioning
from lab.clusters import Cluster
from lab.context import LabContext
from lab.errors import NotReady
from lab.jvm import Jvm
from lab.ports import check_free
from lab.processes import Command, Supervisor

BROKER_SECONDS = 120.0
CONNECT_SECONDS = 180.0

Report = Callable[[str, float], None]


class Part(Protocol):
    """Something that starts at the same time as the clusters."""

    def ports(self) -> list[tuple[int, str]]:
        """The ports that it listens on, each with the name of the process."""

    def start(self, startup: Startup) -> None:
        """Start what does not run and return when it answers."""


@dataclass(slots=True)
class Startup:
    """The state of one ``up``.

    :param jvm: of Connect
    :param report: called with what became ready and the seconds since the start.
    :param connect: whether the Connect workers belong to the lab
    """

    context: LabContext
    jvm: Jvm
    brokers_jvm: Jvm
    supervisor: Supervisor
    report: Report
    connect: bool = True
    _began: float = field(default_factory=time.monotonic)
    _started: list[str] = field(default_factory=list)
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def run(self, *others: Part) -> None:
        """Start what does not run and wait until everything answers.

        :param others: more parts, started at the same time as the clusters.
        :raises LabError: a part did not become ready; nothing that this call started still runs.
        """
        self.supervisor.sweep()
        self._check_ports([port for part in others for port in part.ports()])
        clients.write_files(self.context)
        try:
            self._run_all(others)
        except BaseException:
            for name in reversed(self._started):
                self.supervisor.stop(name)
            raise

    def _run_all(self, others: Sequence[Part]) -> None:
        with ThreadPoolExecutor(len(self.context.clusters) + len(others)) as pool:
            parts = [pool.submit(self._datacenter, cluster) for cluster in self.context.clusters]
            parts += [pool.submit(part.start, self) for part in others]
            try:
                for part in as_completed(parts):
                    part.result()
            except BaseException:
                self._cancelled.set()  # the others stop waiting, so that the pool can end
                raise

    def _check_ports(self, needed: list[tuple[int, str]]) -> None:
        for cluster in self.context.clusters:
            for node in cluster.nodes(self.context.settings):
                votes = node in cluster.voters(self.context.settings)
                ports = (node.client_port, node.internal_port, *((node.controller_port,) if votes else ()))
                ports += (node.outside_port,) if self.context.settings.proxied else ()
                needed += [(port, node.name) for port in ports]
            if self._has_connect(cluster):
                needed.append((cluster.connect_port(self.context.settings.ports), cluster.connect_name))
        check_free((port, name) for port, name in needed if self.supervisor.find(name) is None)

    def start(self, command: Command) -> None:
        """Start a process unless it runs."""
        if self.claim(command.name):
            self.supervisor.start(command)

    def claim(self, name: str) -> bool:
        """Say whether this call has to start the process; if so, it will be stopped should this call fail.

        :raises NotReady: another part failed meanwhile.
        """
        running = self.supervisor.find(name)
        if running is not None:
            running.resume()  # it may have been paused
            return False
        if self._cancelled.is_set():
            raise NotReady(f"{name} was not started, because another part failed")
        self._started.append(name)
        return True

    def seconds(self) -> float:
        """Seconds since this ``up`` began."""
        return time.monotonic() - self._began

    def wait(self, names: Sequence[str], ready: Callable[[], bool], *, seconds: float, expected: str) -> None:
        """Wait for a part, unless another part fails meanwhile.

        :raises NotReady: it did not become ready.
        """
        self.supervisor.wait(names, ready, seconds=seconds, expected=expected, cancelled=self._cancelled.is_set)

    def _datacenter(self, cluster: Cluster) -> None:
        nodes = cluster.nodes(self.context.settings)
        for node in nodes:
            self.start(brokers.prepare(self.context, cluster, node, jvm=self.brokers_jvm))
        self.wait(
            [node.name for node in nodes],
            lambda: provisioning.brokers_answer(self.context, cluster),
            seconds=BROKER_SECONDS,
            expected=f"an answer from all {len(nodes)} broker(s) of {cluster.name}",
        )
        provisioning.provision(self.context, cluster)
        self.report(f"{cluster.name}: {len(nodes)} broker(s), users, rights, topics", self.seconds())
        if self._has_connect(cluster):
            self._start_connect(cluster)

    def _has_connect(self, cluster: Cluster) -> bool:
        """Whether a Connect worker of a cluster belongs to this lab."""
        return self.connect and cluster.name in self.context.settings.connect

    def _start_connect(self, cluster: Cluster) -> None:
        self.start(connect.prepare(self.context, cluster, jvm=self.jvm))
        self.wait(
            [cluster.connect_name],
            lambda: connect.answers(cluster, self.context.settings),
            seconds=CONNECT_SECONDS,
            expected="an answer 200 from /connectors",
        )
        self.report(f"{cluster.name}: Connect worker", self.seconds())
