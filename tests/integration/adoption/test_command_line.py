"""A group is planned, taken over and released with ``python -m kafka_dr``, each time in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_dr.register import Phase
from support import outside_view
from support.command_line import CommandLine
from support.owned_flow import own_copier, owned
from support.protection import Protection
from support.taking_over import TakingOver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]


def test_without_airflow_a_group_is_taken_over_and_released(protection: Protection, spark: SparkSession) -> None:
    line, flow = CommandLine(protection), own_copier(protection)
    files, public = line.keys("alice")
    protection.changes["approver_keys"] = public
    ours = ("--group", protection.name)
    by_alice = (*ours, "--reason", "a test", "--key", str(files["alice"]), "--yes")
    with owned(flow):
        flow.start()
        protection.produce("east", 60)
        flow.wait_copied(protection.topic_ends("east"))
        before = outside_view.look(protection)

        said = line.run("plan", "adopt", *ours)
        assert said.code == 3, said.err + said.out
        assert "--flow" in said.out
        assert "--full" in said.out, "it says how to audit"
        TakingOver(protection, spark).audit()
        said = line.run("plan", "adopt", *ours, "--json")
        assert said.code == 0, said.err
        assert [step["step"] for step in said.json["steps"]][:3] == ["preflight", "claim", "stop_existing"]
        assert "the external process" in said.err
        assert outside_view.look(protection) == before

        said = line.run("adopt", *by_alice)
        assert said.code == 0, said.err + said.out
        assert f"the take over of {protection.name} is done" in said.out
        assert protection.refuses_writes("west")
        assert not flow.is_running()
        state = protection.state("west")
        assert state is not None
        assert (state.phase, state.approved_by) == (Phase.STABLE, "alice")
        said = line.run("adopt", *by_alice)
        assert (said.code, "is adopted" in said.out) == (0, True), said.err + said.out

        said = line.run("plan", "un-adopt", *ours, "--reason", "a test")
        assert said.code == 0, said.err + said.out
        said = line.run("un-adopt", *by_alice)
        assert said.code == 0, said.err + said.out
        assert f"the release of {protection.name} is done" in said.out
        assert flow.is_running()
        protection.produce("east", 20)
        flow.wait_copied(protection.topic_ends("east"))
        now = outside_view.look(protection)
        assert (now.acls, now.connectors) == (before.acls, before.connectors)
