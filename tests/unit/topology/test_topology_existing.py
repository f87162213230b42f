"""Existing replication that an adoption takes over: what it needs, and what it must not share with anything else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.topology.model import Topology

Load = Callable[[str], Topology]
Edit = Callable[..., str]
Complain = Callable[[str], tuple[str, ...]]

ROUTE = "    route: {kind: file, path: /srv/route/orders.json}\n"
ON_CONNECT = "{replicator: mirrormaker_connect, principal: 'User:old', connect: c, connectors: [a]}"
STRIMZI = (
    "{replicator: strimzi, principal: 'User:old', kubernetes: k, namespace: kafka, resource: my-mm2, source_alias: E}"
)
REPLICATOR = "{replicator: confluent_replicator, principal: 'User:old', connect: c, connectors: [a]}"

OURS = ON_CONNECT.replace("User:old", "User:replicator")


def existing(section: str) -> tuple[str, str]:
    return ROUTE, f"{ROUTE}    existing_replication: {section}\n"


def test_connectors_are_declared_by_name_and_a_process_by_the_topic_of_its_positions(
    edited: Edit, load_text: Load
) -> None:
    found = load_text(edited(existing(ON_CONNECT))).group("orders").existing_replication
    alone = "{replicator: mirrormaker, principal: 'User:old', source_alias: E}"
    process = load_text(edited(existing(alone))).group("orders").existing_replication

    assert found is not None
    assert process is not None
    assert (found.connectors, found.positions_topic) == (("a",), None)
    assert process.positions_topic == "mm2-offsets.E.internal"
    for sound in (STRIMZI, REPLICATOR):
        assert load_text(edited(existing(sound))).group("orders").existing_replication is not None


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (STRIMZI.replace("kubernetes: k, ", ""), "strimzi is given without kubernetes"),
        (STRIMZI.replace("namespace: kafka, ", ""), "strimzi is given without namespace"),
        (STRIMZI.replace("resource: my-mm2, ", ""), "strimzi is given without resource"),
        (STRIMZI.replace(", source_alias: E", ""), "strimzi is given without source_alias"),
        (STRIMZI.replace("}", ", connect: c}"), "connect is given with strimzi, which does not use it"),
        (REPLICATOR.replace("[a]", "[a, b]"), "several connectors are given with confluent_replicator"),
        (REPLICATOR.replace("connect: c, ", ""), "confluent_replicator is given without connect"),
        (REPLICATOR.replace("}", ", resource: x}"), "resource is given with confluent_replicator"),
        ("{replicator: mirrormaker, principal: 'User:old'}", "mirrormaker is given without source_alias"),
        (ON_CONNECT.replace("connectors: [a]", "connectors: []"), "mirrormaker_connect is given without connectors"),
        (ON_CONNECT.replace("connect: c, ", ""), "mirrormaker_connect is given without connect"),
        ("{replicator: external, principal: 'User:old', connectors: [a]}", "connectors is given with external"),
        (ON_CONNECT.replace("}", ", stop_command: [a]}"), "stop_command is given with mirrormaker_connect"),
        (
            "{replicator: external, principal: 'User:old', start_command: [a]}",
            "start_command is given without stop_command",
        ),
        ("{replicator: external, principal: 'User:old', stop_command: []}", "this list is empty"),
        ("{replicator: external, principal: 'User:replicator'}", "also used by replicator_principal of 'orders'"),
        (ON_CONNECT.replace("User:old", "User:orders-app"), "also used by principals of 'orders'"),
        ("{replicator: external, principal: 'User:orders-app'}", "also used by principals of 'orders'"),
        ("{replicator: external, principal: 'User:admin'}", "a super user, which no ACL can stop from writing"),
        ("{replicator: external}", "this key is missing; add principal"),
    ],
)
def test_what_contradicts_itself_is_named(edited: Edit, mistakes_in: Complain, section: str, said: str) -> None:
    found = mistakes_in(edited(existing(section)))

    assert [each for each in found if said in each], found


def test_connectors_that_write_as_the_projects_replicator_may_be_taken_as_they_are(
    edited: Edit, load_text: Load
) -> None:
    others, ours = (load_text(edited(existing(each))).group("orders") for each in (ON_CONNECT, OURS))
    assert (others.existing_is_own, ours.existing_is_own) == (False, True)


def test_no_other_group_may_need_its_principal(edited: Edit, mistakes_in: Complain, second: str) -> None:
    (only,) = mistakes_in(edited(existing("{replicator: external, principal: 'User:carts-app'}"), more=second))

    assert "'User:carts-app' is also used by principals of 'carts'; the take over would stop that as well" in only
