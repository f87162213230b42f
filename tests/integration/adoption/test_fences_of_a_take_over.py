"""A take over that could not fence what copies the group now ends before the audit, and nothing is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest

from kafka_dr.adoption.way import before_the_audit
from kafka_dr.clusters import Acl, AclOperation, AclPermission, TopicPartition
from kafka_dr.clusters.acls import Acls
from kafka_dr.fencing import plan
from kafka_dr.fencing.change import AclChanges
from kafka_dr.outcomes import Check
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.existing_flow import ExistingFlow
from support.kept_elsewhere import RulesPipeline, nobody_here_changes_acls
from support.protection import Protection
from support.taking_over import TakingOver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka


def a_take_over(protection: Protection, run: str) -> RunRequest:
    return RunRequest(protection.name, run, reason="a test", verb="take_over")


def refused_by(checks: tuple[Check, ...]) -> dict[str, str]:
    """Return the sentences of the checks that do not let a take over begin, by name."""
    return {check.name: check.detail for check in checks if not check.passes}


def copying(existing: ExistingFlow) -> None:
    """Let the existing replication copy a few records."""
    existing.start()
    existing.protection.produce("east", 20)
    existing.wait_copied({TopicPartition(existing.protection.topic, number): 10 for number in range(2)})


def witnesses(protection: Protection, cluster: str) -> list[Acl]:
    """Return the DENYs that stop nobody on a cluster."""
    with protection.cluster(cluster, "admin") as admin:
        return [acl for acl in admin.acls.list() if acl.name == f"{plan.WITNESS_TOPIC}.{protection.name}"]


def rights_of_the_old_principal(existing: ExistingFlow) -> tuple[Acl, ...]:
    operations = (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE, AclOperation.ALTER)
    return tuple(map(existing.right, operations))


def test_a_flow_that_nobody_here_may_deny_is_not_audited_for_hours_and_may_be_observed(
    existing: ExistingFlow,
) -> None:
    protection = existing.protection
    copying(existing)
    before = outside_view.look(protection)

    with protection.clients() as clients, mock.patch.object(Acls, "may_change", return_value=False):
        refused = refused_by(before_the_audit(a_take_over(protection, "planned"), clients))
        with pytest.raises(StepFailed) as again:
            run_step(StepName.PREFLIGHT, a_take_over(protection, "examined"), clients)

    assert set(refused) == {"denies_can_be_added"}
    said = refused["denies_can_be_added"]
    assert "User:dr-operator lacks ALTER on the cluster east and west, so no DENY can be added there" in said
    assert said.endswith("With neither, this flow can only be observed: declare it under observed_flows")
    assert said in {check.detail for check in again.value.record.checks}
    assert outside_view.look(protection) == before
    assert existing.connect.status(existing.name).settled == "running"


def test_a_flow_whose_denies_somebody_would_remove_is_not_taken_over_until_its_pipeline_reads_the_file(
    existing: ExistingFlow,
) -> None:
    """The pipeline compares at the worst moment: right after the DENY has reached every broker."""
    protection, owners = existing.protection, rights_of_the_old_principal(existing)
    pipeline = RulesPipeline(protection, "west", reads_file=False, also=owners)
    pipeline.install()
    protection.access_rules["west"] = pipeline.spec(apply=pipeline.applies_once())
    copying(existing)
    before = outside_view.look(protection)
    seen: list[Acl] = []
    real = AclChanges.add

    def add(changes: AclChanges, *stages: frozenset[Acl]) -> frozenset[Acl]:
        added = real(changes, *stages)
        seen.extend(witnesses(protection, "west"))
        pipeline.compare()
        return added

    with protection.clients() as clients, mock.patch.object(AclChanges, "add", add), nobody_here_changes_acls():
        refused = refused_by(before_the_audit(a_take_over(protection, "removed"), clients))

        assert set(refused) == {"denies_last_on_west"}
        said = refused["denies_last_on_west"]
        assert "a DENY of this project that was on west was removed from its brokers" in said
        assert f"Let what applies the rules of west read {pipeline.file}" in said
        assert said.endswith("this flow can only be observed: declare it under observed_flows")
        assert existing.right(AclOperation.WRITE).principal in {acl.principal for acl in seen}

        pipeline.reads_file = True
        pipeline.install()
        assert refused_by(before_the_audit(a_take_over(protection, "kept"), clients)) == {}

    assert witnesses(protection, "west") == []
    assert outside_view.look(protection) == before
    assert existing.connect.status(existing.name).settled == "running"


@pytest.mark.long
@pytest.mark.spark
def test_a_flow_is_taken_over_where_others_apply_the_rules_and_its_principal_stays_denied(
    existing: ExistingFlow, spark: SparkSession
) -> None:
    protection, owners = existing.protection, rights_of_the_old_principal(existing)
    pipelines = [RulesPipeline(protection, cluster, also=owners) for cluster in ("east", "west")]
    protection.access_rules.update({pipeline.cluster: pipeline.spec() for pipeline in pipelines})
    copying(existing)
    east, west = pipelines
    with east.running(), west.running(), protection.clients() as clients, nobody_here_changes_acls():
        assert refused_by(before_the_audit(a_take_over(protection, "plan"), clients)) == {}
        TakingOver(protection, spark).take_over(clients)
        west.wait_for_beat()
        west.wait_for_beat()

        assert existing.right(AclOperation.WRITE, AclPermission.DENY) in outside_view.denies(protection, "west")
        assert protection.refuses_writes("west")
        for cluster in ("east", "west"):
            # No check of every minute has run: the plan has seen it, and claim knew it.
            assert clients.register(cluster).added_acls(protection.name, cluster).lasting.outlived is not None
            assert witnesses(protection, cluster) == []
