"""Fences on clusters whose rules only a program can see: each principal is refused itself, or nothing is proven."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import KafkaCluster
from kafka_dr.clusters.acls import Acls
from kafka_dr.clusters.acls_of_brokers import AclsOfBrokers
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from lab import rights
from lab.api import Lab
from support.kept_elsewhere import RulesProgram
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka
_PROOF_SECONDS = "kafka_dr.runs.group_context.PROOF_SECONDS"
CLUSTERS, APPLICATIONS = ("east", "west"), (rights.ORDERS_APP, rights.BILLING_APP)


@contextmanager
def acls_are_hidden() -> Iterator[None]:
    """Let every look at a broker's ACLs, and every change of them, fail."""

    def hidden(*_: object, **__: object) -> Any:
        raise AssertionError("the ACLs of a cluster that does not decide by them were used")

    with ExitStack() as patched:
        for name in ("_list", "add", "remove", "may_change"):
            patched.enter_context(mock.patch.object(Acls, name, hidden))
        patched.enter_context(mock.patch.object(AclsOfBrokers, "list", hidden))
        yield


@pytest.fixture(scope="module")
def programs(lab: Lab, tmp_path_factory: pytest.TempPathFactory, folder_end: ExitStack) -> dict[str, RulesProgram]:
    """Return the programs of both clusters of one group."""
    protection = Protection(lab, tmp_path_factory.mktemp("behind-a-program"))
    found = {cluster: RulesProgram(protection, cluster) for cluster in CLUSTERS}
    protection.create()
    folder_end.callback(protection.delete_flows)
    for cluster, program in found.items():
        program.install()
        protection.access_rules[cluster] = program.spec(*APPLICATIONS)
    return found


@pytest.fixture(scope="module")
def group(programs: dict[str, RulesProgram]) -> SwitchedGroup:
    """Return a group that was adopted there."""
    protection = programs["east"].protection
    with acls_are_hidden():
        assert protection.adopt().outcome == "done"
    found = SwitchedGroup(protection)
    protection.produce("east", 60)
    found.wait_equal()
    return found


def test_a_group_is_not_adopted_where_a_principal_cannot_be_asked(
    programs: dict[str, RulesProgram],
) -> None:
    protection = programs["east"].protection
    before = protection.access_rules["west"]
    protection.access_rules["west"] = programs["west"].spec(rights.ORDERS_APP)
    try:
        with protection.clients() as clients, acls_are_hidden(), pytest.raises(StepFailed) as refusal:
            adopt(protection.name, clients, "too-early")
    finally:
        protection.access_rules["west"] = before
    assert "User:billing-app has no connection on west" in str(refusal.value)
    assert protection.state("east") is None


@pytest.mark.long
def test_a_group_fails_over_by_the_refusals_of_its_own_principals(group: SwitchedGroup) -> None:
    target = group.standby
    group.produce()
    with acls_are_hidden():
        request = group.go(StepName.FENCE_SOURCE)
        with group.protection.clients() as clients:
            for step in STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(StepName.DRAIN) :]:
                run_step(step, request, clients)
    group.assert_at_rest(target)


def test_what_acls_cannot_say_of_a_healthy_group_is_excused_so_that_no_alert_fires(group: SwitchedGroup) -> None:
    with group.protection.clients() as clients, acls_are_hidden():
        found = check_health(group.name, clients)
    assert found.outcome == "ok", found.sentences
    open_checks = found.facts["open_checks"]
    assert {"writers_declared", "register_writers", "active", "denies"} <= set(open_checks)
    assert set(open_checks.values()) == {"excused"}
    assert "changes_refused" not in open_checks, "nothing is known of rights to change topics"


def test_one_principal_without_a_connection_leaves_the_fence_unknown_and_no_failover_begins(
    group: SwitchedGroup, programs: dict[str, RulesProgram]
) -> None:
    standby = group.standby
    before = group.protection.access_rules[standby]
    group.protection.access_rules[standby] = programs[standby].spec(rights.ORDERS_APP)
    try:
        with group.protection.clients() as clients, acls_are_hidden():
            found = check_health(group.name, clients)
            refused = failed(StepName.PREFLIGHT, group.request(), clients)
    finally:
        group.protection.access_rules[standby] = before
    assert found.outcome == "unknown"
    said = f"User:billing-app: it has no connection in principal_connections of {standby}"
    assert said in "\n".join(found.sentences)
    assert {check.name: check.outcome for check in refused.checks}["target_refuses"] == "unknown"


def test_a_program_that_says_that_it_denies_somebody_and_does_not_is_found_out(
    group: SwitchedGroup, programs: dict[str, RulesProgram]
) -> None:
    """The probe is refused, the program lists every DENY, and one application continues to write."""
    source, program = group.active, programs[group.active]
    before = group.protection.access_rules[source]
    group.protection.access_rules[source] = before.model_copy(update={"applied_within_seconds": 2.0})
    program.spared = ("User:billing-app",)
    program.install()
    with acls_are_hidden(), mock.patch(_PROOF_SECONDS, 1.0):
        request = group.go(StepName.CLAIM)
        with group.protection.clients() as clients:
            record = failed(StepName.FENCE_SOURCE, request, clients)
            program.spared = ()
            program.install()
            program.apply()
            proven = {check.name: check for check in run_step(StepName.FENCE_SOURCE, request, clients).proofs}
        group.protection.access_rules[source] = before
        assert group.roll_back(request).outcome == "done"
    assert "User:billing-app: 3 of 3 partition leaders" in record.detail
    assert "User:orders-app" not in record.detail
    by_principal = proven["writes_refused"].facts["principals"]
    assert by_principal == {"User:billing-app": "ok", "User:orders-app": "ok"}
    assert proven["denies_read_back"].outcome == "excused", "what a program says proves nothing"
    assert group.protection.takes_writes(source)


@pytest.mark.long
def test_a_login_that_fails_is_no_refusal(group: SwitchedGroup) -> None:
    standby = group.standby
    before = group.protection.access_rules[standby]
    group.protection.access_rules[standby] = before.model_copy(update={"applied_within_seconds": 1.0})
    with group.protection.clients() as clients, acls_are_hidden(), mock.patch(_PROOF_SECONDS, 1.0):
        real = clients.principal(standby, "User:orders-app")
        assert real is not None
        settings = replace(real.settings, password="wrong")
        with KafkaCluster(standby, settings, request_seconds=2) as refused_login:
            clients._clusters[standby, "User:orders-app"] = refused_login
            found = GroupContext(group.name, clients).writes_refused(standby)
    group.protection.access_rules[standby] = before
    assert found.outcome == "unknown"
    assert found.facts["principals"] == {"User:billing-app": "ok", "User:orders-app": "unknown"}
