"""Brokers and Connect that accept connections and never answer: nothing waits for them, also not at the end."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings
from kafka_dr.disaster.disaster_rule import judge
from kafka_dr.disaster.probes import take_probes, with_flow_judged
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.outcomes import Outcome, Probe
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from support.no_connections import NO_CONNECTIONS

LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}
TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"


def silent() -> AbstractContextManager[int]:
    """Accept connections and never answer, as a process that hangs."""
    return _listening(backlog=64, filled=0)


def vanishing() -> AbstractContextManager[int]:
    """Accept no connection and refuse none: packets are lost."""
    return _listening(backlog=0, filled=4)


@contextmanager
def gone() -> Iterator[int]:
    """Refuse connections: no process listens."""
    with _listening(backlog=1, filled=0) as port:
        pass
    yield port


@contextmanager
def _listening(*, backlog: int, filled: int) -> Iterator[int]:
    with ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(backlog)
        address = listening.getsockname()
        for _ in range(filled):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        yield address[1]


def a_topology(hole: int) -> Topology:
    declared = load(TOPOLOGY, LAB)
    group = declared.group("orders")
    spec = group.disaster.model_copy(update={"probe_seconds": 1.0, "vantages": {"office": f"http://127.0.0.1:{hole}/"}})
    groups = {"orders": group.model_copy(update={"disaster": spec})}
    return declared.model_copy(update={"protection_groups": groups})


@pytest.mark.parametrize("failure", [silent, vanishing, gone])
def test_probes_that_all_fail_end_and_their_clients_with_them(
    failure: Callable[[], AbstractContextManager[int]], tmp_path: Path
) -> None:
    with failure() as port:
        _everything_ends(port, tmp_path)


def _everything_ends(hole: int, tmp_path: Path) -> None:
    topology = a_topology(hole)
    settings = ClientSettings(
        f"127.0.0.1:{hole}",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-512",
        username="dr",
        password="x",
    )
    clients = Clients(
        topology,
        connections=replace(
            NO_CONNECTIONS,
            kafka=lambda _: settings,
            http=lambda _: HttpEndpoint(f"http://127.0.0.1:{hole}"),
        ),
        evidence_root=tmp_path,
        clock=SystemClock(),
    )
    group = topology.group("orders")

    probes = take_probes(group, clients, source="east", target="west")
    clients.close()

    assert {probe.name: probe.outcome for probe in probes} == {
        "metadata": "failed",
        **dict.fromkeys(
            ("brokers", "controller", "partitions", "writes", "register", "canary", "flow", "lag", "vantage office"),
            "unknown",
        ),
    }
    assert judge("east", probes, group.disaster).answer == "unclear"


@pytest.mark.parametrize(("writes", "flow"), [("ok", "ok"), ("unknown", "unknown"), ("failed", "unknown")])
def test_a_flow_that_runs_while_its_source_takes_no_writes_is_not_called_good(writes: Outcome, flow: Outcome) -> None:
    taken = [Probe("writes", writes, "said"), Probe("flow", "ok", "orders.east-to-west is running")]
    (judged,) = [each for each in with_flow_judged(taken, "east") if each.name == "flow"]
    assert judged.outcome == flow
    assert ("It is not known whether it copies" in judged.detail) == (flow == "unknown")
    failed = Probe("flow", "failed", "orders.east-to-west is failed")
    assert with_flow_judged([failed], "east") == [failed]
