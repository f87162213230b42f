"""Two clusters that are not the lab's: other names, principals and topics, TLS on the listener for clients."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings, KafkaCluster
from kafka_dr.errors import KafkaDrError
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.replication.connect import ConnectClient
from lab.jvm import Jvm
from support.java_processes import java_processes
from support.secured_connect import Authority

ADMIN, PASSWORD = "platform-root", "open-sesame-2002"
_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class ForeignCluster:
    """One broker with Kafka's authorizer; clients log in by SCRAM over TLS.

    :param port: of the listener for clients; the next two are the broker's own
    """

    name: str
    cluster_id: str
    port: int
    folder: Path
    authority: Authority

    @property
    def address(self) -> str:
        """Where clients reach it."""
        return f"127.0.0.1:{self.port}"

    def settings(self, principal: str = ADMIN, password: str = PASSWORD) -> ClientSettings:
        """Return how a principal reaches it."""
        login = {"username": principal, "password": password}
        return ClientSettings(
            self.address, "SASL_SSL", "SCRAM-SHA-512", ca_file=str(self.authority.ca_file), connection="test", **login
        )

    def reached(self) -> KafkaCluster:
        """Return it as its administrator sees it."""
        return KafkaCluster(self.name, self.settings(), request_seconds=60)

    def client_file(self, *, password: str = PASSWORD) -> Path:
        """Write the settings of the administrator's client, as Java's tools read them."""
        path = self.folder / "admin.properties"
        java_settings = self.settings(password=password).java()
        path.write_text("".join(f"{key}={value}\n" for key, value in java_settings.items()))
        return path

    def make_logins(self, passwords: Mapping[str, str]) -> None:
        """Make users that log in by SCRAM."""
        with self.reached() as cluster:
            wanted = [
                UserScramCredentialUpsertion(
                    name, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), password.encode()
                )
                for name, password in passwords.items()
            ]
            for future in cluster._session.admin.alter_user_scram_credentials(wanted).values():
                future.result(timeout=20)

    def properties(self) -> str:
        """Return the broker's settings."""
        listeners = f"CLIENTS://{self.address},BROKERS://127.0.0.1:{self.port + 1}"
        values: dict[str, object] = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{self.port + 2}",
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{self.port + 2}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "CLIENTS:SASL_SSL,BROKERS:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "BROKERS",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.clients.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "listener.name.clients.ssl.keystore.type": "PEM",
            "listener.name.clients.ssl.keystore.location": self.authority.signed(f"broker-{self.name}"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:ANONYMOUS;User:{ADMIN}",
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 2,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 2,
            "log.dirs": self.folder / "data",
        }
        return "".join(f"{name}={value}\n" for name, value in values.items())

    @contextmanager
    def running(self, jvm: Jvm) -> Iterator[None]:
        """Run the broker."""
        properties = self.folder / "server.properties"
        properties.write_text(self.properties())
        user = f"SCRAM-SHA-512=[name={ADMIN},password={PASSWORD}]"
        given = ("format", "--cluster-id", self.cluster_id, "--config", str(properties), "--add-scram", user)
        formatting = jvm.argv("kafka.tools.StorageTool", *given, heap_megabytes=128, folder=self.folder)
        subprocess.run(formatting, check=True, capture_output=True, timeout=_SECONDS)
        command = jvm.argv("kafka.Kafka", str(properties), heap_megabytes=256, folder=self.folder)
        with _started(command, self.folder / "broker.log") as process:
            _wait_until(self._answers, process, self.folder / "broker.log")
            yield

    def _answers(self) -> None:
        with KafkaCluster(self.name, self.settings(), request_seconds=3) as cluster:
            cluster.topics.identity()


@contextmanager
def foreign_clusters(folder: Path, port: int) -> Iterator[tuple[ForeignCluster, ForeignCluster, Jvm]]:
    """Run both; the first one has the applications."""
    jvm = java_processes()
    authority = Authority.made(folder / "authority", valid=timedelta(days=90))
    made = []
    for number, (name, cluster_id) in enumerate(
        (("berlin", "Berlin0000000000000000"), ("oslo", "Oslo000000000000000000"))
    ):
        own = folder / name
        own.mkdir()
        made.append(ForeignCluster(name, cluster_id, port + 10 * number, own, authority))
    with ExitStack() as stack:
        for each in made:
            stack.enter_context(each.running(jvm))
        yield made[0], made[1], jvm


@contextmanager
def worker_of(properties: Path, rest: str, jvm: Jvm, folder: Path) -> Iterator[None]:
    """Run a Connect worker with a file of settings as it is, and wait until it serves."""
    folder.mkdir()
    command = jvm.argv(
        "org.apache.kafka.connect.cli.ConnectDistributed", str(properties), heap_megabytes=256, folder=folder
    )

    def serves() -> None:
        with ConnectClient(HttpEndpoint(rest), clock=SystemClock()) as connect:
            connect.connectors()

    with _started(command, folder / "worker.log") as process:
        _wait_until(serves, process, folder / "worker.log")
        yield


@contextmanager
def _started(command: tuple[str, ...], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as written, subprocess.Popen(command, stdout=written, stderr=written) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait_until(answers: Callable[[], object], process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            answers()
            return
        except KafkaDrError:
            time.sleep(0.3)
    raise AssertionError(f"it does not answer: {log.read_text()[-3000:]}")
