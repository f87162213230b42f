"""What is needed to give a source up: signs, vantage points, a second look, and approvals."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.disaster.probes import take_probes
from kafka_dr.errors import Refused
from kafka_dr.group_offsets.other_topics import NAME as READ_ONLY_OWNED
from kafka_dr.health.failover_proposal import ProposalDecision, consider_proposal
from kafka_dr.outcomes import Probe
from kafka_dr.people import Person
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.roll_back import roll_back
from support import outside_view
from support.disaster import Disaster
from support.outside_topics import OutsideTopics
from support.switched_group import failed
from support.vantage import Vantage, vantage
from support.waiting import settled

pytestmark = pytest.mark.kafka


def test_a_rule_that_can_never_hold_is_refused_before_anybody_probes(passing: Disaster) -> None:
    alone = passing.group.protection.group.disaster.model_copy(update={"vantages": {}})
    with passing.group.protection.changed(disaster=alone), passing.group.protection.clients() as clients:
        record = failed(StepName.GATHER_EVIDENCE, passing.request(override=""), clients)
        tried = failed(StepName.GATHER_EVIDENCE, passing.request(override="", dry_run=True), clients)

    assert record.outcome == "refused"
    assert "needs 2 vantages that see the cluster down and has 1, this installation among them" in record.detail
    assert "trigger it with an override" in record.detail
    assert "shows none of the signs" in tried.detail, "a dry run looks all the same"


def test_a_source_that_answers_is_not_given_up_without_an_override(passing: Disaster) -> None:
    with vantage() as office:
        office.says = {"up": True}
        passing.watch_from(office.address)
        with passing.group.protection.clients() as clients:
            record = failed(StepName.GATHER_EVIDENCE, passing.request(override=""), clients)

    assert record.outcome == "refused"
    assert "use dr_planned_failover, or override with a reason" in record.detail


def test_a_source_that_hangs_needs_a_second_vantage_that_sees_it_down_twice(passing: Disaster) -> None:
    group, quick = passing.group, {"override": ""}
    with passing.hanging(passing.broker), vantage() as office:
        passing.watch_from(office.address)
        office.says = {}
        with group.protection.clients() as clients:
            alone = failed(StepName.GATHER_EVIDENCE, passing.request(**quick), clients)
        office.says = {"up": True}
        with group.protection.clients() as clients:
            contradicted = failed(StepName.GATHER_EVIDENCE, passing.request(**quick), clients)
        office.asked.clear()
        office.says, office.then = {"up": False}, {"up": True}
        with group.protection.clients() as clients:
            taken_back = failed(StepName.GATHER_EVIDENCE, passing.request(**quick), clients)
        asked = len(office.asked)
        probes = _with_everything_hanging(passing, office)
        office.says = {"up": False}
        request = passing.request(**quick)
        seconded = passing.approve(request)

    assert (alone.outcome, contradicted.outcome, taken_back.outcome) == ("unknown", "unknown", "unknown")
    assert "only 1 of the 2 vantages needed see that (this installation)" in alone.detail
    assert "check our network" in contradicted.detail
    assert "check our network" in taken_back.detail
    assert asked == 2
    assert {probe.name: probe.outcome for probe in probes} == {
        "metadata": "failed",
        **dict.fromkeys(
            ("brokers", "controller", "partitions", "writes", "register", "canary", "flow", "lag"), "unknown"
        ),
        "vantage office": "unknown",
    }
    assert (
        "seen by this installation, office" in {check.name: check.detail for check in seconded.checks}["source_is_down"]
    )


def _with_everything_hanging(disaster: Disaster, office: Vantage) -> list[Probe]:
    """Take every probe while source, target, Connect and the vantage point hang: it ends while they still do."""
    group, seconds = disaster.group, 3.0
    office.hangs = True
    with (
        disaster.hanging(outside_view.broker_of(disaster.standby)),
        disaster.hanging(f"{disaster.standby}-connect"),
        group.protection.clients() as clients,
    ):
        probes = take_probes(
            group.protection.group, clients, source=disaster.active, target=disaster.standby, seconds=seconds
        )
    office.hangs = False
    group.wait_for_register(disaster.standby)
    return probes


@pytest.mark.long
def test_what_groups_read_elsewhere_is_judged_by_the_last_look_at_a_source_that_is_dead(passing: Disaster) -> None:
    protection, slow = passing.group.protection, f"{passing.group.name}-slow"
    beyond = OutsideTopics.create(protection, passing.active)
    beyond.commit(passing.active, slow, beyond.of_neighbour, 3, 4)
    passing.look()
    with passing.seen_down_elsewhere(), passing.hanging(passing.broker):
        with protection.clients() as clients:
            refused = failed(StepName.GATHER_EVIDENCE, passing.request(override=""), clients)
        overridden = passing.approve(passing.request())

    said = {check.name: check for check in refused.checks}[READ_ONLY_OWNED]
    assert said.outcome == "failed"
    assert f"{slow} reads {beyond.of_neighbour} (2 positions), which belongs to the protection group" in said.detail
    shown = {check.name: check for check in overridden.checks}[READ_ONLY_OWNED]
    assert shown.outcome == "overridden"
    assert shown.detail.startswith("2 positions of 1 consumer group")
    assert overridden.facts["decision"]["leaves_out"] == [[slow, beyond.of_neighbour]]

    # A source that answers after all is drained as it is then; the run continues, and says what it leaves out.
    request = passing.request()
    with protection.cluster(passing.active, "admin") as admin:
        settled(admin, (1,))
        try:
            beyond.commit(passing.active, slow, beyond.of_nobody, 5)
            moved = passing.go(StepName.CUT_OVER_GROUPS, request)[StepName.CUT_OVER_GROUPS]
            with protection.clients() as clients:
                roll_back(request, clients)
        finally:
            admin.topics.delete([beyond.of_neighbour, beyond.of_nobody])
    assert moved.facts["positions_left_out"] == 3
    assert [row["topic"] for row in moved.facts["left_out"]] == [beyond.of_neighbour, beyond.of_nobody]


def test_two_people_have_to_approve_if_the_topology_says_so(passing: Disaster) -> None:
    group = passing.group
    spec = group.protection.group.disaster.model_copy(update={"approvers_needed": 2})
    group.protection.changes["disaster"] = spec
    request = passing.request()
    first = passing.approve(request)
    with group.protection.clients() as clients:
        assert "no answer to second_approval" in failed(StepName.CLAIM, request, clients).detail
        second = ask_approval(request, clients, StepName.SECOND_APPROVAL)
        assert second.approvers == (Person("bob", "bob"),)
        assert second.sheet.warnings[-1] == "`alice` approved it."
        asked = [each["facts"] for each in clients.evidence.attempts(group.name, request.run, StepName.APPROVAL.value)]
        said = [facts["asked"]["sheet"]["consequence"] for facts in asked if "asked" in facts]
        assert said == ["asks a second person"]
        with pytest.raises(Exception, match="alice, who may not give this answer"):
            record_answer(
                request, clients, Answer(True, "alice", datetime.now(UTC), second.digest), StepName.SECOND_APPROVAL
            )
        yes = Answer(True, "bob", datetime.now(UTC), second.digest)
        with pytest.raises(Exception, match=r"approved by bob at .*, too late"):
            record_answer(request, clients, replace(yes, responded_at=second.expires_at), StepName.SECOND_APPROVAL)
        record_answer(request, clients, yes, StepName.SECOND_APPROVAL)
    claimed = passing.step(StepName.CLAIM, request)
    with group.protection.clients() as clients:
        roll_back(request, clients)

    assert first.facts["digest"] == second.digest
    assert claimed.facts["approved_by"] == "alice, bob"
    assert claimed.detail == f"the group is switching by this run (epoch {claimed.facts['epoch']})"
    # Its register is set first, as it answers: no other run can claim the group there.
    assert claimed.facts["source_register"] == f"the register of {passing.active} names this run, too"


@pytest.mark.long
def test_a_group_that_was_moved_a_moment_ago_needs_an_acknowledgement_and_is_not_proposed(passing: Disaster) -> None:
    group = passing.group
    group.go(StepName.REPORT)
    back = Disaster.of(group)
    state = back.state()
    with group.protection.clients() as clients:
        record = failed(StepName.GATHER_EVIDENCE, back.request(acknowledged=False), clients)

    assert record.outcome == "refused"
    assert "or trigger a new run that acknowledges it" in record.detail
    assert "source_is_down" not in {check.name for check in record.checks}, "nobody waits for the probes"
    with pytest.raises(Refused, match="nothing to approve"), group.protection.clients() as clients:
        ask_approval(back.request(acknowledged=False), clients)

    # Nor is a run proposed that could only end before it asks for an approval, minute after minute.
    back.look()
    with passing.seen_down_elsewhere(), passing.hanging(back.broker):
        spec = group.protection.group.disaster.model_copy(update={"auto_propose": True})
        group.protection.changes["disaster"] = spec
        with group.protection.clients() as clients:
            proposal = consider_proposal(group.name, clients)
        assert (proposal.decision, proposal.run) == (ProposalDecision.HELD, "")
        moved = rf"hold_down: planned_failover {state.run} moved {group.name} \S+ s ago, .+?\."
        only = rf"before it could ask for approval: {moved} Fix that, and trigger"
        assert re.search(only, proposal.sentence), proposal.sentence
        assert not back.journal("proposals")
