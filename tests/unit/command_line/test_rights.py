"""The rights that the command prints are the same in each form, and those that the lab and the readiness check know."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from kafka_dr.access_rules.kafka_user import rules_of
from kafka_dr.clusters.model import Acl, AclOperation, ResourceType
from kafka_dr.command_line.app import app
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.readiness_checks import rights as readiness
from kafka_dr.rights import needed_on
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup, Topology
from lab.layout import PROJECT
from support.printed_rights import OPERATIONS, allow, granted_by

ENVIRON = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "east:9092",
    "KAFKA_DR_LAB_WEST": "west:9092",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}
TOPOLOGY = PROJECT / "include" / "topology.yaml"
#: The words that Mongey/kafka takes for a resource; it refuses every other one when the plan is applied.
_OF_MONGEY = {
    "Topic": ResourceType.TOPIC,
    "Group": ResourceType.GROUP,
    "Cluster": ResourceType.CLUSTER,
    "TransactionalID": ResourceType.TRANSACTIONAL_ID,
}


@pytest.fixture
def topology() -> Topology:
    return load(TOPOLOGY, ENVIRON)


@pytest.fixture
def needed(topology: Topology) -> frozenset[Acl]:
    rights = needed_on("west", topology.cluster("west"), topology.protection_groups.values())
    return frozenset[Acl]().union(*(each.acls for each in rights))


def printed(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["rights", *arguments, "--topology", str(TOPOLOGY)], env=ENVIRON)
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.output


def test_the_commands_of_kafka_acls_grant_exactly_these_rights(needed: frozenset[Acl]) -> None:
    assert granted_by(printed("west", "--format", "kafka-acls").splitlines()) == needed


def test_the_kafka_users_of_strimzi_hold_exactly_these_rights(needed: frozenset[Acl]) -> None:
    found: set[Acl] = set()
    for user in json.loads(printed("west", "--format", "strimzi"))["items"]:
        found |= rules_of(user, f"User:{user['metadata']['name']}")
    assert found == needed


def _mongey(row: dict[str, str]) -> Acl:
    return allow(
        _OF_MONGEY[row["resource_type"]].value,
        row["resource_name"],
        row["resource_pattern_type_filter"],
        row["acl_principal"],
        OPERATIONS[row["acl_operation"]],
    )


def _confluent(row: dict[str, str]) -> Acl:
    operation = AclOperation(row["operation"])
    return allow(row["resource_type"], row["resource_name"], row["pattern_type"], row["principal"], operation)


@pytest.mark.parametrize(
    ("kept_in", "kind", "read"),
    [("terraform", "kafka_acl", _mongey), ("confluent-terraform", "confluent_kafka_acl", _confluent)],
)
def test_terraform_holds_exactly_these_rights(needed: frozenset[Acl], kept_in: str, kind: str, read: Any) -> None:
    resources = json.loads(printed("west", "--format", kept_in))["resource"][kind]
    assert {read(row) for row in resources.values()} == needed
    assert len(resources) == len(needed)


def test_terraform_fills_nothing_into_a_name() -> None:
    from kafka_dr.command_line.rights_formats import terraform

    declared = load(TOPOLOGY, ENVIRON)
    group = declared.group("orders").model_copy(update={"probe_principal": "User:${path.root}%{if true}"})
    written = terraform("west", declared.cluster("west"), needed_on("west", declared.cluster("west"), [group]))
    assert "$${path.root}%%{if true}" in written


def test_the_guide_shows_what_the_command_prints() -> None:
    page = (PROJECT / "include" / "guide" / "rights.md").read_text()
    assert page.partition("<!-- rights -->\n")[2].partition("<!-- /rights -->")[0] == printed("west")


def test_whoever_has_these_rights_lacks_nothing_that_readiness_asks_for(
    topology: Topology, needed: frozenset[Acl]
) -> None:
    group = topology.group("orders")
    asked = readiness.needed_rights(group, ["orders.payments"])
    assert [said for each in asked for said in each.lacking(Authorizer(needed))] == []


def test_two_groups_with_the_same_principals_share_rows_and_each_has_its_names(topology: Topology) -> None:
    first = topology.group("orders")
    second = first.model_copy(
        update={"name": "bills", "topic_prefixes": (), "topics": ("bills",), "consumer_group_prefixes": ("bill-",)}
    )
    rights = needed_on("west", topology.cluster("west"), [first, second])
    assert len(set(rights)) == len(rights)
    names = {each.shown for each in rights}
    assert {"orders.*", "bills", "bills.dr-canary", "orders-*", "bill-*"} <= names
    assert "orders.dr-canary" not in names


def test_a_group_whose_topics_only_patterns_match_is_named(topology: Topology) -> None:
    from kafka_dr.rights import without_patterns

    group: ProtectionGroup = topology.group("orders").model_copy(
        update={"topic_patterns": ("pay-.*",), "topic_prefixes": ()}
    )
    assert without_patterns([group, topology.group("orders")]) == ("orders",)
    assert needed_on("west", topology.cluster("west"), [group])


def test_an_unknown_cluster_is_refused_with_the_names_that_there_are() -> None:
    said = printed("north", code=2)
    assert "north" in said
    assert "west" in said
