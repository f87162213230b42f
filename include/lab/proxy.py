"""The lab's proxy: whoever is outside of a datacenter reaches it through this, in a lab that is made with it.

Outside is Airflow with all that it runs, the vantage, and the Connect worker of each other cluster. Inside are the
applications, which the route leads to the brokers themselves, the cluster's own Connect worker where it writes, and who
judges the lab. What is inside a cluster that is cut off still reaches the others: the lab cuts the way in.
"""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass

from lab import proxy_server
from lab.context import LabContext
from lab.errors import LabError
from lab.layout import LOOPBACK, Settings
from lab.processes import Command
from lab.startup import Startup

NAME = "proxy"
_READY_SECONDS, _ANSWER_SECONDS = 20.0, 5.0


@dataclass(frozen=True, slots=True)
class LabProxy:
    """It as one part of an ``up``."""

    context: LabContext

    def ports(self) -> list[tuple[int, str]]:
        """Where it is reached from outside, and its control port."""
        return [(port, NAME) for port in (self.context.settings.ports.proxy, *(out for _, out, _ in self._forwarded()))]

    def start(self, startup: Startup) -> None:
        """Start it unless it runs, and make every link whole."""
        startup.start(self.command())
        startup.wait([NAME], self.heal_all, seconds=_READY_SECONDS, expected="an answer on its control port")
        startup.report("a proxy before each cluster", startup.seconds())

    def command(self) -> Command:
        """Return how it is started."""
        settings = self.context.settings
        argv = [sys.executable, "-I", proxy_server.__file__, "--host", LOOPBACK, "--control", str(settings.ports.proxy)]
        argv += [f"{name}:{outside}:{inside}" for name, outside, inside in self._forwarded()]
        return Command(NAME, tuple(argv), self.context.home.root, grace_seconds=1.0)

    def _forwarded(self) -> list[tuple[str, int, int]]:
        """Cluster, the port outside, and the port inside, of each process that is reached from outside."""
        settings, found = self.context.settings, list[tuple[str, int, int]]()
        for cluster in self.context.clusters:
            found += [(cluster.name, node.proxy_port, node.outside_port) for node in cluster.nodes(settings)]
            found.append(
                (cluster.name, cluster.outside_connect_port(settings), cluster.connect_port(settings.ports)),
            )
        return found

    def heal_all(self) -> bool:
        """Make every link whole; say whether it answers."""
        try:
            for cluster in self.context.clusters:
                control(self.context.settings, cluster.name, "heal")
        except LabError:
            return False
        return True


def control(settings: Settings, *words: str) -> None:
    """Make the proxy do something.

    :param words: a cluster; then ``cut``, ``heal``, or ``delay`` and for how many milliseconds each way
    :raises LabError: it does not understand that, or does not answer
    """
    if not settings.proxied:
        raise LabError("this lab has no proxy: make one with `up --proxied`")
    ask(settings, *words)


def ask(settings: Settings, *words: str) -> None:
    """Say something to the proxy that listens on the control port of a lab.

    :param words: a link; then what to do with it
    :raises LabError: it does not understand that, or does not answer
    """
    try:
        with socket.create_connection((LOOPBACK, settings.ports.proxy), timeout=_ANSWER_SECONDS) as asked:
            asked.sendall(f"{' '.join(words)}\n".encode())
            answer = asked.makefile().readline().strip()
    except OSError as error:
        raise LabError(f"the proxy does not answer ({error}): see `logs {NAME}`") from error
    if answer:
        raise LabError(f"the proxy says: {answer}")
