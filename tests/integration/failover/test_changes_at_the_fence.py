"""A fenced principal with rights to change topics and groups changes nothing; changes by others are named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.fencing import plan
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.runner import run_step
from lab.api import Lab
from support import outside_view
from support.changing_application import ChangingApplication, allowed
from support.protection import STEPS_AFTER_APPROVAL
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka

REFUSED = {
    "delete records": "TOPIC_AUTHORIZATION_FAILED",
    "add partitions": "TOPIC_AUTHORIZATION_FAILED",
    "shorten retention": "TOPIC_AUTHORIZATION_FAILED",
    "create topic": "TOPIC_AUTHORIZATION_FAILED",
    "delete offsets": "GROUP_AUTHORIZATION_FAILED",
    "delete group": "GROUP_AUTHORIZATION_FAILED",
    "delete topic": "TOPIC_AUTHORIZATION_FAILED",
}
ALLOWED = dict.fromkeys(REFUSED, "done")


@pytest.fixture
def protection(lab: Lab, tmp_path: Path) -> Iterator[ChangingApplication]:
    """A group whose application owns its topics; not adopted yet."""
    made = ChangingApplication(lab, tmp_path)
    yield made
    made.delete_flows()


@pytest.fixture
def owned(protection: ChangingApplication) -> SwitchedGroup:
    """The same group, stable on east, with records and a committed offset in the topic that will be deleted."""
    return _at_rest(protection)


def _at_rest(protection: ChangingApplication) -> SwitchedGroup:
    switching = SwitchedGroup.adopt(protection, records=100)
    protection.produce("east", 20, topic=protection.victim)
    victim = (TopicPartition(protection.victim, 0), TopicPartition(protection.victim, 1))
    protection.commit("east", f"{protection.name}-victim", dict.fromkeys(victim, 5))
    protection.wait_copied()
    return switching


def test_nothing_can_be_changed_after_the_fence_and_everything_after_a_roll_back(
    protection: ChangingApplication, owned: SwitchedGroup
) -> None:
    assert protection.told("west") == REFUSED, "on a standby"

    run = owned.go(StepName.DRAIN)
    before = outside_view.contents(protection, "east")
    assert protection.told("east") == REFUSED, "after the fence"
    assert outside_view.contents(protection, "east") == before
    drained = _evidence(protection, run, "drain")
    assert ("changes_refused", "ok") in {(each["name"], each["outcome"]) for each in drained["proofs"]}

    assert owned.roll_back(run).outcome == "done"
    assert protection.told("west") == REFUSED, "on west, which stays the standby"
    assert protection.told("east") == ALLOWED, "on east, which is active again"
    assert not plan.standby(protection.group) & outside_view.denies(protection, "east")


def test_topics_of_the_new_active_cluster_can_be_changed_and_those_of_the_old_one_cannot(
    protection: ChangingApplication, owned: SwitchedGroup
) -> None:
    run = owned.go(StepName.REPORT)

    assert protection.told("east") == REFUSED
    with protection.clients() as clients:
        assert check_health(protection.name, clients).outcome == "ok"
    report = _evidence(protection, run, "report")
    assert ("old_cluster_unchanged", "ok") in {(each["name"], each["outcome"]) for each in report["proofs"]}
    assert protection.told("west") == ALLOWED


def test_a_deny_that_others_added_stops_nothing_and_is_not_lifted(protection: ChangingApplication) -> None:
    theirs = frozenset(acl for acl in plan.change_fence(protection.group) if acl.operation is AclOperation.DELETE)
    with allowed(protection, "east", *theirs), allowed(protection, "west", *theirs):
        owned = _at_rest(protection)
        with protection.clients() as clients:
            watched = check_health(protection.name, clients)
            assert watched.outcome == "ok", watched
        owned.go(StepName.REPORT)

        assert owned.active == "west"
        told = protection.told("west")
        assert {what for what, answer in told.items() if answer == "done"} == {
            "add partitions", "shorten retention", "create topic",
        }  # fmt: skip
        for cluster in ("east", "west"):
            assert theirs <= outside_view.denies(protection, cluster)


def test_a_principal_that_no_fence_stops_is_named_before_and_its_changes_after(
    protection: ChangingApplication, owned: SwitchedGroup
) -> None:
    stranger = protection.rights_to_change("User:audit")
    cluster = (ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL)
    creator = Acl(*cluster, "User:orders-app", AclOperation.CREATE, AclPermission.ALLOW)
    with allowed(protection, "west", *stranger), protection.clients() as clients:
        watched = check_health(protection.name, clients)
        assert watched.outcome == "ok"
        assert watched.facts["open_checks"] == {"changes_refused": "excused"}, "by which the alert asks"
    with allowed(protection, "east", *stranger, creator):
        run = owned.go(StepName.DRAIN)
        preflight = _evidence(protection, run, "preflight")
        (said,) = (each for each in preflight["checks"] if each["name"] == "changers_declared")
        assert said["outcome"] == "excused"
        assert "User:audit may CREATE topics, DELETE topics, ALTER topics" in said["detail"]
        assert "User:orders-app may create topics by CREATE on the cluster" in said["detail"]

        assert protection.told("east") == {**REFUSED, "create topic": "done"}, "CREATE on the cluster passes a DENY"
        done = protection.told("east", "audit", only=("delete records", "add partitions"))
        assert done == {"delete records": "done", "add partitions": "done"}

        with protection.clients() as clients:
            for step in STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(StepName.STOP_FLOW) : -1]:
                run_step(step, run, clients)
            with pytest.raises(StepFailed) as failed:
                run_step(StepName.REPORT, run, clients)
    detail = failed.value.record.detail
    assert f"{protection.name}.new was created and is on no other cluster" in detail
    assert f"{protection.victim} has 3 partitions, had 2" in detail
    assert f"the log start offset of {protection.victim}-0 is 1, was 0" in detail


def _evidence(protection: ChangingApplication, run: RunRequest, step: str) -> dict[str, Any]:
    with protection.clients() as clients:
        found = clients.evidence.newest(protection.name, run.run, step)
    assert found is not None
    return found
