"""Clients are built when they are first needed, and none after they were closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_dr.clusters import ClientSettings
from kafka_dr.errors import TryAgain
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.register.kafka_register import DEADLINE_SECONDS
from kafka_dr.runs.clients import Clients, ClientsClosed
from kafka_dr.topology.loading import load
from support import mirrormaker
from support.manual_clock import ManualClock
from support.no_connections import NO_CONNECTIONS

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"
LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}


def lab_clients(folder: Path) -> Clients:
    return Clients(
        load(TOPOLOGY, LAB),
        connections=replace(
            NO_CONNECTIONS,
            kafka=lambda connection: ClientSettings("127.0.0.1:1"),
            http=lambda connection: HttpEndpoint("http://127.0.0.1:1"),
        ),
        evidence_root=folder,
        clock=ManualClock(),
    )


@pytest.mark.parametrize(
    "ask",
    [
        lambda clients: clients.cluster("east", "operator"),
        lambda clients: clients.cluster("west", "audit"),
        lambda clients: clients.register("west"),
        lambda clients: clients.digests("west"),
        lambda clients: mirrormaker.connect(clients, "west"),
    ],
    ids=["cluster", "audit", "register", "digests", "connect"],
)
def test_a_background_call_that_asks_after_the_end_gets_no_client_that_nobody_closes(
    ask: Callable[[Clients], object], tmp_path: Path
) -> None:
    with lab_clients(tmp_path) as clients:
        clients.cluster("east", "probe")
    with pytest.raises(ClientsClosed, match="closed already"):
        ask(clients)


def test_every_request_of_every_cluster_is_observed_whether_it_was_asked_for_before_or_after(tmp_path: Path) -> None:
    doing: list[str] = []
    with lab_clients(tmp_path) as clients:
        for name in ("east", "west"):
            clients.hurry(name, 0.05)
        known = clients.cluster("east", "probe")
        clients.observe(doing.append)
        for cluster in (known, clients.cluster("west", "operator")):
            with pytest.raises(TryAgain):
                cluster.topics.identity()
    assert doing == ["describe the cluster"] * 2


def test_clients_are_closed_twice_without_harm(tmp_path: Path) -> None:
    clients = lab_clients(tmp_path)
    mirrormaker.connect(clients, "east")
    clients.close()
    clients.close()


def test_a_change_of_the_register_of_a_cluster_that_may_be_dead_gives_up_as_early_as_its_requests(
    tmp_path: Path,
) -> None:
    with lab_clients(tmp_path) as clients:
        clients.hurry("east", 2.0)
        assert clients.register("east")._deadline_seconds == 2.0
        assert clients.register("west")._deadline_seconds == DEADLINE_SECONDS
