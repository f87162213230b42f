"""Logins of vantages, from the connections that the topology names to the probes of a disaster."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings
from kafka_dr.connections.port import Connections
from kafka_dr.connections.sources import ConnectionSource
from kafka_dr.disaster.probes import ask_vantages
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from support.vantage import vantage

LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}
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


def test_a_token_comes_from_the_file_of_connections_and_goes_into_no_evidence(tmp_path: Path) -> None:
    with vantage() as office, vantage() as branch:
        office.wants = f"Bearer {TOKEN}"
        host = office.address.removesuffix("/{cluster}")
        file = tmp_path / "connections.json"
        file.touch(mode=0o600)
        stored = {"conn_type": "http", "host": host, "extra": {"bearer_token": TOKEN}}
        file.write_text(json.dumps({"watch_office": stored}))
        known = Connections.stored(ConnectionSource.read({}, file).get)
        topology = watched(
            {"office": office.address, "branch": branch.address, "van": branch.address},
            {"office": "watch_office", "van": "nobody_wrote_it"},
        )
        with Clients(
            topology,
            connections=replace(known, kafka=dead_cluster),
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
