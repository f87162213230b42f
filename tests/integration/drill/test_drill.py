"""Drills on real brokers: they pass, they are red when they should be, and nothing of them is left, nor of the real."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.drill import conduct, teardown
from kafka_dr.drill.beginning import remaining
from kafka_dr.drill.making import make
from kafka_dr.drill.result import DrillResults
from kafka_dr.errors import Refused
from kafka_dr.health.health_check import check_health
from kafka_dr.readiness_checks.surroundings import drilled_lately
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.topology.drill import DrillKind, DrillSpec
from kafka_dr.topology.drill_rules import NOBODY
from kafka_dr.watch.reconcile_flows import reconcile_flows
from kafka_dr.watch_results import RunningSteps
from lab import rights
from support.closed_standby import close
from support.command_line import CommandLine
from support.drill_jobs import DrillJobs
from support.named_group import named_protection
from support.switched_group import Killed, SwitchedGroup
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kafka_dr.drill.copy_jobs import CopyJobs
    from kafka_dr.runs.clients import Clients
    from kafka_dr.runs.group_context import GroupContext
    from kafka_dr.topology.drill_group import Drill
    from lab.api import Lab
    from support.protection import Protection

pytestmark = pytest.mark.kafka

_OBJECTIVES = ("rto_seconds", "rpo_seconds", "write_outage_seconds")
#: What the names of all protection groups and replications of tests contain, and all that is made for them.
OF_A_TEST = re.compile(r"\b[art][0-9a-f]{8}\b")
SPEC = DrillSpec(
    principal=f"User:{rights.DRILL}",
    connections={"east": "kafka_east_drill", "west": "kafka_west_drill"},
    approval="automatic",
    topics=2,
    partitions=2,
    load_seconds=1,
)


@dataclass(slots=True)
class RealGroup:
    """A real, stable group, and the log of the drills of it."""

    protection: Protection
    clients: Clients
    said: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.protection.name

    def say(self, sentence: str) -> None:
        self.said.append(sentence)

    def seen(self) -> dict[str, object]:
        """Return everything on both clusters that a drill must leave as it is; other tests may use them meanwhile."""
        found: dict[str, object] = {}
        for cluster in ("east", "west"):
            register = self.clients.register(cluster)
            found[f"record on {cluster}"] = register.read(self.name)
            found[f"journal on {cluster}"] = register.history(self.name)
            with self.protection.cluster(cluster, "admin") as admin:
                acls, topics, groups = admin.acls.list(), admin.topics.names(), admin.groups.names()
                found[f"ACLs on {cluster}"] = {acl for acl in acls if self._counts(f"{acl.name} {acl.principal}")}
                found[f"topics on {cluster}"] = {
                    name for name in topics if self._counts(name) and not name.startswith(("_", "mm2", "connect-"))
                }
                found[f"groups on {cluster}"] = {name for name in groups if self._counts(name)}
                ends = admin.topics.high_watermarks(
                    admin.topics.describe([self.protection.topic])[self.protection.topic].partitions
                )
                found[f"ends on {cluster}"] = ends
        found["route"] = self.clients.router(self.protection.group).read()
        return found

    def _counts(self, name: str) -> bool:
        return self.name in name or not OF_A_TEST.search(name)

    def left(self) -> tuple[str, ...]:
        return remaining(self.protection.group, self.clients)

    def drill(self, drill_id: str, kind: DrillKind = "planned", jobs: CopyJobs | None = None) -> None:
        conduct.begin(self.name, kind, drill_id, self.clients, requester="")
        conduct.carry_out(self.name, drill_id, self.clients, self.say, requester="", jobs=jobs)


@pytest.fixture
def real(protection: Protection) -> Iterator[RealGroup]:
    yield from adopted(protection)


@pytest.fixture
def named(lab: Lab, tmp_path: Path) -> Iterator[RealGroup]:
    """A real group whose copies have other names than their originals, and so have those of its drills."""
    with named_protection(lab, tmp_path, separator="_") as protection:
        protection.create()
        yield from adopted(protection)


def adopted(protection: Protection) -> Iterator[RealGroup]:
    # No test asserts a time, also not through an objective.
    objectives = protection.group.objectives.model_copy(update=dict.fromkeys(_OBJECTIVES, 300.0))
    protection.changes |= {"drill": SPEC, "objectives": objectives}
    with protection.clients() as clients:
        adopt(protection.name, clients, "adoption")
        yield RealGroup(protection, clients)


@pytest.mark.parametrize(
    ("kind", "denied"),
    [("real", "listed"), ("named", "listed"), pytest.param("real", "all", marks=pytest.mark.long)],
)
def test_a_planned_drill_moves_its_own_group_there_and_back_and_leaves_nothing(
    request: pytest.FixtureRequest, kind: str, denied: str
) -> None:
    real: RealGroup = request.getfixturevalue(kind)
    real.protection.changes["fence_operations"] = denied
    # The first look notes the ids of the topics.
    check_health(real.name, real.clients)
    if denied == "all":
        reconcile_flows(real.name, real.clients)
        eventually(lambda: reconcile_flows(real.name, real.clients).outcome == "ok")
        close(SwitchedGroup(real.protection))
    before = real.seen()
    real.drill("20260101000001")
    health = check_health(real.name, real.clients)
    result = conduct.conclude(real.name, "20260101000001", real.clients, real.say)

    assert result is not None
    said = "\n".join(real.said)
    assert result.passed, f"{result.why}\n{said}"
    assert (result.stage, result.approved_by, result.unread) == ("ended", NOBODY, 0)
    there, back = result.legs
    assert (there.source, there.target, back.source, back.target) == ("east", "west", "west", "east")
    for leg in result.legs:
        assert leg.acknowledged > 0
        assert (leg.lost, leg.reordered, leg.rpo_seconds) == (0, 0, 0.0)
        assert leg.rto_seconds is not None
        assert leg.write_outage_seconds is not None
        assert leg.report["rto_seconds"] is not None
    assert {each.name: each.verdict for each in result.objectives} == {
        "rto_seconds": "met",
        "rpo_seconds": "met",
        "write_outage_seconds": "met",
    }
    assert real.seen() == before
    assert real.left() == ()
    assert NOBODY in said
    shown = RunningSteps(real.clients.evidence_root).of(real.name, result.id)
    assert shown is not None
    assert (shown.result["passed"], shown.result["id"]) == (True, result.id)
    # While the drill's fences and connectors were there, nothing of them concerned the real group.
    assert "kafka-dr-drill" not in health.summary
    readiness = drilled_lately(Run(RunRequest(real.name, "readiness"), real.clients))
    assert readiness.outcome == "ok", readiness


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("kind", ["real", "named"])
def test_an_unplanned_drill_makes_its_old_cluster_a_copy_again_and_leaves_nothing(
    request: pytest.FixtureRequest, kind: str, spark: SparkSession
) -> None:
    real: RealGroup = request.getfixturevalue(kind)
    before = real.seen()
    real.drill("20260101000011", "unplanned", DrillJobs(real.protection, spark))
    result = conduct.conclude(real.name, "20260101000011", real.clients, real.say)

    assert result is not None
    said = "\n".join(real.said)
    assert result.passed, f"{result.why}\n{said}"
    there, back = result.legs
    assert (there.verb, there.source, there.target) == ("unplanned_failover", "east", "west")
    assert (back.verb, back.source, back.target) == ("failback", "west", "east")
    assert back.acknowledged > 0
    assert (back.lost, back.reordered) == (0, 0)
    assert back.report["stranded"] == there.lost
    assert "not practised" not in result.summary
    steps = ("prepare_old_cluster: done", "reverse_flow: done", "was compared: green", "settle: done")
    assert [step for step in steps if step not in said] == []
    assert real.seen() == before
    assert real.left() == ()


@pytest.mark.long
def test_a_drill_that_a_stranger_could_write_to_does_not_pass_and_leaves_nothing(real: RealGroup) -> None:
    before = real.seen()

    def sabotaged(drill: object, own: Clients, say: object) -> None:
        make(drill, own, say)  # type: ignore[arg-type]
        (group,) = own.topology.protection_groups.values()
        (prefix,) = group.topic_prefixes
        stranger = Acl(
            ResourceType.TOPIC,
            prefix,
            PatternType.PREFIXED,
            "User:intruder",
            AclOperation.WRITE,
            AclPermission.ALLOW,
        )
        with real.protection.cluster("west", "admin") as admin:
            admin.acls.add([stranger])

    with mock.patch.object(conduct, "make", sabotaged):
        real.drill("20260101000002")
    result = conduct.conclude(real.name, "20260101000002", real.clients, real.say)
    assert result is not None
    assert not result.passed
    assert "writers_declared" in result.why[0]
    assert "User:intruder" in result.why[0]
    assert result.legs == ()
    assert real.left() == ()
    assert real.seen() == before
    shown = RunningSteps(real.clients.evidence_root).of(real.name, result.id)
    assert shown is not None
    assert (shown.result["passed"], shown.result["why"]) == (False, result.why[0])
    assert drilled_lately(Run(RunRequest(real.name, "readiness"), real.clients)).outcome == "warning"


def test_what_a_killed_drill_left_is_removed_by_name_and_no_other_begins_before(real: RealGroup) -> None:
    before = real.seen()
    with mock.patch.object(conduct, "practise", side_effect=Killed), pytest.raises(Killed):
        real.drill("20260101000003")
    assert real.left() == ("20260101000003",)
    denied = {acl.principal for acl in _denies(real, "west")}
    assert f"User:{rights.DRILL}" in denied
    with pytest.raises(Refused, match=r"drill 20260101000003 of .* runs, or has left something"):
        conduct.begin(real.name, "planned", "20260101000004", real.clients, requester="")

    for _ in range(2):  # it can be run again
        result = conduct.conclude(real.name, "20260101000003", real.clients, real.say)
        assert result is not None
        assert (result.passed, result.stage) == (False, "ended")
        assert result.why == ("its process ended before anything was measured",)
    assert real.left() == ()
    assert real.seen() == before


def test_what_a_killed_process_had_asked_for_and_is_made_during_the_removal_is_removed(real: RealGroup) -> None:
    clear = teardown._clear
    made: list[str] = []

    def made_late(context: GroupContext, drill: Drill, cluster: str) -> None:
        clear(context, drill, cluster)
        if cluster == "east" and not made:  # the flows were looked for already
            made.append(drill.name)
            context.clients.replicator(Flow(drill.name, "west", "east")).ensure()

    with mock.patch.object(conduct, "practise", side_effect=Killed), pytest.raises(Killed):
        real.drill("20260101000006")
    with mock.patch.object(teardown, "_clear", made_late):
        conduct.conclude(real.name, "20260101000006", real.clients, real.say)
    assert made
    assert real.left() == ()
    assert "nothing of" in "".join(real.said[-2:])


def test_no_drill_begins_while_a_run_holds_the_real_group(real: RealGroup) -> None:
    with real.protection.clients() as others:
        real.protection.start_flow(others)
        real.protection.run_until(real.protection.request("run-1"), StepName.FENCE_SOURCE, others)
    with pytest.raises(Refused, match=r"is switching by run run-1 .* a drill must not be in its way"):
        conduct.begin(real.name, "planned", "20260101000005", real.clients, requester="")
    assert DrillResults(real.clients.evidence_root, real.name).ids() == ()


def _denies(real: RealGroup, cluster: str) -> set[Acl]:
    with real.protection.cluster(cluster, "admin") as admin:
        return {acl for acl in admin.acls.list() if acl.permission is AclPermission.DENY and "drill" in acl.name}


@pytest.mark.long
def test_an_unplanned_drill_loses_the_source_for_itself_alone_and_fences_it_when_it_is_back(real: RealGroup) -> None:
    """By the command line; alice approves it by her key."""
    line, protection = CommandLine(real.protection), real.protection
    files, keys = line.keys("alice")
    protection.changes |= {
        "drill": SPEC.model_copy(update={"approval": "person"}),
        "approver_keys": keys,
        "timing": protection.group.timing.model_copy(update={"confirm_seconds": 1.0}),
    }
    before = real.seen()
    refused = line.run("drill", "--group", real.name, "--kind", "unplanned")
    assert (refused.code, refused.out) == (4, ""), refused.err
    assert "is not an approver of the group: let an approver trigger it" in refused.err

    said = line.run("drill", "--group", real.name, "--kind", "unplanned", "--key", str(files["alice"]), "--json")
    assert said.code == 0, f"{said.out}\n{said.err}"
    result = said.json
    assert (result["passed"], result["approved_by"], result["requested_by"]) == (True, "alice", "alice")
    (leg,) = result["legs"]
    assert (leg["verb"], leg["source"], leg["target"]) == ("unplanned_failover", "east", "west")
    assert leg["acknowledged"] > 0
    assert (leg["lost"] > 0) == (leg["rpo_seconds"] > 0)
    assert "east is lost for the drill: its connections lead to a closed port" in said.err
    assert "approval: by alice, verified by a key" in said.err
    assert "diverged" in said.err
    assert real.left() == ()
    assert real.seen() == before
    # Nothing here starts Spark's jobs.
    assert "passed, the way back was not practised" in said.err

    trend = line.run("drill", "--group", real.name, "--results")
    assert trend.code == 0
    assert f"the unplanned drill {result['id']} of {real.name} passed" in trend.out
    removed = line.run("drill", "--group", real.name, "--teardown")
    assert (removed.code, removed.out.strip()) == (0, f"nothing of any drill of {real.name} is left")
