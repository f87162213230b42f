"""Fences on real clusters whose ACLs are kept in a file: a pipeline applies it, and removes what it does not name."""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack, nullcontext
from unittest import mock

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clock import SystemClock
from kafka_dr.fencing import plan
from kafka_dr.health.health_check import check_health
from kafka_dr.locked_file import LockedFile
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import StepName
from lab.api import Lab
from support import outside_view
from support.kept_elsewhere import RulesPipeline, nobody_here_changes_acls
from support.protection import Protection
from support.switched_group import SwitchedGroup, failed
from support.waiting import eventually

pytestmark = pytest.mark.kafka
CLUSTERS = ("east", "west")


@pytest.fixture(scope="module")
def pipelines(lab: Lab, tmp_path_factory: pytest.TempPathFactory, folder_end: ExitStack) -> dict[str, RulesPipeline]:
    """Return the pipelines of both clusters of one group."""
    protection = Protection(lab, tmp_path_factory.mktemp("kept-in-a-file"))
    found = {cluster: RulesPipeline(protection, cluster) for cluster in CLUSTERS}
    protection.create()
    protection.access_rules.update({name: pipeline.spec() for name, pipeline in found.items()})
    folder_end.callback(protection.delete_flows)
    for pipeline in found.values():
        folder_end.enter_context(pipeline.running())
    return found


@pytest.fixture(scope="module")
def group(pipelines: dict[str, RulesPipeline]) -> SwitchedGroup:
    """Return a group that was adopted there."""
    protection = pipelines["east"].protection
    with nobody_here_changes_acls():
        assert protection.adopt().outcome == "done"
    found = SwitchedGroup(protection)
    protection.produce("east", 60)
    found.wait_equal()
    return found


def look(group: SwitchedGroup, *, by_hand: bool = False) -> WatchResult:
    """Check once.

    :param by_hand: let the check change ACLs on the brokers, as it does where nothing is declared
    """
    with group.protection.clients() as clients, nullcontext() if by_hand else nobody_here_changes_acls():
        return check_health(group.name, clients)


def test_an_adoption_sees_that_a_deny_outlasts_a_comparison_before_it_fences(
    group: SwitchedGroup, pipelines: dict[str, RulesPipeline]
) -> None:
    assert group.protection.refuses_writes("west")
    with group.protection.clients() as clients:
        for cluster in CLUSTERS:
            added = clients.register(cluster).added_acls(group.name, cluster)
            assert added.lasting.outlived is not None
            assert not plan.witness(group.protection.group) & added.current
            assert outside_view.denies(group.protection, cluster) == added.current
    pipelines["west"].wait_for_beat()
    assert group.protection.refuses_writes("west")


def test_a_group_fails_over_and_a_person_who_edits_the_file_meanwhile_loses_nothing(
    group: SwitchedGroup, pipelines: dict[str, RulesPipeline]
) -> None:
    source, target = group.active, group.standby
    group.produce()
    stop, notes = threading.Event(), list[str]()

    def person() -> None:
        file = LockedFile(pipelines[source].file, SystemClock())
        while not stop.wait(0.2):
            before = file.path.read_text()
            document = json.loads(before)
            note = f"seen at {time.monotonic()}"
            document.setdefault("notes", []).append(note)
            # An editor that says so if the file has changed since it was opened.
            if file.path.read_text() == before:
                file.replace(json.dumps(document))
                notes.append(note)

    with nobody_here_changes_acls():
        thread = threading.Thread(target=person)
        thread.start()
        try:
            group.go(StepName.REPORT)
        finally:
            stop.set()
            thread.join()
    group.assert_at_rest(target)
    assert notes
    assert json.loads(pipelines[source].file.read_text())["notes"] == notes


@pytest.mark.long
def test_a_run_that_was_fenced_is_rolled_back_through_the_file(group: SwitchedGroup) -> None:
    active = group.active
    with nobody_here_changes_acls():
        request = group.interrupted_after_act(StepName.FENCE_SOURCE)
        assert group.protection.refuses_writes(active)
        assert group.roll_back(request).outcome == "done"
    group.assert_at_rest(active)


def test_health_writes_a_deny_again_that_a_person_took_out_of_the_file(
    group: SwitchedGroup, pipelines: dict[str, RulesPipeline]
) -> None:
    standby = group.standby
    file = pipelines[standby].file
    document = json.loads(file.read_text())
    document["groups"][group.name]["rules"] = []
    LockedFile(file, SystemClock()).replace(json.dumps(document))
    pipelines[standby].wait_for_beat()
    pipelines[standby].wait_for_beat()
    assert not group.protection.refuses_writes(standby)

    found = look(group)

    assert found.outcome == "failed"
    assert f"{standby}, which is not active, lacked" in "\n".join(found.sentences)
    assert "omebody removes" not in "\n".join(found.sentences), "once may be a slip"
    assert group.protection.refuses_writes(standby)
    assert look(group).outcome == "ok"
    with group.protection.clients() as clients:
        # What was removed has to last again, and a later look sees that it does.
        eventually(
            lambda: (
                look(group).outcome == "ok"
                and clients.register(standby).added_acls(group.name, standby).lasting.outlived is not None
            )
        )


@pytest.mark.long
def test_a_pipeline_that_does_not_run_is_named_and_the_fence_arrives_when_it_does(
    group: SwitchedGroup, pipelines: dict[str, RulesPipeline]
) -> None:
    source = group.active
    group.protection.access_rules[source] = pipelines[source].spec(applied_within_seconds=1)
    pipelines[source].stop()
    try:
        request = group.go(StepName.CLAIM)
        with group.protection.clients() as clients:
            record = failed(StepName.FENCE_SOURCE, request, clients)
        assert f"broker 1 of {source} lacks" in record.detail
        assert f"1 s after {pipelines[source].file} says so: see whether what applies it works" in record.detail
    finally:
        pipelines[source].start()
        group.protection.access_rules[source] = pipelines[source].spec()
    assert group.roll_back(request).outcome == "done"
    group.assert_at_rest(source)


def test_a_pipeline_that_nobody_declared_is_found_out_and_no_failover_begins(
    group: SwitchedGroup, pipelines: dict[str, RulesPipeline]
) -> None:
    """The topology says that the brokers keep the rules, and somebody removes every DENY that this project adds."""
    standby = group.standby
    pipeline, declared = pipelines[standby], group.protection.access_rules.pop(standby)
    pipeline.stop()
    pipeline.reads_file = False
    pipeline.start()
    try:
        with mock.patch("kafka_dr.runs.group_context.PROOF_SECONDS", 0.3):
            look(group, by_hand=True)
            pipeline.wait_for_beat()
            pipeline.wait_for_beat()
            said = "\n".join(look(group, by_hand=True).sentences)
        assert f"Somebody removes DENYs of this project on {standby}" in said
        assert f"Declare access_rules of {standby} in the topology" in said
        with group.protection.clients() as clients:
            refused = failed(StepName.PREFLIGHT, group.request(), clients)
        assert {check.name: check.outcome for check in refused.checks}["denies_last"] == "failed"
    finally:
        pipeline.stop()
        pipeline.reads_file = True
        pipeline.start()
        group.protection.access_rules[standby] = declared


@pytest.mark.long
def test_a_pipeline_that_does_not_read_the_file_is_found_out_before_anything_is_adopted(
    protection: Protection, pipelines: dict[str, RulesPipeline]
) -> None:
    """Somebody else's DENYs reach the brokers, and are gone after the next comparison."""
    pipeline = RulesPipeline(protection, "west", every=6, reads_file=False)
    protection.access_rules["west"] = pipeline.spec(apply=pipeline.applies_once())
    before = outside_view.look(protection)
    with pipeline.running(), protection.clients() as clients:
        pipeline.wait_for_beat()
        with pytest.raises(StepFailed) as refusal:
            adopt(protection.name, clients, "adoption")
    assert "a DENY of this project that was on west was removed from its brokers" in str(refusal.value)
    assert f"Let what applies the rules of west read {pipeline.file}" in str(refusal.value)
    assert outside_view.look(protection) == before
