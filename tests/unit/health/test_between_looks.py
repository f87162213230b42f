"""Between two looks: what the last look heard of each cluster, and one that has fallen silent since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings
from kafka_dr.errors import KafkaDrError
from kafka_dr.health import registers
from kafka_dr.health.between_looks import changed_clusters, heard_in, seconds_to_listen
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.silent_clusters import AGAIN_SECONDS
from kafka_dr.topology.loading import load
from support.no_connections import NO_CONNECTIONS

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"


def unreachable(root: Path) -> Clients:
    """Return clients of a group whose clusters are closed ports."""
    environ = {f"KAFKA_DR_LAB_{name}": "127.0.0.1:1" for name in ("EAST", "WEST", "VANTAGE")}
    return Clients(
        load(TOPOLOGY, {**environ, "KAFKA_DR_LAB_HOME": str(root)}),
        connections=replace(NO_CONNECTIONS, kafka=lambda _: ClientSettings("127.0.0.1:1")),
        evidence_root=root,
        clock=SystemClock(),
    )


def found(facts: Mapping[str, Any]) -> WatchResult:
    return WatchResult("orders", "ok", (), facts)


def test_a_cluster_that_one_group_did_not_hear_counts_as_silent_and_nothing_is_said_of_others() -> None:
    looks = [found({"answering": ["east", "west"], "silent": []}), found({"answering": ["west"], "silent": ["east"]})]
    assert heard_in([*looks, found({})]) == {"east": False, "west": True}


def test_a_register_that_was_silent_is_not_waited_for_again_in_the_same_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registers, "REGISTER_SECONDS", 0.5)
    with unreachable(tmp_path) as clients:
        context = GroupContext("orders", clients)
        assert sorted(registers.read_registers(context).silent) == ["east", "west"]
        asked: list[str] = []
        answers = context.each_cluster(asked.append)
    assert asked == []
    assert all(isinstance(answer, KafkaDrError) for answer in answers.values())
    assert sorted(answers) == ["east", "west"]


def test_a_cluster_that_was_silent_for_one_group_has_only_a_moment_for_the_next_group_of_the_same_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registers, "REGISTER_SECONDS", 0.5)
    waits, within = list[float](), BackgroundCall.within

    def waiting(call: BackgroundCall[object], seconds: float) -> object:
        waits.append(seconds)
        return within(call, seconds)

    with unreachable(tmp_path) as clients:
        registers.read_registers(GroupContext("orders", clients))
        monkeypatch.setattr(BackgroundCall, "within", waiting)
        found = registers.read_registers(GroupContext("orders", clients)).silent
    assert waits == [AGAIN_SECONDS, AGAIN_SECONDS]
    assert sorted(found) == ["east", "west"], "it is asked again all the same"


def test_a_cluster_that_answered_and_whose_port_is_closed_now_is_named_and_one_that_was_silent_is_not(
    tmp_path: Path,
) -> None:
    with unreachable(tmp_path) as clients:
        known = {"east": True, "west": False}
        assert changed_clusters(known, clients, seconds=60, answer_seconds=0.5) == ("east",)


def test_a_late_look_does_not_listen_into_the_next_minute() -> None:
    began = datetime(2026, 3, 1, 12, 4, 3, tzinfo=UTC)
    assert seconds_to_listen(began, began.replace(second=7)) == 20
    assert seconds_to_listen(began, began.replace(second=50)) < 0
    assert seconds_to_listen(began, began.replace(minute=5, second=1)) < 0
