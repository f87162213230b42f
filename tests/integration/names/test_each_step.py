"""Steps of a group whose copies have other names: each dies after each change, and is finished or undone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.group_offsets.offset_preview import Preview, preview_offsets
from kafka_dr.health.health_check import check_health
from kafka_dr.register import Phase
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.canary_check import watch_canary
from lab import rights
from support import outside_view
from support.auditing import job_environ, topology_file
from support.checksum import Auditor
from support.dying_process import DyingProcess
from support.named_group import NamedGroup, named_protection
from support.protection import STEPS_AFTER_APPROVAL

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture
def group(lab: Lab, tmp_path: Path) -> Iterator[NamedGroup]:
    with named_protection(lab, tmp_path) as made:
        yield NamedGroup.adopt(made)


def read_both(group: NamedGroup, *offsets: int) -> dict[Any, int]:
    """Return offsets in the topic of payments, and the begin of its namesake's copy."""
    wanted = {group.local(number): offset for number, offset in enumerate(offsets)}
    return wanted | {group.copy(number, group.standby): 0 for number in range(len(offsets))}


def test_each_step_dies_after_each_change_and_finishes(group: NamedGroup, spark: SparkSession, tmp_path: Path) -> None:
    protection, name = group.protection, group.name
    group.write("east", (f"e{n}".encode() for n in range(100)))
    group.wait_copied()
    protection.commit("east", f"{name}-slow", read_both(group, 7, 9))
    unread = group.unread("east", read_both(group, 7, 9))
    with protection.clients() as clients:
        assert watch_canary(name, clients).outcome == "ok"
        found = preview_offsets(name, clients, folder="previews/one")
        assert isinstance(found, Preview)
        assert found.report["verdict"] == "exact"
        assert {row["topic"] for row in found.report["positions"]} == {
            protection.topic,
            group.copy(0, "west").topic,
        }
    audited = Auditor(protection, spark, tmp_path)("--full", flow=f"{name}.east-to-west")
    assert audited.code == 0, audited.report["findings"]
    assert lag_audit(group, spark, tmp_path) == 0

    request = group.request()
    with protection.clients() as clients:
        run_step(StepName.PREFLIGHT, request, clients)
        protection.approve(request, clients)
    for step in STEPS_AFTER_APPROVAL:
        mortal = DyingProcess()

        def once(step: StepName) -> Any:
            with protection.clients() as clients:
                return run_step(step, request, clients)

        for outcome in (mortal.until_through(partial(once, step)).outcome, once(step).outcome):
            assert outcome == "done", (step, outcome, mortal.died)
        assert not any("Mm2Replicator.stop" in died for died in mortal.died), "no flow is stopped"
    assert group.active == "west"
    moved = outside_view.committed(protection, "west")[f"{name}-slow"]
    assert group.unread("west", moved) == {
        group.copy(n, "east"): unread[group.local(n)] for n in range(2)
    } | dict.fromkeys((group.local(0), group.local(1)))
    with protection.clients() as clients:
        health = check_health(name, clients)
    assert health.outcome == "ok", health


@pytest.mark.parametrize("last", [StepName.FENCE_SOURCE, StepName.CUT_OVER_GROUPS])
def test_a_run_that_is_undone_leaves_both_flows_and_every_fence_of_copies(group: NamedGroup, last: StepName) -> None:
    protection = group.protection
    group.write("east", (f"e{n}".encode() for n in range(20)))
    group.wait_copied()
    protection.commit("east", f"{group.name}-slow", read_both(group, 3, 4))
    before = {cluster: group.denies(cluster) for cluster in ("east", "west")}
    request = group.request()
    with protection.clients() as clients:
        protection.run_until(request, last, clients)
        assert roll_back(request, clients).outcome == "done"
    state = protection.state("east")
    assert state is not None
    assert (state.phase, state.active) == (Phase.STABLE, "east")
    assert {cluster: group.denies(cluster) for cluster in ("east", "west")} == before
    assert list(group.flow_states()) == ["running", "running"]
    assert not group.refused("east", rights.PROBE, group.local(0))
    assert group.refused("west", rights.REPLICATOR, group.local(0)), "no flow writes where applications do"


def test_who_could_not_read_the_copies_and_a_copy_that_takes_writes_are_named_before(group: NamedGroup) -> None:
    protection = group.protection
    group.write("east", [b"1", b"2"])
    group.wait_copied()
    copies = f"east.{group.name}."
    with protection.cluster("west", "admin") as admin:
        rights_there = (acl for acl in protection.rights_on("west") if acl.name == copies)
        lifted = {acl for acl in group.denies("west") if acl.principal == "User:probe" and acl.name == copies}
        given = {acl for acl in rights_there if (acl.principal, acl.operation) == ("User:orders-app", "READ")}
        admin.acls.remove([*given, *lifted])
        request = group.request(dry_run=True)
        with protection.clients() as clients, pytest.raises(StepFailed) as failure:
            run_step(StepName.PREFLIGHT, request, clients)
    wrong = {check.name: check.detail for check in failure.value.record.checks if not check.passes}
    assert wrong.keys() == {"target_can_be_opened", "target_refuses"}
    assert f"User:orders-app ({copies}payments)" in wrong["target_can_be_opened"]
    assert f"{copies}payments-0" in wrong["target_refuses"]


def test_who_reads_one_name_alone_is_refused_and_a_group_can_be_released(group: NamedGroup) -> None:
    protection = group.protection
    group.write("east", [b"1", b"2"])
    group.wait_copied()
    protection.commit("east", f"{group.name}-one", {group.local(0): 1, group.local(1): 1})
    request = group.request(dry_run=True)
    with protection.clients() as clients, pytest.raises(Exception, match=f"{group.name}-one reads .* and not west"):
        run_step(StepName.PREFLIGHT, request, clients)
    policy = protection.group.groups_policy.model_copy(update={"reads_both_names": (f"{group.name}-one",)})
    protection.changes["groups_policy"] = policy
    with protection.clients() as clients:
        assert run_step(StepName.PREFLIGHT, request, clients).outcome in ("done", "would_do", "passed")
    named = protection.changes["flow"]
    identity = protection.group.flow.model_copy(update={"naming": "identity"})
    with protection.changed(flow=identity), protection.clients() as clients:
        assert "was adopted with copies that" in check_health(group.name, clients).summary
        with pytest.raises(StepFailed, match="was adopted with copies that"):
            run_step(StepName.PREFLIGHT, request, clients)
    assert protection.changes["flow"] == named
    request = group.request(verb="un_adopt", hand_back_to="own_flow")
    protection.release(request)
    assert not any(group.denies(cluster) for cluster in ("east", "west"))
    assert list(group.flow_states()) == ["running", "running"]


def lag_audit(group: NamedGroup, spark: SparkSession, folder: Path) -> int:
    from jobs.lag.job import main

    @contextmanager
    def shared(_name: str) -> Iterator[SparkSession]:
        yield spark

    arguments = ["--topology", str(topology_file(group.protection)), "--out", str(folder / "lag")]
    arguments += ["--flow", f"{group.name}.east-to-west"]
    return main(arguments, job_environ(group.protection), shared)
