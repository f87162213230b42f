"""Between two looks: what the last look heard of each cluster, and one that has fallen silent since."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings
from kafka_dr.health.between_looks import changed_clusters, heard_in
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from kafka_dr.topology import load

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"


def found(facts: Mapping[str, Any]) -> WatchResult:
    return WatchResult("orders", "ok", (), facts)


def test_a_cluster_that_one_group_did_not_hear_counts_as_silent_and_nothing_is_said_of_others() -> None:
    looks = [found({"answering": ["east", "west"], "silent": []}), found({"answering": ["west"], "silent": ["east"]})]
    assert heard_in([*looks, found({})]) == {"east": False, "west": True}


def test_a_cluster_that_answered_and_whose_port_is_closed_now_is_named_and_one_that_was_silent_is_not(
    tmp_path: Path,
) -> None:
    environ = {f"KAFKA_DR_LAB_{name}": "127.0.0.1:1" for name in ("EAST", "WEST")}
    topology = load(TOPOLOGY, {**environ, "KAFKA_DR_LAB_HOME": str(tmp_path)})
    nobody: Any = None
    with Clients(
        topology,
        settings_of=lambda _: ClientSettings.from_librdkafka({"bootstrap.servers": "127.0.0.1:1"}),
        connect_of=nobody,
        evidence_root=tmp_path,
        clock=SystemClock(),
    ) as clients:
        known = {"east": True, "west": False}
        assert changed_clusters(known, clients, seconds=60, answer_seconds=0.5) == ("east",)
