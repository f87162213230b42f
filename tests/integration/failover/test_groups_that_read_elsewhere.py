"""A consumer group that also reads topics outside its protection group: none of its offsets is dropped silently."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.evidence.run_view import build_run_view
from kafka_dr.group_offsets.other_topics import NAME, groups_read_only_owned_topics
from kafka_dr.outcomes import Check
from kafka_dr.quoting import markdown
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.outside_topics import OutsideTopics, member
from support.protection import Protection
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


@pytest.fixture
def beyond(protection: Protection) -> OutsideTopics:
    """A group with four offsets: two in a topic that moves, two in a topic of another protection group."""
    group = SwitchedGroup.adopt(protection)
    made = OutsideTopics.create(protection, "east")
    protection.commit("east", f"{protection.name}-both", group.at(20, 30))
    made.commit("east", f"{protection.name}-both", made.of_neighbour, 0, 0)
    return made


@pytest.fixture
def outside(group: SwitchedGroup) -> Iterator[OutsideTopics]:
    """Topics of others on the active cluster, for one test: the tests after it use the group, too."""
    protection, active = group.protection, group.active
    made = OutsideTopics.create(protection, active)
    yield made
    # Deleting a topic deletes the offsets in it, and nobody else may claim the group's principals.
    protection.neighbours = ()
    with protection.cluster(active, "admin") as admin:
        admin.topics.delete([made.of_nobody])


def _check(protection: Protection) -> Check:
    with protection.clients() as clients:
        return groups_read_only_owned_topics(Run(protection.request("look"), clients))


def test_preflight_names_the_groups_the_topics_and_their_owners(beyond: OutsideTopics) -> None:
    protection, name = beyond.protection, beyond.protection.name
    with (
        member(protection, "east", f"{name}-classic", beyond.of_nobody, protection.topic),
        member(protection, "east", f"{name}-newer", beyond.of_nobody, protocol="consumer"),
        protection.clients() as clients,
    ):
        record = failed(StepName.PREFLIGHT, protection.request("run-elsewhere"), clients)
    said = {check.name: check for check in record.checks}[NAME]

    assert (record.outcome, said.outcome) == ("refused", "failed")
    assert said.detail == (
        f"2 positions of 3 consumer groups are outside {name} and would not be moved: "
        f"{name}-both reads {beyond.of_neighbour} (2 positions), which belongs to the protection group "
        f"{beyond.neighbour}; {name}-classic reads {beyond.of_nobody} (live members), which belongs to no protection "
        f"group; {name}-newer reads {beyond.of_nobody} (live members), which belongs to no protection group. Make "
        f"{name}, {beyond.neighbour} one protection group and add to {name} the topics that belong to none, or read "
        "them with consumer groups of their own, or set groups_policy.other_topics to leave_out"
    )
    assert said.facts["read_elsewhere"][0] == {
        "group": f"{name}-both",
        "topic": beyond.of_neighbour,
        "positions": [[0, 0], [1, 0]],
        "live": False,
        "belongs_to": beyond.neighbour,
    }

    # Brokers hide what the operator may not describe, without an error. So nobody can say that there is nothing.
    hidden = Acl(
        ResourceType.TOPIC,
        beyond.of_neighbour,
        PatternType.LITERAL,
        "User:dr-operator",
        AclOperation.DESCRIBE,
        AclPermission.DENY,
    )
    with protection.cluster("east", "admin") as admin:
        admin.acls.add([hidden])
        try:
            unseen = _check(protection)
        finally:
            admin.acls.remove([hidden])
    assert unseen.outcome == "unknown"
    assert "User:dr-operator may not describe every topic on east" in unseen.detail


def test_by_policy_their_offsets_are_left_out_shown_counted_and_approved(beyond: OutsideTopics) -> None:
    protection, both = beyond.protection, f"{beyond.protection.name}-both"
    beyond.leave_out()
    request = protection.request("run-left-out")
    with protection.clients() as clients:
        preflight = run_step(StepName.PREFLIGHT, request, clients)
        body = ask_approval(request, clients).body
        records = {
            StepName(record.step): record for record in protection.run_until(request, StepName.REPORT, clients)[1:]
        }

    said = {check.name: check for check in preflight.checks}[NAME]
    assert said.outcome == "excused"
    assert said.detail.startswith(f"2 positions of 1 consumer groups are outside {protection.name} and are left out by")
    assert markdown(said.detail) in body
    assert preflight.facts["decision"]["leaves_out"] == [[both, beyond.of_neighbour]]
    for step in (StepName.DRAIN, StepName.CUT_OVER_GROUPS, StepName.REPORT):
        facts = records[step].facts
        assert facts["positions_left_out"] == 2, step
        assert [row["topic"] for row in facts["left_out"]] == [beyond.of_neighbour], step
    here, there = (outside_view.committed(protection, cluster)[both] for cluster in ("east", "west"))
    assert {p.topic for p in there} == {protection.topic}
    assert {p.topic for p in here} == {protection.topic, beyond.of_neighbour}
    folder = protection.folder / "evidence" / "runs" / protection.name / request.run
    view = build_run_view(protection.name, request.run, {file.name: file.read_bytes() for file in folder.iterdir()})
    assert [(figure.value, figure.colour) for figure in view.figures if figure.label == "Offsets not moved"] == [
        ("2", "warn")
    ]
    assert any(f"the offsets of {both} in {beyond.of_neighbour}" in note for note in view.notes)


def test_a_group_that_begins_to_read_elsewhere_after_the_approval_stops_the_claim_and_the_drain(
    group: SwitchedGroup, outside: OutsideTopics
) -> None:
    protection, active = group.protection, group.active
    slow = f"{group.name}-slow"

    request = group.request()
    with protection.clients() as clients:
        run_step(StepName.PREFLIGHT, request, clients)
        protection.approve(request, clients)
        with member(protection, active, f"{group.name}-new", outside.of_nobody):
            claim = failed(StepName.CLAIM, request, clients)
    assert f"{NAME} was ok, is failed" in claim.detail

    request = group.go(StepName.FENCE_SOURCE)
    outside.commit(active, slow, outside.of_nobody, 0)
    with protection.clients() as clients:
        drain = failed(StepName.DRAIN, request, clients)
    assert drain.outcome == "failed"
    assert re.search(rf"{slow} reads {outside.of_nobody} \(1 position\), which belongs to no protection", drain.detail)
    group.roll_back(request)
    group.assert_at_rest(active)
