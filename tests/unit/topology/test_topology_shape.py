from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_dr.topology.declared import UnknownName
from kafka_dr.topology.loading import load
from kafka_dr.topology.mistakes import TopologyError
from kafka_dr.topology.model import Topology
from support.sentences import assert_sentence

Edit = Callable[..., str]
Load = Callable[[str], Topology]
Complain = Callable[[str], tuple[str, ...]]


def test_a_sound_topology_loads_with_variables_expanded_and_defaults_filled_in(edited: Edit, load_text: Load) -> None:
    topology = load_text(edited())

    orders = topology.group("orders")
    assert orders.name == "orders"
    assert orders.clusters == ("east", "west")
    assert orders.timing.confirm_seconds == 30
    assert orders.groups_policy.unknown_offsets == "refuse"
    assert topology.cluster("east").replicator.bootstrap_servers == "east:9092"
    assert topology.evidence.root == "/srv/evidence"


def test_a_route_leads_to_the_replicators_address_unless_applications_have_their_own(
    edited: Edit, load_text: Load
) -> None:
    separate = "connect: connect_east\n    application_bootstrap_servers: apps:9094"
    topology = load_text(edited(("connect: connect_east", separate)))

    assert topology.cluster("east").route_bootstrap_servers == "apps:9094"
    assert topology.cluster("west").route_bootstrap_servers == "west:9092"


def test_a_connector_refers_to_its_login_by_file_and_key(edited: Edit, load_text: Load) -> None:
    west = load_text(edited()).cluster("west")

    assert west.jaas_reference("east") == "${file:/etc/connect/secrets.properties:east.sasl.jaas.config}"


def test_nothing_can_be_changed_after_loading(edited: Edit, load_text: Load) -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_text(edited()).group("orders").initial_active = "west"  # type: ignore[misc]


@pytest.mark.parametrize("name", ["payments", "orders.dr-canary", "orders.x"])
def test_a_group_owns_its_topics_by_name_and_by_prefix(edited: Edit, load_text: Load, name: str) -> None:
    assert load_text(edited()).group("orders").owns_topic(name)


@pytest.mark.parametrize(
    "name", ["payments2", "order", "carts.x", "orders.x.checkpoints.internal", "__consumer_offsets"]
)
def test_a_group_owns_no_topic_of_others_and_no_internal_one(edited: Edit, load_text: Load, name: str) -> None:
    assert not load_text(edited()).group("orders").owns_topic(name)


def test_a_group_owns_consumer_groups_and_transactional_ids_by_name_and_prefix(edited: Edit, load_text: Load) -> None:
    orders = load_text(edited()).group("orders")

    assert [orders.owns_group(name) for name in ("ledger", "orders-a", "ledger2")] == [True, True, False]
    assert [orders.owns_transactional_id(name) for name in ("ledger-1", "billing-7", "x")] == [True, True, False]


def test_many_mistakes_are_reported_together_each_with_its_line(edited: Edit, mistakes_in: Complain) -> None:
    mistakes = mistakes_in(
        edited(
            ("cluster_id: c4bSLbgDQUupnRKGhGWJpg", "cluster_id: 12345"),
            ("connect: connect_west", "conect: connect_west"),
            ("clusters: [east, west]", "clusters: [east, south]"),
            ("topics: [payments]", "topics: [payments, __secret]"),
            ("approvers: [alice]", "approvers: []"),
            ("write_outage_seconds: 10", "write_outage_seconds: 1000"),
            ("route: {kind: file,", "route: {kind: pigeon,"),
        )
    )

    assert_sentence(mistakes)


def test_the_error_reads_as_a_list_that_editors_can_jump_to(tmp_path: Path) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text("evidence: {root: relative}\nclusters: {}\nprotection_groups: {}\n")

    with pytest.raises(TopologyError) as caught:
        load(path, {})

    assert str(caught.value).startswith(f"{path} has 3 mistakes:\n{path}:1: evidence.root: 'relative'")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("    approvers: [alice]\n", ""), "line 19: protection_groups.orders.approvers: this key is missing; add"),
        (
            ("rpo_seconds: 60", "rpo_seconds: soon"),
            "'soon' is text; write a number without quotes: how much",
        ),
        (
            ("rpo_seconds: 60", "rpo_seconds: 0"),
            "0 is written here; write a number greater than 0: how much of the newest",
        ),
        (("rpo_seconds: 60", "rpo_seconds: yes"), "YAML reads this as true; write a number without quotes"),
        (("rpo_seconds: 60", "rpo_seconds: .inf"), "inf is written here; write a finite number"),
        (("rpo_seconds: 60", "rpo_seconds: ~"), "nothing is written here; write a number"),
        (("approvers: [alice]", "approvers: alice"), "'alice' is text; write a list: the Airflow users"),
        (("approvers: [alice]", "approvers: [no]"), "approvers[0]: YAML reads this as false; write text, in quotes"),
        (
            ("topics: [payments]", "topics: {a: b}"),
            "a section with keys is written here; write a list: topics by their",
        ),
        (('principals: ["User:orders-app"]', "principals: [orders-app]"), "write every application that writes"),
        (('principals: ["User:orders-app"]', 'principals: ["User:*"]'), "'User:*' is written here; write every"),
        (("west:9092", "west"), "bootstrap_servers: 'west' is written here; write host:port"),
        (("security_protocol: SSL", "security_protocol: PLAINTEXT"), "one of 'SSL', 'SASL_PLAINTEXT' or 'SASL_SSL'"),
        (("path: /srv/route/orders.json", "path: route.json"), "'route.json' is written here; write the absolute"),
        (("  orders:", "  orders/eu:"), "protection_groups.orders/eu: this name is not usable; use letters, digits"),
        (("  orders:", "  orders:\n    name: x"), "orders.name: a group is named by its key; remove this line"),
        (("  east: &east", "  7: &east"), "clusters.7: YAML does not read this key as text; put it in quotes"),
        (
            ("  east: &east", "  ? [a]\n  : 1\n  east:"),
            "clusters.a list or mapping: YAML does not read this key as text",
        ),
        (("evidence:\n", "evidnce:\n"), "line 1: evidnce: there is no such key; write evidence, the nearest"),
        (
            ("evidence:\n", "zebra: 1\nevidence:\n"),
            "zebra: there is no such key; remove it, or write one of: evidence,",
        ),
        (("${EAST}", "${NOWHERE}"), "the environment variable NOWHERE is not set; set NOWHERE before starting"),
        (("${EAST}", "${EA-ST}"), "${EA-ST} names no environment variable; write ${NAME}"),
        (
            ("  west:\n", "  east:\n"),
            "line 11: clusters.east: this key was already given in line 4; keep one of the two",
        ),
        (
            ("  west:\n", "  west:\n    <<: *east\n"),
            "clusters.west.<<: merge keys are not read here; write the values out",
        ),
        (
            ("approvers: [alice]", "approvers: &a [*a]"),
            "an alias points to a section that contains it; write the values",
        ),
        (("approvers: [alice]", "approvers: [!!python/name:os.system x]"), "put it in quotes"),
        (("approvers: [alice]", "approvers: [2026-13-45]"), "'2026-13-45' cannot be read as tag:yaml.org"),
    ],
)
def test_each_slip_of_the_pen_is_answered_with_what_to_write(
    edited: Edit, mistakes_in: Complain, change: tuple[str, str], said: str
) -> None:
    assert any(said in mistake for mistake in mistakes_in(edited(change)))


def test_a_misspelt_key_is_not_also_reported_as_missing(edited: Edit, mistakes_in: Complain) -> None:
    assert_sentence(mistakes_in(edited(("approvers: [alice]", "aprovers: [alice]"))))


def test_a_list_whose_only_entry_is_wrong_is_not_also_called_too_short(edited: Edit, mistakes_in: Complain) -> None:
    (only,) = mistakes_in(edited(('["User:orders-app"]', "[orders-app]")))

    assert "principals[0]: 'orders-app' is written here" in only


def test_an_unset_variable_is_reported_once_and_not_also_as_a_wrong_value(edited: Edit, mistakes_in: Complain) -> None:
    assert len(mistakes_in(edited(("${EAST}", "${NOWHERE}")))) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: the file is empty; copy topology.example.yaml"),
        ("clusters:\n  east: [\n", "line 3: this is not YAML"),
        ("just words", "line 1: 'just words' is text; write a section with keys."),
        ("a: b\n---\nc: d\n", "this is not YAML (expected a single document in the stream"),
    ],
)
def test_a_file_that_is_no_topology_at_all_is_one_mistake(mistakes_in: Complain, text: str, said: str) -> None:
    (only,) = mistakes_in(text)

    assert said in only


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r"cannot be read .* check the path, KAFKA_DR_TOPOLOGY and the rights"):
        load(tmp_path / "none.yaml", {})


def test_asking_for_an_undeclared_name_says_which_there_are(edited: Edit, load_text: Load) -> None:
    topology = load_text(edited())

    with pytest.raises(UnknownName, match="no protection group 'order': did you mean 'orders'"):
        topology.group("order")
    with pytest.raises(UnknownName, match=r"no cluster 'mars': declared are east, west\."):
        topology.cluster("mars")
