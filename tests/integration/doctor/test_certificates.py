"""Client certificates on a real broker: who they are for, and what its addresses show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import KafkaCluster
from kafka_dr.outcomes import Check
from kafka_dr.readiness_checks.certificates import principals_of
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.loading import load
from support.no_connections import NO_CONNECTIONS
from support.tls_broker import TLS_FROM, TlsBroker, tls_broker

pytestmark = pytest.mark.kafka

_FILE = Path(__file__).parents[3] / "include" / "topology.yaml"
_ROLES = ("operator", "probe", "audit", "replicator")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, port_base: int) -> Iterator[TlsBroker]:
    with tls_broker(tmp_path_factory.mktemp("tls"), port_base + TLS_FROM) as running:
        yield running


def asked(broker: TlsBroker, folder: Path, file: Path) -> Check:
    """Ask with one certificate for all roles."""
    environ = {f"KAFKA_DR_LAB_{name}": broker.address("TLS") for name in ("EAST", "WEST", "VANTAGE")}
    declared = load(_FILE, {**environ, "KAFKA_DR_LAB_HOME": str(folder)})
    principals = {f"{role}_principal": "User:CN=client" for role in _ROLES}
    groups = {name: group.model_copy(update=principals) for name, group in declared.protection_groups.items()}
    topology = declared.model_copy(update={"protection_groups": groups})
    settings = broker.settings("TLS", certificate_file=str(file), key_file=str(file))
    connections = replace(NO_CONNECTIONS, kafka=lambda _connection: settings)
    with Clients(topology, connections=connections, evidence_root=folder, clock=SystemClock()) as clients:
        return principals_of(clients, ["east"])


def test_a_certificate_that_was_replaced_by_one_with_another_subject_is_named(
    broker: TlsBroker, tmp_path: Path
) -> None:
    assert asked(broker, tmp_path, broker.authority.folder / "client.pem").outcome == "ok"
    rotated = broker.authority.signed("client-of-next-year")
    found = asked(broker, tmp_path, rotated)
    assert (found.outcome, found.facts) == ("failed", {"file": str(rotated)})
    said = "on east the operator logs in as User:CN=client-of-next-year, and orders declares User:CN=client"
    assert found.detail.startswith(said)


def test_each_address_is_asked_by_itself_so_that_a_certificate_for_another_name_is_found(broker: TlsBroker) -> None:
    bootstrap = f"{broker.address('TLS')},{broker.address('ELSEWHERE')}"
    with KafkaCluster("east", broker.settings("TLS", bootstrap_servers=bootstrap)) as east:
        cluster_id = east.topics.identity().cluster_id
        found = east.unusable_addresses(cluster_id)
        assert found[broker.address("TLS")] == ""
        assert "is for another address" in found[broker.address("ELSEWHERE")]
        assert "leads to the cluster" in east.unusable_addresses("another")[broker.address("TLS")]


def test_the_clock_of_the_active_controller_is_read_without_a_write(broker: TlsBroker) -> None:
    with KafkaCluster("east", broker.settings("LOGIN")) as east:
        before = datetime.now(UTC) - timedelta(milliseconds=1)
        shown = east.controller_clock.now()
        assert shown is not None
        assert before <= shown <= datetime.now(UTC)
