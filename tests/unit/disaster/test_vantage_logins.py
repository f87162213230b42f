"""Logins of vantages, from the connections that the topology names to the probes of a disaster."""

from __future__ import annotations

import json
from pathlib import Path

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings
from kafka_dr.connections.meaning import connect_endpoint
from kafka_dr.connections.sources import ConnectionSource
from kafka_dr.disaster.probes import ask_vantages
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.runs.clients import Clients
from kafka_dr.topology import Topology, load
from support.vantage import vantage

LAB = {"KAFKA_DR_LAB_HOME": "/lab", "KAFKA_DR_LAB_EAST": "127.0.0.1:1", "KAFKA_DR_LAB_WEST": "127.0.0.1:2"}
TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"
SECONDS = 30.0
TOKEN = "a-token-of-the-office-1001"


def watched(addresses: dict[str, str], connections: dict[str, str]) -> Topology:
    declared = load(TOPOLOGY, LAB)
    group = declared.group("orders")
    spec = group.disaster.model_copy(update={"vantages": addresses, "vantage_connections": connections})
    return declared.model_copy(update={"protection_groups": {"orders": group.model_copy(update={"disaster": spec})}})


def dead_cluster(connection: str) -> ClientSettings:
    return ClientSettings("127.0.0.1:9", connection=connection)


def no_cluster(connection: str) -> ClientSettings:
    raise Refused(f"{connection} is not needed")


def test_a_token_comes_from_the_file_of_connections_and_goes_into_no_evidence(tmp_path: Path) -> None:
    with vantage() as office, vantage() as branch:
        office.wants = f"Bearer {TOKEN}"
        host = office.address.removesuffix("/{cluster}")
        file = tmp_path / "connections.json"
        file.touch(mode=0o600)
        stored = {"conn_type": "http", "host": host, "extra": {"bearer_token": TOKEN}}
        file.write_text(json.dumps({"watch_office": stored}))
        source = ConnectionSource.read({}, file)
        topology = watched(
            {"office": office.address, "branch": branch.address, "van": branch.address},
            {"office": "watch_office", "van": "nobody_wrote_it"},
        )
        with Clients(
            topology,
            settings_of=dead_cluster,
            connect_of=lambda conn_id: connect_endpoint(source.get(conn_id)),
            evidence_root=tmp_path,
            clock=SystemClock(),
        ) as clients:
            found = ask_vantages(topology.group("orders"), clients, source="east", seconds=SECONDS)
            assert clients.evidence.secrets.inside(f"asked with {TOKEN}")
    assert {probe.name: probe.outcome for probe in found} == {
        "metadata": "failed",
        "vantage branch": "failed",
        "vantage office": "failed",
        "vantage van": "unknown",
    }
    assert "connection nobody_wrote_it is not known" in {probe.name: probe.detail for probe in found}["vantage van"]


class NotFoundInAirflow(Exception):
    """Airflow's own error for a connection is no error of this project."""


def test_an_error_of_airflow_about_a_connection_makes_one_probe_unknown_and_ends_no_run(tmp_path: Path) -> None:
    def fails(connection: str) -> HttpEndpoint:
        raise NotFoundInAirflow(f"{connection}: http://me:{TOKEN}@office")

    topology = watched({"office": "http://127.0.0.1:9/{cluster}"}, {"office": "watch_office"})
    with Clients(
        topology, settings_of=no_cluster, connect_of=fails, evidence_root=tmp_path, clock=SystemClock()
    ) as clients:
        (_, probe) = ask_vantages(topology.group("orders"), clients, source="east", seconds=SECONDS)
        clients.learn_secrets(unreadable=(NotFoundInAirflow, KafkaDrError))
    said = "connection watch_office cannot be read (NotFoundInAirflow): create it"
    assert (probe.outcome, probe.detail) == ("unknown", said)
