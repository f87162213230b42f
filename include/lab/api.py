"""The lab for programs: tests and the demo start it, break it and ask it through this class."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kafka_dr.clusters.model import Acl
from kafka_dr.connections.sources import ConnectionSource
from kafka_dr.parallel import ask_all
from lab import airflow_home, class_archives, clients, credentials, jars, java, proxy, rights, spark, topology_file
from lab.airflow_services import Airflow
from lab.allowed import allowed_in
from lab.bootstrap import cache_folder, check_space
from lab.clusters import Cluster, clusters_of
from lab.context import LabContext
from lab.errors import LabError
from lab.jvm import Jvm
from lab.layout import (
    DEFAULT_HOME,
    LOOPBACK,
    MECHANISM,
    Block,
    Flows,
    Home,
    Mechanism,
    Naming,
    Settings,
    chosen_settings,
    shown,
)
from lab.ports import check_not_ephemeral, ephemeral_ports
from lab.processes import Supervisor
from lab.proxy import LabProxy
from lab.spark_cluster import SparkCluster, driver_settings
from lab.startup import Part, Report, Startup
from lab.status import AirflowStatus, ClusterStatus, LabStatus, ProcessStatus
from lab.vantage import LabVantage

NEEDED_BYTES = 2 * 1024**3
LOCK_SECONDS = 120.0


def _silent(_what: str, _seconds: float) -> None:
    """Report nothing."""


class Lab:
    """One lab, known by its folder.

    :param home: folder of all its state; by default ``.lab`` in the project.
    :param port_base: first of its ports; by default the one that it was made with.
    :param brokers: brokers in each cluster; by default as it was made.
    :param environ: settings from outside (``KAFKA_DR_…``); by default those of this process.
    :param dags: folder of the DAGs that its Airflow runs; by default the project's.
    :param recording: whether its processes write archives of their classes when they end
    :param mechanism: how principals log in to a new lab
    :param spark_cluster: whether audits run on a Spark cluster of its own; a lab that was made with one keeps it
    :param clusters: how many; by default as it was made, or two
    :param flows: source and target of each flow; by default as it was made, or from each cluster to each other
        one, and back
    :param kafka: the version of the brokers, one of :data:`lab.jars.BROKERS`; by default as it was made, or Connect's
    :param naming: what copies of topics are called; by default as it was made, or as their originals
    :param proxied: whether it has a proxy before each cluster; one that was made with it keeps it
    :param block: how its clusters are used together, each with applications of its own; by default as it was made
    """

    #: How far the audits of its schedules step back from what somebody waits for, as ``nice`` counts.
    spark_niceness = 19

    def __init__(
        self,
        home: Path | None = None,
        *,
        port_base: int | None = None,
        brokers: int | None = None,
        environ: Mapping[str, str] | None = None,
        dags: Path = airflow_home.DAGS,
        recording: bool = False,
        mechanism: Mechanism = MECHANISM,
        spark_cluster: bool = False,
        clusters: int | None = None,
        flows: Flows | None = None,
        kafka: str | None = None,
        naming: Naming | None = None,
        proxied: bool = False,
        block: Block | None = None,
    ) -> None:
        self.home = Home((home or DEFAULT_HOME).expanduser().absolute())
        self.settings = chosen_settings(
            self.home,
            port_base=port_base,
            brokers=brokers,
            mechanism=mechanism,
            spark_cluster=spark_cluster,
            clusters=clusters,
            flows=flows,
            kafka=kafka,
            naming=naming,
            proxied=proxied,
            block=block,
        )
        self.clusters = clusters_of(self.settings)
        self.supervisor = Supervisor(self.home)
        self._dags = dags
        self._recording = recording
        self._environ = dict(os.environ if environ is None else environ)

    @property
    def environ(self) -> dict[str, str]:
        """What the topology and the project's code read from the environment in this lab. No secrets."""
        values = {
            "KAFKA_DR_TOPOLOGY": str(topology_file.path(self.home, self.settings)),
            "KAFKA_DR_LAB_HOME": str(self.home.root),
            "KAFKA_DR_LAB_VANTAGE": self.settings.vantage,
        }
        for cluster in self.clusters:
            values[f"KAFKA_DR_LAB_{cluster.name.upper()}"] = cluster.outside_bootstrap(self.settings)
        return values

    def cluster(self, name: str) -> Cluster:
        """Return the cluster of this name.

        :raises LabError: the lab has none.
        """
        for cluster in self.clusters:
            if cluster.name == name:
                return cluster
        raise LabError(f"the lab has no cluster {name!r}: its clusters are {', '.join(self.settings.names)}")

    def allowed_on(self, cluster: str) -> Iterator[Acl]:
        """Yield every right that the lab gives on a cluster."""
        return allowed_in(self.home, self.settings, self.cluster(cluster))

    def target_of(self, source: str) -> str:
        """Return where the first flow from a cluster leads.

        :raises LabError: no flow begins there.
        """
        for begin, end in self.settings.flows:
            if begin == source:
                return end
        raise LabError(f"no flow of the lab begins on {source}: its flows are {shown(self.settings.flows)}")

    def up(self, *, airflow: bool = True, connect: bool = True, report: Report = _silent) -> LabStatus:
        """Start what does not run; return when everything answers.

        :param airflow: whether Airflow belongs to it.
        :param connect: whether the Connect workers belong to it
        :param report: called with each part that became ready and the seconds since the start.
        :raises LabError: something cannot start; what this call started is stopped again.
        """
        began = time.monotonic()
        self.home.root.mkdir(parents=True, exist_ok=True)
        with self._locked():
            check_space(self.home.root, NEEDED_BYTES)
            self._refuse_moved_ports()
            check_not_ephemeral(self.settings.ports, ephemeral=ephemeral_ports())
            java_home = java.java_home(self._environ)
            jvm, brokers_jvm = (
                self._jvm(lock, java_home, report) for lock in (jars.KAFKA, jars.BROKERS[self.settings.kafka])
            )
            self.settings.write(self.home)
            topology_file.write(self.home, self.settings)
            startup = Startup(
                context=self._context(),
                jvm=jvm,
                brokers_jvm=brokers_jvm,
                supervisor=self.supervisor,
                report=report,
                connect=connect,
            )
            others: list[Part] = [LabVantage(self._context()), *([self._airflow(jvm)] if airflow else [])]
            if self.settings.proxied:
                others.append(LabProxy(self._context()))
            if self.settings.spark_cluster:
                others.append(SparkCluster(self._context(), self._spark_environ(java_home)))
            startup.run(*others)
        return replace(self.status(), ready_seconds=round(time.monotonic() - began, 1))

    def down(self, *, delete: bool = False) -> None:
        """Stop every process of the lab; with ``delete`` remove its state, too, which no process has to save then.

        :raises LabError: something cannot be ended.
        """
        if not self.home.root.exists():
            return
        with self._locked():
            names = list(self.supervisor.names())
            first = [name for name in names if "-broker-" not in name]  # brokers go last: the others take leave of them
            for group in (first, [name for name in names if name not in first]):
                _stop_together(self.supervisor, group, at_once=delete)
            self.supervisor.sweep()
        if delete:
            self.home.delete()

    def status(self) -> LabStatus:
        """Look at the lab once."""
        processes = []
        for name in self.supervisor.names():
            process = self.supervisor.find(name)
            processes.append(
                ProcessStatus(
                    name=name,
                    running=process is not None,
                    pid=process.pid if process else None,
                    log=self.supervisor.log(name),
                )
            )
        return LabStatus(
            home=self.home.root,
            port_base=self.settings.port_base,
            brokers=self.settings.brokers,
            processes=tuple(processes),
            clusters=tuple(self._cluster_status(cluster) for cluster in self.clusters),
            airflow=AirflowStatus(
                url=f"http://{LOOPBACK}:{self.settings.ports.airflow}",
                home=self.home.airflow,
                passwords=airflow_home.passwords_file(self.home),
                users=credentials.AIRFLOW_USERS,
            ),
            route=self.home.route,
            evidence=self.home.evidence,
            environ=self.environ,
        )

    def client_settings(self, cluster: str, principal: str) -> dict[str, str]:
        """Settings of a principal in librdkafka's names, the password among them."""
        return clients.librdkafka(self._context(), self.cluster(cluster), principal)

    def connections(self) -> ConnectionSource:
        """Return the connections that Airflow has here, for programs without Airflow."""
        return ConnectionSource({}, airflow_home.connections(self._context()))

    def spark_environ(self) -> dict[str, str]:
        """Return the environment in which ``spark-submit`` runs the project's jobs against this lab. No secrets.

        :raises LabError: the Kafka source's jars cannot be fetched
        """
        compiled = spark.compiled_in(cache_folder(self._environ))
        return self.environ | self._spark_environ(java.java_home(self._environ)) | compiled

    def kill(self, name: str) -> None:
        """End a process as a crash would, e.g. ``east-broker-1``."""
        self.supervisor.kill(name)

    def pause(self, name: str) -> None:
        """Stop a process from running without ending it: it hangs, and its connections stay open."""
        self.supervisor.pause(name)

    def resume(self, name: str) -> None:
        """Let a paused process run again."""
        self.supervisor.signal(name, signal.SIGCONT)

    def cut(self, cluster: str) -> None:
        """Cut a cluster off from everybody outside of its datacenter, as a dead link does: nothing is answered."""
        proxy.control(self.settings, cluster, "cut")

    def heal(self, cluster: str) -> None:
        """Let it be reached from outside again."""
        proxy.control(self.settings, cluster, "heal")

    def delay(self, cluster: str, milliseconds: int) -> None:
        """Let everything take so long on its way into the cluster, and as long on its way out."""
        proxy.control(self.settings, cluster, "delay", str(milliseconds))

    def restart(self, name: str) -> None:
        """Start a process again as it was started last, whether it runs or not; it may not answer at once."""
        self.supervisor.restart(name)

    def _jvm(self, lock: Path, java_home: Path, report: Report) -> Jvm:
        cache = cache_folder(self._environ)
        kafka = jars.obtain(lock, cache=cache, environ=self._environ, progress=_jars_progress(report))
        archives = class_archives.folder_of(cache, java_home=java_home, kafka=kafka)
        return Jvm(java_home, kafka, archives, self._recording)

    def _airflow(self, jvm: Jvm) -> Airflow:
        return Airflow(
            context=self._context(),
            environ=self.environ | self._spark_environ(jvm.java_home) | {java.NICENESS: str(self.spark_niceness)},
            dags=self._dags,
        )

    def _spark_environ(self, java_home: Path) -> dict[str, str]:
        where = driver_settings(self._context()) if self.settings.spark_cluster else {}
        return spark.prepare(
            self.home, java_home=java_home, cache=cache_folder(self._environ), environ=self._environ, where=where
        )

    def _cluster_status(self, cluster: Cluster) -> ClusterStatus:
        principals = (credentials.ADMIN, *rights.PRINCIPALS)
        return ClusterStatus(
            name=cluster.name,
            cluster_id=cluster.cluster_id,
            bootstrap_servers=cluster.bootstrap(self.settings),
            connect_url=cluster.connect_url(self.settings),
            connect_group_id=cluster.connect_group_id,
            connect_secrets=self.home.connect(cluster.name) / "secrets.properties",
            client_settings={each: self.home.client(cluster.name, each) for each in principals},
            java_client_settings={each: self.home.java_client(cluster.name, each) for each in principals},
        )

    def _context(self) -> LabContext:
        passwords = credentials.obtain(self.home, clusters=self.settings.names, principals=rights.PRINCIPALS)
        return LabContext(home=self.home, settings=self.settings, credentials=passwords)

    def _refuse_moved_ports(self) -> None:
        stored = Settings.read(self.home)
        if stored is None or stored.port_base == self.settings.port_base:
            return
        if any(self.supervisor.find(name) for name in self.supervisor.names()):
            raise LabError(
                f"the lab in {self.home.root} runs on ports from {stored.port_base}, not {self.settings.port_base}: "
                "run `down` first, or leave --port-base out"
            )
        if self.home.route.exists():
            raise LabError(
                f"the route of the lab in {self.home.root} leads to ports from {stored.port_base}, not "
                f"{self.settings.port_base}: leave --port-base out, or run `down --delete` first"
            )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        deadline = time.monotonic() + LOCK_SECONDS
        with (self.home.root / "lock").open("w") as handle:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError as error:
                    if time.monotonic() > deadline:
                        raise LabError(
                            f"another command has been working on {self.home.root} for {LOCK_SECONDS:.0f} s: "
                            "wait for it or end it"
                        ) from error
                    time.sleep(0.1)
            yield


def _jars_progress(report: Report) -> Callable[[int, int], None]:
    began = time.monotonic()

    def progress(done: int, of: int) -> None:
        if done % 20 == 0 or done == of:
            report(f"jars: {done} of {of} fetched and checked", time.monotonic() - began)

    return progress


def _stop_together(supervisor: Supervisor, names: Sequence[str], *, at_once: bool) -> None:
    ask_all(lambda name: supervisor.stop(name, at_once=at_once), names)
