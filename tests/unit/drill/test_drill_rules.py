"""When a drill may begin, whose names it uses, who approves it, and what its result follows from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jobs.flows import group_named
from kafka_dr.approvals.approval import judge
from kafka_dr.approvals.journaled import Answer
from kafka_dr.drill import conduct
from kafka_dr.drill.approving import DrillApprover, approve, approver_of
from kafka_dr.drill.beginning import longest_undrilled
from kafka_dr.drill.practice import Practised
from kafka_dr.drill.result import DrillLeg, DrillResult, DrillResults
from kafka_dr.drill.rights import given, of_drill, to_tear_down
from kafka_dr.drill.windows import due, is_open, overdue
from kafka_dr.errors import Refused
from kafka_dr.fencing import plan
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.people import UNKNOWN_PERSON, Person
from kafka_dr.runs.request import RunRequest
from kafka_dr.topology.audited import audited_flow
from kafka_dr.topology.declared import UnknownName
from kafka_dr.topology.drill_group import Drill, declared, drill_of, topology_for, topology_of
from kafka_dr.topology.drill_rules import NOBODY
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from support.drill_results import OBJECTIVES, SPEC, TUESDAY, leg, result
from support.manual_clock import ManualClock
from support.route_file import route_file

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"
UNPLANNED = leg(verb="unplanned_failover", lost=2, rpo_seconds=1.0, write_outage_seconds=44.0)
#: A failback moves no application, so no objective is measured.
COPY: dict[str, Any] = {
    **{"verb": "failback", "source": "west", "target": "east"},
    **dict.fromkeys(("rto_seconds", "rpo_seconds", "write_outage_seconds")),
}
LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}


@pytest.fixture
def topology() -> Topology:
    return load(TOPOLOGY, LAB)


def drill(topology: Topology, **spec: Any) -> Drill:
    group = topology.group("orders")
    assert group.drill is not None
    return Drill(group, group.drill.model_copy(update=spec), "20261124103000", "planned", ("west", "east"))


@pytest.mark.parametrize(
    ("windows", "at", "open_"),
    [
        ((), TUESDAY, True),
        (("Mon-Fri 09:00-16:00",), TUESDAY, True),
        (("Tue 10:30-10:31",), TUESDAY, True),
        (("Tue 09:00-10:30",), TUESDAY, False),
        (("Sat-Sun 00:00-24:00",), TUESDAY, False),
        (("Sat-Tue 00:00-24:00",), TUESDAY, True),
        (("Fri-Mon 00:00-24:00",), TUESDAY, False),
        (("Wed 00:00-24:00", "Tue 10:00-11:00"), TUESDAY, True),
    ],
)
def test_a_window_is_a_time_of_certain_days_in_utc(windows: tuple[str, ...], at: datetime, open_: bool) -> None:
    assert is_open(windows, at) is open_


@pytest.mark.parametrize(
    ("past", "wanted"),
    [
        ([], "planned"),
        ([result(TUESDAY - timedelta(days=29))], None),
        ([result(TUESDAY - timedelta(days=31))], "unplanned"),
        ([result(TUESDAY - timedelta(days=29), passed=False)], None),
        (
            [result(TUESDAY - timedelta(days=40), kind="unplanned"), result(TUESDAY - timedelta(days=80))],
            "planned",
        ),
    ],
)
def test_a_drill_is_due_after_so_many_days_and_the_kinds_take_turns(
    past: Sequence[DrillResult], wanted: str | None
) -> None:
    spec = SPEC.model_copy(update={"kinds": ("planned", "unplanned")})
    assert due(spec, past, TUESDAY) == wanted
    assert due(spec.model_copy(update={"windows": ("Sun 00:00-01:00",)}), past, TUESDAY) is None
    assert due(spec.model_copy(update={"every_days": None}), past, TUESDAY) is None


def test_only_a_drill_that_passed_keeps_a_group_from_being_overdue() -> None:
    assert overdue(SPEC, [], TUESDAY)
    assert not overdue(SPEC, [result(TUESDAY - timedelta(days=30))], TUESDAY)
    assert overdue(SPEC, [result(TUESDAY - timedelta(days=32))], TUESDAY)
    assert overdue(SPEC, [result(TUESDAY - timedelta(days=3), passed=False)], TUESDAY)
    assert not overdue(SPEC.model_copy(update={"every_days": None}), [], TUESDAY)


def test_a_drills_names_say_which_group_and_when_whatever_the_group_is_called() -> None:
    assert drill_of("kafka-dr-drill-orders-20261124103000") == ("orders", "20261124103000")
    assert drill_of("kafka-dr-drill-orders-2-20261124103000") == ("orders-2", "20261124103000")
    nested = "kafka-dr-drill-orders-20261124103000-20261124103001"
    assert drill_of(nested) == ("orders-20261124103000", "20261124103001")
    for name in ("orders", "kafka-dr-drill-orders", "kafka-dr-drill-orders-2026", "x-kafka-dr-drill-o-20261124103000"):
        assert drill_of(name) is None


def test_a_drill_knows_its_own_group_alone_and_shares_no_name_with_the_real_one(topology: Topology) -> None:
    made = drill(topology)
    (own,) = topology_of(made, topology).protection_groups.values()
    real = topology.group("orders")
    names = (*made.topics, own.canary_topic, made.readers)
    assert not [name for name in names if real.owns_topic(name) or real.owns_group(name)]
    assert all(own.owns_topic(name) for name in (*made.topics, own.canary_topic))
    assert own.owns_group(made.readers)
    assert not own.owns_topic("orders.payments")
    assert (own.clusters, own.initial_active) == (("west", "east"), "west")
    assert own.objectives == real.objectives
    assert str(route_file(own)) != str(route_file(real))


@pytest.mark.parametrize("naming", ["identity", "default"])
def test_every_deny_and_every_right_of_a_drill_is_on_its_own_names(topology: Topology, naming: str) -> None:
    flow = topology.group("orders").flow.model_copy(update={"naming": naming, "separator": "_"})
    real = topology.group("orders").model_copy(update={"flow": flow})
    made = replace(drill(topology), group=real)
    (own,) = topology_of(made, topology).protection_groups.values()
    acls = given(own, "east") | to_tear_down(own, "east") | plan.every(own, "east")
    assert of_drill(acls, own, "east") == acls
    assert {acl.name for acl in acls} == {made.prefix, *([f"west_{made.prefix}"] if naming == "default" else [])}
    assert of_drill(plan.every(real, "east"), own, "east") == frozenset()


def test_a_group_that_covers_the_names_of_a_drills_copies_is_refused(topology: Topology) -> None:
    flow = topology.group("orders").flow.model_copy(update={"naming": "default"})
    named = topology.group("orders").model_copy(update={"flow": flow})
    taking = topology.group("orders").model_copy(update={"name": "others", "topic_prefixes": ("east.",), "drill": None})
    groups = {"orders": named, "others": taking}
    with pytest.raises(Refused, match=r"'east\.' of others also covers names that begin with kafka-dr-drill-"):
        declared(topology.model_copy(update={"protection_groups": groups}), "orders")
    assert not taking.model_copy(update={"topic_prefixes": (), "topic_patterns": (".*",)}).owns_topic(
        "east.kafka-dr-drill-a.1"
    )


def test_a_group_without_a_declared_drill_is_refused_with_what_to_declare(topology: Topology) -> None:
    group = topology.group("orders")

    def changed(**fields: object) -> Topology:
        return topology.model_copy(update={"protection_groups": {"orders": group.model_copy(update=fields)}})

    with pytest.raises(Refused, match=r"add drill: to the group, with principal and the id of its connection"):
        declared(changed(drill=None), "orders")
    with pytest.raises(Refused, match=r"'kafka-' of orders also covers names that begin with kafka-dr-drill-"):
        declared(changed(topic_prefixes=("orders.", "kafka-")), "orders")
    with pytest.raises(Refused, match="does not name the audit_principal"):
        declared(changed(audit_principal=None), "orders")
    assert declared(topology, "orders").principal == "User:dr-drill"


def clients_with(*people: str) -> Any:
    return SimpleNamespace(approvers=lambda group: tuple(Person(name, f"id of {name}") for name in people))


def test_the_approver_who_triggers_a_drill_approves_it_and_nobody_else_does(topology: Topology) -> None:
    made = drill(topology)
    found = approver_of(made, clients_with("alice", "bob"), requester="bob")
    assert (found.person, found.verified) == (Person("bob", "id of bob"), "Airflow")
    for requester in ("carol", "", UNKNOWN_PERSON):
        with pytest.raises(Refused, match=r"is not an approver of the group: let an approver trigger it"):
            approver_of(made, clients_with("alice", "bob"), requester=requester)
    strict = replace(made, group=made.group.model_copy(update={"requester_may_approve": False}))
    with pytest.raises(Refused, match="requester_may_approve of orders is false, so alice cannot approve"):
        approver_of(strict, clients_with("alice"), requester="alice")


def test_the_topology_approves_a_drill_where_it_says_so_and_evidence_names_no_person(topology: Topology) -> None:
    found = approver_of(drill(topology, approval="automatic"), clients_with(), requester="")
    assert found.person.name == NOBODY
    assert "automatic" in found.verified


def test_no_real_group_is_approved_by_a_drill_whoever_asks(topology: Topology) -> None:
    nobody = DrillApprover(Person(NOBODY, NOBODY), "the topology")
    with pytest.raises(Refused, match="orders is the group of no drill, so a person has to approve its runs"):
        approve(RunRequest("orders", "run-1"), clients_with("alice"), nobody)
    # And if such an answer were in the register all the same, the claim of a real group would not count it.
    context: Any = SimpleNamespace(group=topology.group("orders"), clock=ManualClock())
    checks = judge(context, Answer(True, NOBODY, context.clock.now(), "d", "", NOBODY, "the topology"))
    assert {check.name: check.outcome for check in checks}["responder_is_approver"] == "failed"


@pytest.mark.parametrize(
    ("legs", "unread", "why"),
    [
        ([leg(), leg()], 0, ()),
        ([leg(), leg(rto_seconds=70.0)], 0, ("recovery 70.0 s, missed 60 s by 10.0 s",)),
        ([leg(), leg(rto_seconds=None)], 0, ("recovery not known, objective 60 s",)),
        ([leg(write_outage_seconds=5.5)], 0, ("write outage 5.5 s, missed 5 s by 0.5 s",)),
        ([leg(lost=2, rpo_seconds=1.0)], 0, ("east → west: 2 of 100 acknowledged records were lost",)),
        ([leg(verb="unplanned_failover", lost=2, rpo_seconds=1.0, write_outage_seconds=44.0)], 0, ()),
        (
            [leg(verb="unplanned_failover", lost=2, rpo_seconds=61.0)],
            0,
            ("data at risk 61.0 s, missed 60 s by 1.0 s",),
        ),
        ([leg(write_outage_seconds=-0.1)], 0, ("east → west: both clusters acknowledged writes at the same time",)),
        ([leg(reordered=1)], 0, ("east → west: 1 record is in another order, or twice",)),
        ([UNPLANNED, leg(**COPY)], 0, ()),
        (
            [UNPLANNED, leg(**COPY, lost=3)],
            0,
            ("west → east: 3 of 100 acknowledged records are missing in the new copy",),
        ),
        ([UNPLANNED, leg(**COPY, reordered=1)], 0, ("west → east: 1 record is in another order, or twice",)),
        ([leg()], 3, ("3 records were never read, by no member of the group",)),
    ],
)
def test_a_drill_passes_only_if_nothing_was_wrong(legs: list[DrillLeg], unread: int, why: tuple[str, ...]) -> None:
    begun = result(stage="begun", passed=False)
    found = conduct.measured(replace(begun, why=(), legs=()), Practised(tuple(legs), unread, 0), OBJECTIVES)
    assert (found.why, found.passed, found.stage) == (why, False, "measured")
    ended = conduct.ended(found, ())
    assert (ended.passed, ended.stage) == (not why, "ended")
    assert conduct.ended(ended, ()) == ended


def test_an_unplanned_drill_without_its_way_back_says_so() -> None:
    there = replace(result(kind="unplanned"), legs=(UNPLANNED,))
    assert "passed, the way back was not practised" in there.summary
    assert "not practised" not in replace(there, legs=(UNPLANNED, leg(**COPY))).summary
    assert "not practised" not in result().summary


def test_a_job_that_is_asked_about_a_drills_group_knows_that_group_alone(topology: Topology) -> None:
    assert topology_for("orders", topology) is topology
    made = drill(topology)
    known = topology_for(made.name, topology)
    (own,) = known.protection_groups.values()
    assert (own.name, own.topic_prefixes) == (made.name, (made.prefix,))
    assert set(own.clusters) == set(topology.group("orders").clusters)
    assert known.evidence.root == f"{topology.evidence.root}/drills/orders/{made.id}"
    flow = audited_flow(known, f"{made.name}.west-to-east")
    assert (flow.source.name, flow.target.name) == ("west", "east")
    assert group_named(f"{made.name}.west-to-east") == made.name
    with pytest.raises(UnknownName):
        topology_for("kafka-dr-drill-unknown-20261124103000", topology)


def test_what_the_teardown_left_keeps_a_drill_from_passing_until_it_is_gone() -> None:
    found = conduct.measured(replace(result(), why=()), Practised((leg(),), 0, 0), OBJECTIVES)
    left = conduct.ended(found, ("on east there still is a topic",))
    assert (left.passed, left.why) == (False, ("the teardown left something: on east there still is a topic",))
    assert conduct.ended(left, ()).passed
    died = conduct.ended(replace(result(), legs=(), stage="begun", passed=False), ())
    assert (died.passed, died.why[-1]) == (False, "its process ended before anything was measured")


def test_results_are_kept_one_file_for_each_drill_and_read_newest_first(tmp_path: Path) -> None:
    kept = DrillResults(tmp_path, "orders")
    assert (kept.ids(), kept.newest(5)) == ((), ())
    older, newer = result(TUESDAY - timedelta(days=1), passed=False), result()
    for each in (newer, older):
        kept.write(each)
    assert kept.newest(5) == (newer, older)
    assert kept.newest(1) == (newer,)
    assert "passed" in newer.summary
    assert "did not pass: recovery 70 s" in older.summary
    assert DrillResult.from_json(newer.to_json()) == newer
    (tmp_path / "drills" / "orders" / newer.id / "result.json").write_text('{"schema_version": 1, "stage": "?"}')
    with pytest.raises(DocumentDamaged):
        kept.newest(5)


def test_of_several_standbys_the_next_drill_goes_to_the_one_that_was_drilled_longest_ago() -> None:
    went = enumerate(("west", "north", "west"))
    past = [replace(result(TUESDAY + timedelta(days=day)), standby=name) for day, name in went]
    assert longest_undrilled(("north", "west"), past) == "north"
    assert longest_undrilled(("north", "rome", "west"), past) == "rome"
    assert longest_undrilled(("west",), []) == "west"
