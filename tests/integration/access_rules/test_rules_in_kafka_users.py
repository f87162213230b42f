"""Fences on a real cluster whose ACLs Strimzi's KafkaUsers keep, by an API server of the test's own: no Kubernetes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_dr.access_rules.kafka_user import EPOCHS
from kafka_dr.fencing import plan
from kafka_dr.health.health_check import check_health
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.runs.request import StepName
from kafka_dr.topology.access_rules import AccessRulesSpec
from lab.api import Lab
from support import outside_view
from support.kept_elsewhere import nobody_here_changes_acls, rights_as_rules, scope_of
from support.kubernetes_api import TOKEN, UsersApi, pipeline_of, users_of
from support.protection import Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka


@dataclass
class InKafkaUsers:
    """A group whose both clusters keep their rules in KafkaUsers."""

    group: SwitchedGroup
    apis: dict[str, UsersApi]


@pytest.fixture(scope="module")
def kept(lab: Lab, tmp_path_factory: pytest.TempPathFactory, folder_end: ExitStack) -> InKafkaUsers:
    """Return an adopted group."""
    protection = Protection(lab, tmp_path_factory.mktemp("in-kafka-users"))
    protection.create()
    folder_end.callback(protection.delete_flows)
    apis = {}
    for cluster in ("east", "west"):
        api = UsersApi(pipeline_of(lab.client_settings(cluster, "admin"), scope_of(protection)))
        for name, spec in users_of(set(rights_as_rules(protection, cluster))).items():
            api.put(name, spec)
        apis[cluster] = folder_end.enter_context(api.running())
        connection = f"kubernetes_{cluster}"
        protection.endpoints[connection] = HttpEndpoint(api.address, token=TOKEN)
        protection.access_rules[cluster] = AccessRulesSpec.model_validate(
            {
                "kept_by": "kafka_user",
                "connection": connection,
                "namespace": "kafka",
                "applied_within_seconds": 20,
                "reconciles_every_seconds": 0.6,
            }
        )
    with nobody_here_changes_acls():
        assert protection.adopt().outcome == "done"
    return InKafkaUsers(SwitchedGroup(protection), apis)


def test_a_standby_is_fenced_by_rules_in_the_resources_of_its_principals(kept: InKafkaUsers) -> None:
    protection, users = kept.group.protection, kept.apis["west"].resources
    assert protection.refuses_writes("west")
    assert outside_view.denies(protection, "west") == plan.standby(protection.group)
    for name in ("orders-app", "billing-app", "probe"):
        assert users[name]["metadata"]["annotations"][EPOCHS] == f'{{"{protection.name}": 1}}'
        assert any(row["type"] == "deny" for row in users[name]["spec"]["authorization"]["acls"])
    assert EPOCHS not in users["audit"]["metadata"]["annotations"]


@pytest.mark.long
def test_a_person_who_changes_a_user_at_the_same_moment_loses_nothing_and_neither_does_the_fence(
    kept: InKafkaUsers,
) -> None:
    group, api = kept.group, kept.apis["east"]
    edits = ["producerByteRate", "consumerByteRate"]

    def person(name: str) -> None:
        if name == "orders-app" and edits:
            spec = copy.deepcopy(api.resources[name]["spec"])
            spec.setdefault("quotas", {})[edits.pop()] = 1_000_000
            api.put(name, spec)

    api.on_replace = person
    with nobody_here_changes_acls():
        request = group.go(StepName.FENCE_SOURCE)
        assert group.protection.refuses_writes("east")
        assert api.resources["orders-app"]["spec"]["quotas"] == {
            "consumerByteRate": 1_000_000,
            "producerByteRate": 1_000_000,
        }
        assert group.roll_back(request).outcome == "done"
    group.assert_at_rest("east")
    assert not any(row["type"] == "deny" for row in api.resources["orders-app"]["spec"]["authorization"]["acls"])


def test_health_finds_a_rule_that_a_repository_has_taken_out_of_a_resource(kept: InKafkaUsers) -> None:
    """As Argo CD or Flux does that applies a KafkaUser of a repository which does not hold the DENYs."""
    protection, api = kept.group.protection, kept.apis["west"]
    spec: dict[str, Any] = copy.deepcopy(api.resources["orders-app"]["spec"])
    spec["authorization"]["acls"] = [row for row in spec["authorization"]["acls"] if row["type"] == "allow"]
    api.put("orders-app", spec)

    with protection.clients() as clients, nobody_here_changes_acls():
        found = check_health(protection.name, clients)
        again = check_health(protection.name, clients)

    assert (found.outcome, again.outcome) == ("failed", "ok")
    assert "west, which is not active, lacked" in "\n".join(found.sentences)
    assert outside_view.denies(protection, "west") == plan.standby(protection.group)


@pytest.fixture(autouse=True)
def _as_it_was(kept: InKafkaUsers) -> Iterator[None]:
    yield
    for api in kept.apis.values():
        api.on_replace = lambda _: None
