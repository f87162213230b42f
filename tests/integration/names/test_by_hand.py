"""No program of this project runs: a group with other names is moved as printed, and goes back by the usual verbs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.health.health_check import check_health
from kafka_dr.register import Phase
from lab import rights
from lab.api import Lab
from support import outside_view
from support.by_hand import done_by_hand
from support.checksum import Auditor
from support.failback_run import FailbackRun
from support.kafka_tools import tools_in
from support.named_group import NamedGroup, named_protection
from support.stranding import list_stranded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture
def group(lab: Lab, tmp_path: Path) -> Iterator[NamedGroup]:
    with named_protection(lab, tmp_path, separator="_") as made:
        yield NamedGroup.adopt(made)


def test_a_group_is_moved_with_kafkas_own_tools_and_goes_back_by_a_failback(
    group: NamedGroup, spark: SparkSession, tmp_path: Path
) -> None:
    name, local, copy, protection = group.name, group.local, group.copy, group.protection
    tools = tools_in(tmp_path / "bin")
    written = [f"e{n}".encode() for n in range(40)]
    group.write("east", written)
    group.wait_copied()
    protection.commit("east", f"{name}-head", {local(0): 3, local(1): 4})

    said = done_by_hand(protection, tmp_path / "files", tools, "move")
    assert " left\n" not in said
    state = protection.state("west")
    assert state is not None
    assert (state.phase, state.active) == (Phase.UNFENCED, "west")
    assert not group.refused("west", rights.ORDERS_APP, local(0))
    assert group.refused("east", rights.ORDERS_APP, local(0))
    assert group.refused("west", rights.ORDERS_APP, copy(0, "east"))
    assert group.refused("west", rights.REPLICATOR, copy(0, "east")), "nothing arrives before it is approved"
    moved = outside_view.committed(protection, "west")[f"{name}-head"]
    assert set(moved) == {each for n in range(2) for each in (local(n), copy(n, "east"))}
    group.write("west", [b"w"])

    with protection.clients() as clients:
        for _ in range(3):
            check_health(name, clients)
    assert list_stranded(protection, spark, run=state.run).values == []

    def audit() -> None:
        found = Auditor(protection, spark, tmp_path)("--full", flow=f"{name}.west-to-east")
        assert found.code == 0, found.report["findings"]

    failback = FailbackRun(protection, audit)
    failback.begin()
    failback.finish()
    assert list(group.flow_states()) == ["running", "running"]
    group.flows()
    group.wait_copied()
    group.move()
    assert group.active == "east"
    assert Counter(group.values("east", local(0), local(1))) == Counter(written)
    assert group.values("east", copy(0, "west"), copy(1, "west")) == [b"w"]
