"""Where access rules are kept: what each kind needs, and what would prove or change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kafka_dr.topology.access_rules import AccessRulesSpec
from kafka_dr.topology.model import Topology

Edit = Callable[..., str]
Load = Callable[[str], Topology]
Complain = Callable[[str], tuple[str, ...]]
FILE = "kept_by: file, path: /srv/rules/east.json, reconciles_every_seconds: 60"
COMMAND = "kept_by: command, program: [/usr/bin/denies]"


def east(rules: str) -> tuple[str, str]:
    return "    connect: connect_east\n", f"    connect: connect_east\n    access_rules: {{{rules}}}\n"


def west(rules: str) -> tuple[str, str]:
    return "    connect: connect_west\n", f"    connect: connect_west\n    access_rules: {{{rules}}}\n"


def test_without_a_line_the_brokers_keep_the_rules(edited: Edit, load_text: Load) -> None:
    spec = load_text(edited()).cluster("east").access_rules
    assert (spec.kept_by, spec.is_direct, spec.acls_decide, spec.where) == ("broker", True, True, "the brokers")


@pytest.mark.parametrize(
    ("rules", "where", "decide"),
    [
        (FILE, "/srv/rules/east.json", True),
        (
            "kept_by: kafka_user, connection: k8s, namespace: kafka, reconciles_every_seconds: 120",
            "KafkaUser resources of kafka",
            True,
        ),
        (f'{COMMAND}, principal_connections: {{"User:orders-app": e_app}}', "what /usr/bin/denies changes", False),
    ],
)
def test_each_kind_says_where_a_person_looks_and_whether_acls_decide(
    edited: Edit, load_text: Load, rules: str, where: str, decide: bool
) -> None:
    spec = load_text(edited(east(rules))).cluster("east").access_rules
    assert (spec.where, spec.acls_decide, spec.is_direct, spec.applied_within_seconds) == (where, decide, False, 60)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("kept_by: git", "'git' is written here; write one of 'broker', 'file', 'kafka_user' or 'command'"),
        ("kept_by: file, path: /srv/r.json", "kept_by is file, and reconciles_every_seconds is missing; add"),
        ("kept_by: kafka_user, namespace: k, reconciles_every_seconds: 9", "and connection is missing"),
        ("kept_by: command", "kept_by is command, and program is missing"),
        ("path: /srv/r.json", "path is given with kept_by: broker, which does not use it; remove it, or write kept_by"),
        (f"{FILE}, program: [/bin/x]", "program is given with kept_by: file, which does not use it"),
        (f"{COMMAND}, reconciles_every_seconds: 9", "reconciles_every_seconds is given with kept_by: command"),
        (f"{FILE}, apply: [apply.sh]", "'apply.sh' is not an absolute path; write the whole path of the program"),
        ("kept_by: command, program: [denies, /bin/x]", "'denies' is not an absolute path"),
        (f"{FILE}, apply: ['/bin/x', '']", "access_rules.apply[1]"),
        (f'{COMMAND}, principal_connections: {{"User:x": e_x}}', "'User:x' is among the principals of no protection"),
        (
            f'{COMMAND}, principal_connections: {{"User:orders-app": e_probe}}',
            "'e_probe' is the connection of a role, so its refusal says nothing about User:orders-app",
        ),
        (
            "kept_by: kafka_user, connection: k, namespace: Kafka, reconciles_every_seconds: 9",
            "'Kafka' is written here; write with kafka_user: the namespace",
        ),
    ],
)
def test_what_a_kind_lacks_or_does_not_read_is_named_with_its_line(
    edited: Edit, mistakes_in: Complain, rules: str, said: str
) -> None:
    (only,) = mistakes_in(edited(east(rules)))
    assert only.startswith("line 8: clusters.east.access_rules")
    assert said in only


def test_two_clusters_do_not_share_a_file_and_two_principals_no_connection(edited: Edit, mistakes_in: Complain) -> None:
    (only,) = mistakes_in(edited(east(FILE), west(FILE)))
    assert "is already given at clusters.east.access_rules.path (line 8); give each cluster a file of its own" in only
    both = f'{COMMAND}, principal_connections: {{"User:orders-app": e_app, "User:second": e_app}}'
    two = ('principals: ["User:orders-app"]', 'principals: ["User:orders-app", "User:second"]')
    (only,) = mistakes_in(edited(east(both), two))
    assert "'e_app' is also the connection of 'User:orders-app'" in only


def test_a_topology_that_a_program_wrote_with_every_key_is_as_good(edited: Edit, load_text: Load) -> None:
    written = json.dumps(AccessRulesSpec().model_dump(mode="json"))[1:-1]
    assert load_text(edited(east(written))).cluster("east").access_rules == AccessRulesSpec()
