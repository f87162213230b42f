"""A release and a take over in a real Airflow, with the audit on Spark: refused, given back, done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab
    from support.owned_flow import OwnedFlow

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(900)]

GROUP = "orders"
PARTITIONS = 6
STRANGER = b"written by nobody's flow"


def approved(session: AirflowSession, dag: str, **conf: object) -> str:
    """Start a run, approve it, and return it."""
    run = session.trigger(dag, protection_group=GROUP, reason="a test", **conf)
    fields = {name: field["value"] for name, field in session.question(dag, run, seconds=240)["params"].items()}
    assert session.answer(dag, run, "Approve", fields).status_code == 200
    return run


@contextmanager
def declared(lab: QuickLab, **existing: object) -> Iterator[None]:
    """Declare existing replication of the group for a while; a drill works as the same principal."""
    from support.airflow_lab import replace_file

    path = lab.home.root / "topology.yaml"
    before = path.read_text("utf-8")
    said = yaml.safe_load(before)
    group = said["protection_groups"][GROUP]
    group.pop("drill", None)
    group["existing_replication"] = {"replicator": "external", "principal": "User:dr-drill", **existing}
    replace_file(path, yaml.safe_dump(said))
    try:
        yield
    finally:
        replace_file(path, before)


@pytest.fixture(scope="module")
def airflow(own_airflow: QuickLab) -> QuickLab:
    """A lab of its own: what a stranger wrote stays in its copy."""
    return own_airflow


@pytest.fixture
def copier(airflow: QuickLab, tmp_path: Path) -> Iterator[OwnedFlow]:
    """Somebody's own program, which continues where this project's flow has ended."""
    from support.owned_flow import own_copier
    from support.protection import Protection

    orders = Protection(airflow, tmp_path, name=GROUP, partitions=PARTITIONS)
    found = own_copier(orders)
    try:
        yield found
    finally:
        found.end()


def commands(copier: OwnedFlow) -> dict[str, Any]:
    spec = copier.declared()["existing_replication"]
    return {"stop_command": list(spec.stop_command), "start_command": list(spec.start_command)}  # type: ignore[attr-defined]


def test_a_group_is_released_and_taken_over_from_what_copies_it_by_then(
    airflow: QuickLab, alice: AirflowSession, copier: OwnedFlow
) -> None:
    from kafka_dr.clusters import TopicPartition
    from kafka_dr.clusters.writing import NewRecord
    from kafka_dr.watch_results import WatchResultStore
    from support import outside_view

    orders = copier.protection
    assert airflow.state("east", GROUP).active == "east"  # type: ignore[union-attr]
    run = approved(alice, "dr_un_adopt", hand_back_to="own_flow")
    assert alice.ended("dr_un_adopt", run) == "success", alice.why("dr_un_adopt", run)
    assert str(alice.note("dr_un_adopt", run)).startswith("RELEASED")
    assert airflow.state("west", GROUP).phase == "released"  # type: ignore[union-attr]

    # Somebody else copies from now on.
    orders.produce("east", 60)
    orders.wait_copied()
    orders.delete_flows()
    ends = orders.topic_ends("east")
    orders.commit("east", f"copier-{GROUP}", ends)
    with declared(airflow, **commands(copier)):
        run = alice.trigger("dr_adopt", protection_group=GROUP)
        assert alice.ended("dr_adopt", run) == "failed"
        states = alice.tasks("dr_adopt", run)
        assert (states["plan"], states["audit"], states["adopt"]) == ("failed", "upstream_failed", "upstream_failed")
        assert "User:dr-drill may write none of the group's topics on west" in alice.log("dr_adopt", run, "plan")

        copier.allow()
        copier.start()
        orders.produce("east", 60)
        copier.wait_copied(orders.topic_ends("east"))

    # What is wrong with the copy is kept before anybody is asked, and also if the take over then fails.
    with orders.cluster("west", "admin") as admin:
        admin.writing.append([NewRecord(TopicPartition(orders.topic, 1), b"alien", STRANGER)])
    with declared(airflow, **{**commands(copier), "stop_command": ["/nowhere/stop"]}):
        run = approved(alice, "dr_adopt")
        kept = WatchResultStore(airflow.home.evidence).read(GROUP, "checksum")
        assert kept is not None
        assert (kept.outcome, kept.run) == ("failed", run)
        assert "FOREIGN" in "\n".join(kept.sentences)
        assert "FOREIGN" in alice.http.get(f"/kafka-dr/results/{GROUP}/checksum").text
        assert alice.ended("dr_adopt", run) == "failed"
        states = alice.tasks("dr_adopt", run)
        assert (states["take_over"], states["give_back"]) == ("failed", "success"), alice.why("dr_adopt", run)
        assert str(alice.note("dr_adopt", run)).startswith("ROLLED BACK")
        orders.produce("east", 60)
        copier.wait_copied(orders.topic_ends("east"))

    with declared(airflow, **commands(copier)):
        run = approved(alice, "dr_adopt")
        assert alice.ended("dr_adopt", run) == "success", alice.why("dr_adopt", run)
        states = alice.tasks("dr_adopt", run)
        assert {name: states[name] for name in ("audit", "adopt", "give_back")} == {
            "audit": "success",
            "adopt": "skipped",
            "give_back": "skipped",
        }
        assert str(alice.note("dr_adopt", run)).startswith("TAKEN OVER")
        assert not copier.is_running()
        state = airflow.state("west", GROUP)
        assert state is not None
        assert (state.phase, state.active, state.verb) == ("stable", "east", "take_over")
        orders.produce("east", 60)
        orders.wait_copied()
        east, west = (outside_view.contents(orders, cluster) for cluster in ("east", "west"))
        strangers = [each for found in west.values() for each in found if each[2] == STRANGER]
        assert len(strangers) == 1
        for found in west.values():
            found[:] = [each for each in found if each[2] != STRANGER]
        assert east == west, "nothing is missing, nothing came twice, and the order is the same"
