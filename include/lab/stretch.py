"""One cluster that is spread over several sites, and nothing else: brokers with racks, one voter in each of three."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import brokers, class_archives, clients, credentials, jars, java, provisioning, proxy_server, rights
from lab.bootstrap import cache_folder
from lab.clusters import EAST, Node
from lab.context import LabContext
from lab.jvm import Jvm
from lab.layout import LOOPBACK, Home, Settings
from lab.ports import check_free
from lab.processes import Command, Supervisor
from lab.proxy import ask
from lab.rights import Right

BROKERS, SITES = 6, 3
READY_SECONDS = 180.0
_PROXY = "proxy"


@dataclass(frozen=True, slots=True)
class StretchedCluster:
    """The lab's east, spread over three sites with two brokers each."""

    context: LabContext
    supervisor: Supervisor
    jvm: Jvm

    @classmethod
    def prepare(
        cls,
        folder: Path,
        *,
        port_base: int,
        principals: Sequence[str] = (),
        slow_links: bool = False,
        controllers_apart: bool = False,
    ) -> StretchedCluster:
        """Take a folder and ports; nothing is started.

        :param principals: users that it gets, next to those of each lab
        :param slow_links: whether brokers reach each other by a proxy
        :param controllers_apart: whether the second node of each site is its controller, and no broker
        """
        home, environ = Home(folder.absolute()), dict(os.environ)
        cache, home_of_java = cache_folder(environ), java.java_home(environ)
        settings = Settings(
            port_base=port_base,
            brokers=BROKERS,
            sites=SITES,
            slow_links=slow_links,
            controllers_apart=controllers_apart,
        )
        users = (*rights.PRINCIPALS, *principals)
        passwords = credentials.obtain(home, clusters=settings.names, principals=users)
        found = jars.obtain(jars.BROKERS[settings.kafka], cache=cache, environ=environ, progress=lambda *_: None)
        archives = class_archives.folder_of(cache, java_home=home_of_java, kafka=found)
        context = LabContext(home=home, settings=settings, credentials=passwords)
        return cls(context, Supervisor(home), Jvm(java_home=home_of_java, jars=found, archives=archives))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Its brokers; the first three vote, each in a site of its own."""
        return EAST.nodes(self.context.settings)

    @property
    def sites(self) -> dict[str, tuple[Node, ...]]:
        """The brokers of each site."""
        found: dict[str, tuple[Node, ...]] = {}
        for node in self.nodes:
            site = node.site(SITES)
            found[site] = (*found.get(site, ()), node)
        return found

    def start(self, granted: Sequence[Right] = ()) -> None:
        """Start everything, and return when users, rights and the usual topics are there.

        :param granted: rights of the principals that were named
        :raises LabError: something cannot start
        """
        settings = self.context.settings
        wanted = [(port, node.name) for node in self.nodes for port in (node.client_port, node.internal_port)]
        check_free((port, name) for port, name in wanted if self.supervisor.find(name) is None)
        clients.write_files(self.context)
        if settings.slow_links:
            links = [f"{node.name}:{node.proxy_port}:{node.internal_port}" for node in self.nodes]
            argv = [sys.executable, "-I", proxy_server.__file__, "--host", LOOPBACK]
            argv += ["--control", str(settings.ports.proxy), *links]
            self.supervisor.start(Command(_PROXY, tuple(argv), self.context.home.root, grace_seconds=1.0))
        for node in self.nodes:
            self.supervisor.start(brokers.prepare(self.context, EAST, node, jvm=self.jvm))
        self.wait()
        provisioning.provision(self.context, EAST)
        if granted:
            provisioning.admit(self.context, EAST, granted)

    def wait(self) -> None:
        """Wait until all brokers answer.

        :raises NotReady: one does not
        """
        self.supervisor.wait(
            [node.name for node in self.nodes],
            lambda: provisioning.brokers_answer(self.context, EAST),
            seconds=READY_SECONDS,
            expected="an answer from all brokers",
        )

    def kill(self, site: str) -> None:
        """End all brokers of a site at once, as a power failure would."""
        for node in self.sites[site]:
            self.supervisor.kill(node.name)

    def bring_back(self, site: str) -> None:
        """Start the brokers of a site again, and wait until they answer."""
        for node in self.sites[site]:
            self.supervisor.restart(node.name)
        self.wait()

    def delay(self, milliseconds: int) -> None:
        """Let everything that brokers say to each other take so long each way."""
        for node in self.nodes:
            ask(self.context.settings, node.name, "delay", str(milliseconds))

    def stop(self, *, delete: bool = False) -> None:
        """Stop what runs, the voters last; with ``delete`` remove its state, too."""
        for name in reversed(self.supervisor.names()):
            self.supervisor.stop(name, at_once=delete)
        self.supervisor.sweep()
        if delete:
            self.context.home.delete()

    def client_settings(self, principal: str) -> dict[str, str]:
        """Settings of a principal in librdkafka's names, the password among them."""
        return clients.librdkafka(self.context, EAST, principal)
