"""Copies with other names: nobody may take a copy for a topic of the applications, or the other way round."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.naming import DefaultNaming
from kafka_dr.rights.table import needed_on
from kafka_dr.topology.model import Topology

Load = Callable[[str], Topology]
Edit = Callable[..., str]
Complain = Callable[[str], tuple[str, ...]]

ROUTE = "    route: {kind: file, path: /srv/route/orders.json}\n"
NAMED = (ROUTE, f"{ROUTE}    flow: {{naming: default}}\n")
DASHED = (ROUTE, f'{ROUTE}    flow: {{naming: default, separator: "-"}}\n')
PREFIXES = "    topic_prefixes: [orders.]\n"
PEOPLE = "    approvers: [alice]\n"
OTHERS = ["topics: [east.payments]", "topic_prefixes: [west.]", 'topic_patterns: ["east[.].*"]']


def test_a_copy_is_known_by_the_cluster_that_has_it(edited: Edit, load_text: Load) -> None:
    group = load_text(edited(NAMED)).group("orders")
    assert group.renames_copies
    assert group.naming("east", "west") == DefaultNaming("east", "west", ".")
    assert group.original_of("east.orders.a", "west") == "orders.a"
    assert group.original_of("east.orders.a", "east") is None
    assert group.original_of("orders.a", "west") is None
    assert group.original_of("east.other", "west") is None
    assert not group.owns_topic("east.orders.a")
    assert group.moves_positions_in("west.payments", "east")
    dashed = load_text(edited(DASHED)).group("orders")
    assert dashed.original_of("east-payments", "west") == "payments"


def test_of_copies_with_the_names_of_their_originals_nothing_is_renamed(edited: Edit, load_text: Load) -> None:
    group = load_text(edited()).group("orders")
    assert not group.renames_copies
    assert group.naming("east", "west") is None
    assert group.original_of("east.payments", "west") is None


def test_late_records_are_delivered_unless_their_topic_is_named(edited: Edit, load_text: Load) -> None:
    named = "flow: {naming: default, late_held: [payments], late_to_stranded_topic: [orders.a]}"
    group = load_text(edited((ROUTE, f"{ROUTE}    {named}\n"))).group("orders")
    topics = ("payments", "orders.a", "orders.b", group.canary_topic)
    assert [group.flow.late_choice(each) for each in topics] == ["hold", "stranded_topic", "deliver", "deliver"]


@pytest.mark.parametrize(
    ("flow", "said"),
    [
        ("naming: default, late_held: [other]", "'other' is no topic of this group"),
        ("naming: default, late_held: [payments], late_to_stranded_topic: [payments]", "'payments' is named twice"),
        ("late_held: [payments]", "copies have the names of their originals, so nothing arrives late"),
        ("order: copy_first", "copies have the names of their originals, so each topic is one log"),
    ],
)
def test_what_is_said_of_copies_and_late_records_fits_the_topics_of_the_group(
    edited: Edit, mistakes_in: Complain, flow: str, said: str
) -> None:
    assert said in "\n".join(mistakes_in(edited((ROUTE, f"{ROUTE}    flow: {{{flow}}}\n"))))


def test_with_several_standbys_late_records_are_always_delivered(
    edited: Edit, load_text: Load, mistakes_in: Complain
) -> None:
    held = (ROUTE, f"{ROUTE}    flow: {{naming: default, late_held: [payments]}}\n")
    said = "the group has several standbys, to which late records are always delivered"
    assert said in "\n".join(mistakes_in(edited(held, ("clusters: [east, west]", "clusters: [east, west, north]"))))
    load_text(edited(held))


def test_a_pattern_never_owns_a_copy(edited: Edit, load_text: Load) -> None:
    patterns = r'    topic_patterns: ["[a-z.]*orders", "orders[.]dr-canary"]'
    group = load_text(edited(NAMED, (PREFIXES, f"{patterns}\n"))).group("orders")
    assert group.owns_topic("my.orders")
    assert not group.owns_topic("west.orders")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("topics: [payments]", "topics: [payments, east.payments]"), "reads as the name of a copy"),
        ((PREFIXES, "    topic_prefixes: [e]\n"), "reads as the name of a copy"),
        (
            ("    approvers: [alice]\n", "    approvers: [alice]\n    fence_operations: all\n"),
            "fence_operations is all",
        ),
        (
            (PEOPLE, f"{PEOPLE}    groups_policy: {{streams_moved: [ledger]}}\n"),
            "a Kafka Streams application does not find its state",
        ),
    ],
)
def test_names_that_would_be_confused_are_refused(
    edited: Edit, mistakes_in: Complain, change: tuple[str, str], said: str
) -> None:
    assert any(said in each for each in mistakes_in(edited(NAMED, change)))


def test_the_alias_of_what_is_taken_over_is_the_name_of_its_cluster(
    edited: Edit, load_text: Load, mistakes_in: Complain
) -> None:
    def declared(alias: str) -> str:
        old = f"{{replicator: mirrormaker, principal: 'User:old', source_alias: {alias}}}"
        return edited((ROUTE, f"{NAMED[1]}    existing_replication: {old}\n"))

    assert load_text(declared("east")).group("orders").existing_replication is not None
    (only,) = mistakes_in(declared("primary"))
    assert "source_alias is 'primary', so its copies begin with that" in only


def test_a_separator_without_names_is_refused(edited: Edit, mistakes_in: Complain) -> None:
    found = mistakes_in(edited((ROUTE, f'{ROUTE}    flow: {{separator: "-"}}\n')))
    assert any("separator is given" in each for each in found)


@pytest.mark.parametrize(
    "owns", ["topics: [east.payments]", "topic_prefixes: [west.]", 'topic_patterns: ["east[.].*"]']
)
def test_a_copy_of_one_group_belongs_to_no_other(edited: Edit, mistakes_in: Complain, second: str, owns: str) -> None:
    other = second.replace("    topic_prefixes: [carts.]\n", f"    topic_prefixes: [carts.]\n    {owns}\n")
    if "topic_prefixes" in owns:
        other = second.replace("topic_prefixes: [carts.]", "topic_prefixes: [carts., west.]")
    found = mistakes_in(edited(NAMED, more=other))
    assert any("is the name of a copy of group 'orders'" in each for each in found)


@pytest.mark.parametrize("declared", ["", ", late_to_stranded_topic: [payments, orders.a]"])
def test_the_rights_name_the_topics_that_late_records_may_go_to(edited: Edit, load_text: Load, declared: str) -> None:
    topology = load_text(edited((ROUTE, f"{ROUTE}    flow: {{naming: default{declared}}}\n")))
    group = topology.group("orders")
    rights = [each for each in needed_on("west", topology.cluster("west"), [group]) if "stranded" in each.name]
    assert [(each.principal, each.shown, [str(op) for op in each.operations]) for each in rights] == [
        (group.operator_principal, "payments.stranded", ["CREATE", "ALTER"]),
        (group.probe_principal, "payments.stranded", ["WRITE", "DESCRIBE"]),
    ]


def test_the_rights_name_the_copies_on_each_cluster(edited: Edit, load_text: Load) -> None:
    topology = load_text(edited(NAMED))
    group = topology.group("orders")
    for cluster, origin in (("west", "east"), ("east", "west")):
        needed = needed_on(cluster, topology.cluster(cluster), [group])
        named = {(each.principal, each.shown) for each in needed}
        for principal in (group.operator_principal, group.probe_principal, group.replicator_principal):
            assert {(principal, f"{origin}.payments"), (principal, f"{origin}.orders.*")} <= named
        assert not any(shown.startswith(f"{cluster}.p") for _, shown in named)
