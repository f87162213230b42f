"""A drill reaches its own group alone; in its disaster the source is a closed port, and everything else as before."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from kafka_dr.clusters import ClientSettings
from kafka_dr.drill.reach import own_clients, without
from kafka_dr.errors import Refused
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.people import Person
from kafka_dr.register import KafkaRegister
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.declared import UnknownName
from kafka_dr.topology.drill_group import Drill
from kafka_dr.topology.drill_rules import NOBODY
from kafka_dr.topology.loading import load
from support.manual_clock import ManualClock
from support.no_connections import NO_CONNECTIONS

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"
LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}


@pytest.fixture
def real(tmp_path: Path) -> Clients:
    return Clients(
        load(TOPOLOGY, LAB),
        connections=replace(
            NO_CONNECTIONS,
            kafka=lambda connection: ClientSettings(f"{connection}:9092"),
            http=lambda connection: HttpEndpoint(f"http://{connection}"),
        ),
        evidence_root=tmp_path,
        clock=ManualClock(),
    )


def made(real: Clients, **spec: Any) -> Drill:
    group = real.topology.group("orders")
    assert group.drill is not None
    return Drill(group, group.drill.model_copy(update=spec), "20261124103000", "unplanned", ("east", "west"))


def test_the_clients_of_a_drill_know_neither_the_real_group_nor_its_evidence(real: Clients, tmp_path: Path) -> None:
    drill = made(real)
    with own_clients(drill, real) as own:
        assert list(own.topology.protection_groups) == [drill.name]
        with pytest.raises(UnknownName):
            own.topology.group("orders")
        assert str(own.evidence_root) == str(tmp_path / "drills" / "orders" / drill.id)
        assert {person.name for person in own.approvers(own.topology.group(drill.name))} == {"alice", "bob"}
    with own_clients(made(real, approval="automatic"), real) as own:
        assert own.approvers(own.topology.group(drill.name)) == (Person(NOBODY, NOBODY),)


def test_in_the_disaster_everything_of_the_source_leads_to_one_closed_port(real: Clients) -> None:
    names = ("operator", "probe", "audit", "replicator", "drill")
    with without(made(real), real, "east") as clients:
        (nowhere,) = {clients.connections.kafka(f"kafka_east_{name}").bootstrap_servers for name in names}
        assert clients.connections.http("connect_east").base_url == f"http://{nowhere}"
        host, _, port = nowhere.partition(":")
        with pytest.raises(ConnectionRefusedError), socket.create_connection((host, int(port)), timeout=5):
            pass
        assert {clients.connections.kafka(f"kafka_west_{name}").bootstrap_servers for name in names} == {
            f"kafka_west_{name}:9092" for name in names
        }
        assert clients.connections.http("connect_west").base_url == "http://connect_west"
    assert real.connections.kafka("kafka_east_operator").bootstrap_servers == "kafka_east_operator:9092"


def test_a_secret_that_the_real_clients_know_is_in_no_evidence_of_the_drill(real: Clients) -> None:
    real.evidence.secrets.add("correct horse battery")
    with own_clients(made(real), real) as own:
        assert own.evidence.secrets.inside("it is correct horse battery")


def test_the_register_forgets_no_real_group() -> None:
    register = KafkaRegister(cast("Any", None), ManualClock())
    with pytest.raises(Refused, match="orders is the group of no drill, so its records are never removed"):
        register.forget("orders")
