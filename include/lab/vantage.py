"""The lab's second vantage: the project's own, as a company runs it in another network, here a process of its own."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from urllib.request import urlopen

from kafka_dr import vantage_server
from lab.context import LabContext
from lab.processes import Command
from lab.startup import Startup

NAME = "vantage"
_READY_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class LabVantage:
    """It as one part of an ``up``."""

    context: LabContext

    def ports(self) -> list[tuple[int, str]]:
        """The port on which it answers."""
        return [(self.context.settings.ports.vantage, NAME)]

    def start(self, startup: Startup) -> None:
        """Start it unless it runs, and wait until it sees every cluster up: only such a one it ever calls down."""
        startup.start(self.command())
        startup.wait([NAME], self._sees_all, seconds=_READY_SECONDS, expected="an answer that every cluster is up")
        startup.report("a vantage, which sees every cluster up", startup.seconds())

    def command(self) -> Command:
        """Return how it is started; it gets no login and no password."""
        settings = self.context.settings
        clusters = [f"{cluster.name}={cluster.outside_bootstrap(settings)}" for cluster in self.context.clusters]
        listen = f"{settings.listen}:{settings.ports.vantage}"
        argv = (sys.executable, "-I", vantage_server.__file__, "--listen", listen, *clusters)
        return Command(NAME, argv, self.context.home.root, grace_seconds=1.0)

    def _sees_all(self) -> bool:
        return all(self._sees(cluster.name) for cluster in self.context.clusters)

    def _sees(self, cluster: str) -> bool:
        try:
            with urlopen(f"http://{self.context.settings.vantage}/{cluster}", timeout=5) as answer:
                return bool(json.load(answer) == {"up": True})
        except (OSError, ValueError):
            return False
