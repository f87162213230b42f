"""One broker with TLS: a private authority, client certificates, logins over TLS, and wrong certificates."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from kafka_dr.clusters import ClientSettings, KafkaCluster
from kafka_dr.errors import KafkaDrError
from support.java_processes import java_processes
from support.secured_connect import Authority

USER, PASSWORD = "dr-operator", "open-sesame-1001"
_CLUSTER_ID = "TlsBrokerOfTests000000"
_SECONDS = 90.0
#: Where its ports begin, from the first one of the worker on: nothing else of a test run listens there.
TLS_FROM = 900
#: By listener: the protocol, and the offset of its port.
_LISTENERS = {
    "OPEN": ("PLAINTEXT", 0),
    "TLS": ("SSL", 1),
    "LOGIN": ("SASL_SSL", 2),
    "EXPIRED": ("SSL", 3),
    "ELSEWHERE": ("SSL", 4),
}


@dataclass(frozen=True, slots=True)
class TlsBroker:
    """A running broker, and the files that its clients need."""

    authority: Authority
    stranger: Authority
    folder: Path
    port_base: int

    def address(self, listener: str) -> str:
        """Return host and port of a listener."""
        return f"127.0.0.1:{self.port_base + _LISTENERS[listener][1]}"

    def settings(self, listener: str, **changes: object) -> ClientSettings:
        """Return how the operator reaches a listener, with what a test changes."""
        protocol = _LISTENERS[listener][0]
        login = {"sasl_mechanism": "SCRAM-SHA-512", "username": USER, "password": PASSWORD}
        tls = {"ca_file": str(self.authority.ca_file)}
        mutual = dict.fromkeys(("certificate_file", "key_file"), str(self.authority.folder / "client.pem"))
        given = {
            "bootstrap_servers": self.address(listener),
            "security_protocol": protocol,
            "connection": "kafka_east_operator",
            **(login if protocol == "SASL_SSL" else {}),
            **(tls if protocol != "PLAINTEXT" else {}),
            **(mutual if protocol == "SSL" else {}),
        }
        return ClientSettings(**{**given, **changes})  # type: ignore[arg-type]

    def _properties(self) -> str:
        expired = self.authority.signed("expired", valid=timedelta(hours=-1))
        elsewhere = self.authority.signed("elsewhere", address="127.9.9.9")
        keys = {
            "TLS": self.authority.signed("broker"),
            "LOGIN": self.authority.signed("broker-login"),
            "EXPIRED": expired,
            "ELSEWHERE": elsewhere,
        }
        advertised = ",".join(f"{name}://{self.address(name)}" for name in _LISTENERS)
        values: dict[str, object] = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{self.port_base + 9}",
            "listeners": f"{advertised},CONTROLLER://127.0.0.1:{self.port_base + 9}",
            "advertised.listeners": advertised,
            "listener.security.protocol.map": ",".join(
                (*(f"{name}:{protocol}" for name, (protocol, _) in _LISTENERS.items()), "CONTROLLER:PLAINTEXT")
            ),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "OPEN",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.login.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "listener.name.tls.ssl.client.auth": "required",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.authority.ca_file,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "log.dirs": self.folder / "data",
        }
        for name, file in keys.items():
            values[f"listener.name.{name.lower()}.ssl.keystore.type"] = "PEM"
            values[f"listener.name.{name.lower()}.ssl.keystore.location"] = file
        return "".join(f"{name}={value}\n" for name, value in values.items())


@contextmanager
def tls_broker(folder: Path, port_base: int) -> Iterator[TlsBroker]:
    """Run the broker and lend it."""
    broker = TlsBroker(Authority.made(folder / "authority"), Authority.made(folder / "stranger"), folder, port_base)
    for authority in (broker.authority, broker.stranger):
        authority.signed("client")
    properties = folder / "server.properties"
    properties.write_text(broker._properties())
    jvm = java_processes()
    user = f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"
    _format = ("format", "--cluster-id", _CLUSTER_ID, "--config", str(properties), "--add-scram", user)
    argv = jvm.argv("kafka.tools.StorageTool", *_format, heap_megabytes=128, folder=folder)
    subprocess.run(argv, check=True, capture_output=True, timeout=_SECONDS)
    command = jvm.argv("kafka.Kafka", str(properties), heap_megabytes=256, folder=folder)
    log = folder / "broker.log"
    with log.open("wb") as written, subprocess.Popen(command, stdout=written, stderr=written) as process:
        try:
            _wait(broker, process, log)
            yield broker
        finally:
            process.kill()


def _wait(broker: TlsBroker, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with KafkaCluster("east", broker.settings("LOGIN"), request_seconds=3) as cluster:
            try:
                cluster.topics.identity()
                return
            except KafkaDrError:
                time.sleep(0.2)
    raise AssertionError(f"the broker does not answer: {log.read_text()[-3000:]}")
