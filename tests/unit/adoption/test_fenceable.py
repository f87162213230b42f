"""What a take over asks as an adoption does: can the clusters be fenced, and do DENYs stay there?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.access_rules.port import BeforeEach
from kafka_dr.adoption.fenceable import lasting_on
from kafka_dr.adoption.take_over import checks as asked
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.adoption.take_over.denies_last import with_lasting_seen
from kafka_dr.clusters import Acl
from kafka_dr.errors import TryAgain
from kafka_dr.outcomes import Check
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.runs.silent_clusters import SilentClusters
from kafka_dr.topology.access_rules import AccessRulesSpec
from kafka_dr.topology.existing import ExistingReplicationSpec
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from support.manual_clock import ManualClock
from support.memory_register import MemoryRegister
from support.sentences import assert_sentence

LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}
TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"
IN_A_FILE = AccessRulesSpec(kept_by="file", path="/srv/rules.json", reconciles_every_seconds=60)
BEHIND_A_PROGRAM = AccessRulesSpec(kept_by="command", program=("/opt/iam",))
OLD, PROBE, REPLICATOR = "User:old", "User:probe", "User:replicator"
EAST, WEST = lasting_on("east"), lasting_on("west")


def declared(east: AccessRulesSpec, west: AccessRulesSpec, old: str) -> Topology:
    """Return the lab's topology with a group that somebody else replicates."""
    found = load(TOPOLOGY, LAB)
    existing = ExistingReplicationSpec(replicator="external", principal=old, stop_command=("/bin/true",))
    orders = found.group("orders").model_copy(update={"existing_replication": existing})
    clusters = {
        name: found.cluster(name).model_copy(update={"access_rules": rules})
        for name, rules in (("east", east), ("west", west))
    }
    groups = {**found.protection_groups, "orders": orders}
    return found.model_copy(update={"protection_groups": groups, "clusters": {**found.clusters, **clusters}})


class KeptRules:
    """Access rules that somebody compares after half a minute.

    :param removed: whether that removes what this project has added
    """

    is_direct = False

    def __init__(self, cluster: str, clock: ManualClock) -> None:
        self.cluster, self.removed, self.works = cluster, False, True
        self._clock = clock
        self._added: dict[Acl, float] = {}
        #: Everything that was ever added.
        self.seen: set[Acl] = set()

    def list(self) -> frozenset[Acl]:
        now = self._clock.monotonic()
        return frozenset(acl for acl, at in self._added.items() if not (self.removed and now - at >= 30))

    def leaving(self, acls: frozenset[Acl]) -> frozenset[Acl]:
        return frozenset()

    def coming(self, acls: frozenset[Acl]) -> frozenset[Acl]:
        return frozenset()

    def add(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        if before_each is not None:
            before_each()
        if not self.works:
            raise TryAgain(f"broker 1 of {self.cluster} lacks 1 rules")
        added = dict.fromkeys(acls, self._clock.monotonic())
        self._added |= added
        self.seen |= added.keys()

    def remove(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        for acl in acls:
            self._added.pop(acl, None)


class FencedClusters:
    """Both clusters of the group as a take over meets them: nothing but what it asks about fences is there."""

    def __init__(self, east: AccessRulesSpec = IN_A_FILE, west: AccessRulesSpec = IN_A_FILE, *, old: str = OLD) -> None:
        self.clock = ManualClock()
        self.rules = {name: KeptRules(name, self.clock) for name in ("east", "west")}
        self.registers = {name: MemoryRegister() for name in ("east", "west")}
        self.created: list[str] = []
        self.may_change = {"east": True, "west": True}
        self._topology = declared(east, west, old)

    def context(self, *, dry_run: bool = False) -> TakeOverContext:
        """Return a take over that begins."""
        clients = SimpleNamespace(
            topology=self._topology,
            clock=self.clock,
            register=self._register,
            digests=lambda _: SimpleNamespace(correct_topic=lambda: {}),
            access_rules=lambda cluster, *_, **__: self.rules[cluster],
            cluster=self._cluster,
            require_declared=lambda _: None,
            silent_clusters=SilentClusters(self.clock),
        )
        request = RunRequest("orders", "run", dry_run=dry_run, reason="a test", verb="take_over")
        return TakeOverContext(Run(request, cast("Clients", clients)))

    def outlived(self, cluster: str, *, hours: float) -> None:
        """Let the register of a cluster know that a DENY has outlasted a comparison."""
        at = self.clock.now() - timedelta(hours=hours)
        self.registers[cluster].change_added_acls("orders", cluster, lambda found: found.found_outlived(at))

    def checks(self, *more: Check, dry_run: bool = False) -> dict[str, Check]:
        """Return the checks whether DENYs last, after it was seen, by name."""
        context = self.context(dry_run=dry_run)
        found = with_lasting_seen(context, (*asked._lasting(context), *more))
        return {check.name: check for check in found}

    def _register(self, cluster: str) -> Any:
        kept = self.registers[cluster]
        return SimpleNamespace(
            read=kept.read,
            added_acls=kept.added_acls,
            change_added_acls=kept.change_added_acls,
            create=lambda **_: self._create(cluster),
        )

    def _create(self, cluster: str) -> bool:
        self.created.append(cluster)
        return True

    def _cluster(self, name: str, role: str) -> Any:
        if role != "operator":
            raise TryAgain(f"nothing but fences is asked for here, and {name} was asked as {role}")
        identity = SimpleNamespace(brokers=(1, 2, 3))

        def silent(*_: object, **__: object) -> Any:
            raise TryAgain("nothing but fences is asked for here")

        topics = SimpleNamespace(
            identity=lambda: identity, names=frozenset, describe=lambda _: {}, partitions=lambda _: ()
        )
        acls = SimpleNamespace(may_change=lambda: self.may_change[name], list=silent)
        return SimpleNamespace(topics=topics, acls=acls, configs=SimpleNamespace(describe=silent, of_brokers=silent))


def fences(world: FencedClusters, monkeypatch: pytest.MonkeyPatch) -> dict[str, Check]:
    """Return what a take over finds about fences before the audit; the other questions are not asked."""
    monkeypatch.setattr(asked, "_FIRST", ())
    ours = tuple(each for each in asked._QUESTIONS if each[0] in ("denies_can_be_added", "fences_can_be_proven"))
    monkeypatch.setattr(asked, "_QUESTIONS", ours)
    monkeypatch.setattr(asked, "topics_of_patterns", lambda *_, **__: ())
    return {check.name: check for check in asked.take_over_checks(world.context(), audited=False)}


def test_without_the_right_to_add_denies_a_take_over_says_before_the_audit_that_the_flow_can_only_be_observed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = FencedClusters(AccessRulesSpec(), AccessRulesSpec())
    assert {check.outcome for check in fences(world, monkeypatch).values()} == {"ok"}
    world.may_change["west"] = False

    found = fences(world, monkeypatch)["denies_can_be_added"]

    assert found.outcome == "failed"
    assert_sentence(found.detail)


def test_where_acls_do_not_decide_each_application_has_to_be_asked_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    found = fences(FencedClusters(west=BEHIND_A_PROGRAM), monkeypatch)["fences_can_be_proven"]

    assert found.outcome == "failed"
    assert_sentence(found.detail)


def test_whether_denies_last_is_asked_by_claim_too_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = FencedClusters()
    found = fences(world, monkeypatch)
    assert (found[EAST].outcome, found[WEST].outcome) == ("unknown", "unknown")
    assert_sentence(found[WEST].detail)
    assert not world.rules["west"].seen
    world.outlived("east", hours=1)
    world.outlived("west", hours=25)
    found = fences(world, monkeypatch)
    assert (found[EAST].outcome, found[WEST].outcome) == ("ok", "unknown")


def test_a_deny_that_stops_nobody_is_added_for_the_old_principal_too_and_lifted_again() -> None:
    world = FencedClusters()
    world.outlived("east", hours=1)

    found = world.checks()

    assert (found[EAST].outcome, found[WEST].outcome) == ("ok", "ok")
    assert {acl.principal for acl in world.rules["west"].seen} == {OLD, PROBE}
    assert {acl.name for acl in world.rules["west"].seen} == {"_kafka_dr.witness.orders"}
    assert not world.rules["west"].list()
    assert not world.rules["east"].seen, "it is known there"
    assert world.clock.monotonic() >= 60
    assert set(world.created) == {"east", "west"}
    # What was seen is known until the claim.
    assert asked._lasting(world.context())[1].outcome == "ok"


def test_nobody_on_the_source_has_to_know_the_old_principal() -> None:
    world = FencedClusters(west=AccessRulesSpec())
    assert {check.outcome for check in world.checks().values()} == {"ok"}
    assert {acl.principal for acl in world.rules["east"].seen} == {PROBE}


def test_replication_that_works_as_this_projects_replicator_gets_no_deny_so_none_has_to_last() -> None:
    world = FencedClusters(old=REPLICATOR)
    assert {check.outcome for check in world.checks().values()} == {"ok"}
    assert {acl.principal for acl in world.rules["west"].seen} == {PROBE}


def test_denies_that_somebody_removes_end_the_take_over_and_the_flow_can_only_be_observed() -> None:
    world = FencedClusters()
    world.rules["west"].removed = True

    found = world.checks()

    assert (found[EAST].outcome, found[WEST].outcome) == ("ok", "failed")
    assert_sentence(found[WEST].detail)
    assert not world.registers["west"].added_acls("orders", "west").current


def test_nothing_is_added_while_something_else_is_in_the_way_nor_in_a_dry_run() -> None:
    world = FencedClusters()
    found = world.checks(Check("writers_of_the_copy", "failed", "somebody else may write"))
    assert found[WEST].outcome == "unknown"
    found = world.checks(Check("route_agrees", "warning", "it may"), dry_run=True)
    assert (found[EAST].outcome, found[WEST].outcome, found["route_agrees"].outcome) == (
        "excused",
        "excused",
        "warning",
    )
    assert_sentence(found[WEST].detail)
    assert not world.rules["west"].seen | world.rules["east"].seen
    assert not world.created


def test_a_missing_audit_is_not_waited_for_as_it_takes_hours() -> None:
    world = FencedClusters()
    world.rules["west"].removed = True
    found = world.checks(Check("audit_covers_the_copy", "unknown", "nobody has audited"))
    assert (found[EAST].outcome, found[WEST].outcome) == ("ok", "failed")
    dry = FencedClusters().checks(Check("faults_can_be_approved", "failed", "nobody has audited"), dry_run=True)
    assert (dry[WEST].outcome, dry["faults_can_be_approved"].outcome) == ("excused", "failed")


def test_where_the_deny_does_not_arrive_nothing_is_known_and_the_sentence_says_why() -> None:
    world = FencedClusters()
    world.rules["west"].works = False

    found = world.checks()

    assert (found[EAST].outcome, found[WEST].outcome) == ("ok", "unknown")
    assert_sentence(found[WEST].detail)
