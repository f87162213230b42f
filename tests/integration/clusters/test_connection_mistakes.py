"""Real brokers that do not accept what we connect with: every client says so, soon, and in a sentence of its own."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from kafka_dr.clusters import ClientSettings, ClusterUnreachable, KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.first_contact import look
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.errors import ConnectionMistake, TryAgain
from lab.api import Lab
from support.tls_broker import TLS_FROM, TlsBroker, tls_broker

pytestmark = pytest.mark.kafka

P = TopicPartition("__transaction_state", 0)
#: Long before the deadline of a request, which is 10 s.
_SOON = 6.0

#: Every way to a cluster: librdkafka's admin client, consumer and producers, and kafka-python.
WAYS: dict[str, Callable[[KafkaCluster], object]] = {
    "admin client, metadata": lambda cluster: cluster.topics.identity(),
    "admin client, request": lambda cluster: cluster.groups.names(),
    "reader": lambda cluster: list(cluster.log.read({P: OffsetRange(0, 5)})),
    "writer": lambda cluster: cluster.writing.append([NewRecord(P, b"k", b"v")]),
    "kept writer": lambda cluster: cluster.writing.append([NewRecord(P, b"k", b"v")], idempotent=False),
    "transactions": lambda cluster: _in_transaction(cluster),
    "kafka-python": lambda cluster: cluster.transactions.open(),
    "write permission": lambda cluster: cluster.write_permission.ask([P]),
}


def _in_transaction(cluster: KafkaCluster) -> None:
    with cluster.writing.transactions("kafka-dr-mistaken") as writer:
        writer.write([NewRecord(P, b"k", b"v")])


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, port_base: int) -> Iterator[TlsBroker]:
    with tls_broker(tmp_path_factory.mktemp("tls"), port_base + TLS_FROM) as running:
        yield running


@pytest.fixture
def operator(lab: Lab) -> ClientSettings:
    given = ClientSettings.from_librdkafka(lab.client_settings("east", "dr-operator"))
    return replace(given, connection="kafka_east_operator")


@pytest.mark.parametrize("way", WAYS)
def test_a_refused_login_is_a_mistake_of_ours_for_every_client_and_soon(way: str, operator: ClientSettings) -> None:
    began = time.monotonic()
    with (
        KafkaCluster("east", replace(operator, password="rotated")) as east,
        pytest.raises(ConnectionMistake) as caught,
    ):
        WAYS[way](east)
    assert time.monotonic() - began < _SOON
    assert not isinstance(caught.value, TryAgain)
    said = str(caught.value)
    assert "refuses the login of dr-operator (" in said
    assert "correct the name or the password in connection kafka_east_operator" in said
    assert "rotated" not in said


_NO_LOGIN = {"sasl_mechanism": None, "username": None, "password": None}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"username": "nobody"}, "refuses the login of nobody ("),
        ({"sasl_mechanism": "SCRAM-SHA-256"}, "correct sasl.mechanism in connection kafka_east_operator"),
        ({"security_protocol": "PLAINTEXT", **_NO_LOGIN}, "wants a login (PLAIN), and the connection says PLAINTEXT"),
        ({"security_protocol": "SASL_SSL"}, "speaks no TLS, and the connection says SASL_SSL"),
        ({"security_protocol": "SSL", **_NO_LOGIN}, "speaks no TLS, and the connection says SSL"),
        ({"bootstrap_servers": "nosuch.invalid:9092"}, "the host name nosuch.invalid is unknown here"),
    ],
)
def test_each_mistake_in_a_connection_has_a_sentence_of_its_own(
    changes: dict[str, object], said: str, operator: ClientSettings
) -> None:
    wrong = replace(operator, **changes)  # type: ignore[arg-type]
    with KafkaCluster("east", wrong, request_seconds=5) as east:
        for way in ("admin client, metadata", "kafka-python"):
            with pytest.raises(ConnectionMistake) as caught:
                WAYS[way](east)
            assert said in str(caught.value)
            assert "kafka_east_operator" in str(caught.value)


TLS_MISTAKES = {
    "an authority that we do not trust": ("TLS", "ca_file", "is signed by an authority that we do not trust"),
    "no authority that we trust": ("LOGIN", "ca_file", "is signed by an authority that we do not trust"),
    "an expired certificate": ("EXPIRED", "", "has expired"),
    "a certificate for another address": ("ELSEWHERE", "", "is for another address"),
    "no client certificate": ("TLS", "no certificate", "refuses our client certificate (none is set)"),
    "a client certificate of a stranger": ("TLS", "certificate", "refuses our client certificate"),
    "a client certificate that is not there": ("TLS", "missing", "because a file is missing: correct the paths"),
    "a wrong password over TLS": ("LOGIN", "password", "refuses the login of dr-operator"),
    "no TLS at a port of TLS": ("TLS", "PLAINTEXT", "speaks TLS, and the connection says PLAINTEXT"),
    "a login where none is taken": ("OPEN", "SASL_PLAINTEXT", "takes no login, and the connection says SASL_PLAINTEXT"),
}


@pytest.mark.parametrize("mistake", TLS_MISTAKES)
def test_each_mistake_in_tls_has_a_sentence_of_its_own(mistake: str, broker: TlsBroker) -> None:
    listener, what, said = TLS_MISTAKES[mistake]
    stranger = str(broker.stranger.folder / "client.pem")
    changes: dict[str, dict[str, object]] = {
        "ca_file": {"ca_file": str(broker.stranger.ca_file)},
        "": {},
        "no certificate": {"certificate_file": None, "key_file": None},
        "certificate": {"certificate_file": stranger, "key_file": stranger},
        "missing": {"certificate_file": "/nowhere.pem", "key_file": "/nowhere.pem"},
        "password": {"password": "rotated"},
        "PLAINTEXT": {"security_protocol": "PLAINTEXT"},
        "SASL_PLAINTEXT": {
            **{"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"},
            **{"username": "a", "password": "b"},
        },
    }
    with KafkaCluster("east", broker.settings(listener, **changes[what]), request_seconds=5) as east:
        for way in ("admin client, metadata", "admin client, request", "kafka-python"):
            with pytest.raises(ConnectionMistake) as caught:
                WAYS[way](east)
            assert said in str(caught.value)


@pytest.mark.parametrize("listener", ["OPEN", "TLS", "LOGIN"])
def test_a_right_connection_is_no_mistake(listener: str, broker: TlsBroker) -> None:
    settings = broker.settings(listener)
    assert look(settings, seconds=5).mistake == ""
    with KafkaCluster("east", settings) as east:
        assert east.topics.identity().brokers == (1,)
        assert east.transactions.open() == ()


def test_a_password_that_is_right_again_is_used_and_a_dead_broker_is_no_mistake(
    operator: ClientSettings, tmp_path: Path
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        gone = f"127.0.0.1:{nobody.getsockname()[1]}"
    dead = replace(operator, bootstrap_servers=gone, password="rotated")
    with KafkaCluster("east", dead, request_seconds=2) as east, pytest.raises(ClusterUnreachable):
        east.topics.identity()
    # One address of several names that nobody knows any more: its broker may be dead.
    half_known = replace(operator, bootstrap_servers=f"nosuch.invalid:9092,{gone}")
    with KafkaCluster("east", half_known, request_seconds=2) as east, pytest.raises(ClusterUnreachable):
        east.topics.identity()


@pytest.mark.parametrize("way", ["admin client, metadata", "admin client, request", "kafka-python"])
def test_a_broker_that_hangs_keeps_no_client_from_the_others(way: str, operator: ClientSettings) -> None:
    with ExitStack() as hung:
        # Each takes connections and says nothing, as a broker does whose process has stopped.
        silent = [hung.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in silent]
        servers = ",".join([operator.bootstrap_servers, *addresses])
        for _ in range(4):
            with KafkaCluster("east", replace(operator, bootstrap_servers=servers), request_seconds=6) as east:
                WAYS[way](east)


def test_a_proxy_whose_broker_is_dead_is_no_mistake(operator: ClientSettings) -> None:
    """It accepts each connection and ends it without a word, as a listener does that speaks something else."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        Thread(target=_end_each, args=(proxy,), daemon=True).start()
        address = f"127.0.0.1:{proxy.getsockname()[1]}"
        for protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
            settings = replace(operator, bootstrap_servers=address, security_protocol=protocol)
            with KafkaCluster("east", settings, request_seconds=2) as east, pytest.raises(ClusterUnreachable):
                east.topics.identity()


def _end_each(proxy: socket.socket) -> None:
    while True:
        try:
            connection, _ = proxy.accept()
        except OSError:
            return
        connection.close()
