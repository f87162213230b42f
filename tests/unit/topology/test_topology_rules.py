from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.topology.model import Topology

Edit = Callable[..., str]
Load = Callable[[str], Topology]
Complain = Callable[[str], tuple[str, ...]]


KEY = "MCowBQYDK2VwAyEA" + 43 * "k" + "="


def test_two_groups_that_share_nothing_are_sound(edited: Edit, second: str, load_text: Load) -> None:
    assert set(load_text(edited(more=second)).protection_groups) == {"orders", "carts"}


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("topics: [payments]", "topics[0]: 'payments' belongs to group 'orders' already (line 22); give each topic to"),
        (
            "topics: [orders.x]",
            "topics[0]: 'orders.x' and the prefix 'orders.' of group 'orders' (line 23) name the same",
        ),
        ("topics: [orders.dr-canary]", "'orders.dr-canary' and the prefix 'orders.' of group 'orders'"),
        (
            "topic_prefixes: [pay]",
            "topic_prefixes[0]: the prefix 'pay' and 'payments' of group 'orders' (line 22) name",
        ),
        ("topic_prefixes: [orders.]", "the prefix 'orders.' and the prefix 'orders.' of group 'orders' (line 23) name"),
        (
            "topic_prefixes: [orders.eu.]",
            "the prefix 'orders.eu.' and the prefix 'orders.' of group 'orders' (line 23)",
        ),
        (
            "topic_prefixes: [o]",
            "the prefix 'o' and the prefix 'orders.' of group 'orders' (line 23) name the same topics",
        ),
        ("consumer_groups: [ledger]", "consumer_groups[0]: 'ledger' belongs to group 'orders' already (line 24); give"),
        (
            "consumer_groups: [orders-x]",
            "'orders-x' and the prefix 'orders-' of group 'orders' (line 25) name the same",
        ),
        ("consumer_group_prefixes: [led]", "the prefix 'led' and 'ledger' of group 'orders' (line 24) name the same"),
        (
            "transactional_ids: [ledger-1]",
            "transactional_ids[0]: 'ledger-1' belongs to group 'orders' already (line 26)",
        ),
        (
            "transactional_id_prefixes: [bill]",
            "the prefix 'bill' and the prefix 'billing-' of group 'orders' (line 27)",
        ),
    ],
)
def test_nothing_may_belong_to_two_groups(
    edited: Edit, second: str, mistakes_in: Complain, key: str, said: str
) -> None:
    name, value = key.split(": ")
    group = second.replace("topic_prefixes: [carts.]", "topic_prefixes: [carts.]\n    topics: [carts.a]")
    if name in ("topics", "topic_prefixes"):
        group = group.replace(f"{name}: [", f"{name}: {value[:-1]}, ")
    else:
        group += f"    {key}\n"

    (only,) = mistakes_in(edited(more=group))

    assert said in only


def test_a_principal_may_be_in_two_groups_and_not_twice_in_one(
    edited: Edit, second: str, load_text: Load, mistakes_in: Complain
) -> None:
    shared = second.replace("User:carts-app", "User:orders-app")

    assert load_text(edited(more=shared)).group("carts").principals == ("User:orders-app",)
    (only,) = mistakes_in(edited(more=shared.replace(app := '"User:orders-app"', f"{app}, {app}")))

    assert "principals[1]: 'User:orders-app' is already given in line" in only


def test_the_canary_topic_of_one_group_may_not_fall_to_another(
    edited: Edit, second: str, mistakes_in: Complain
) -> None:
    text = edited(("[orders.]", "[orders.v1.]"), more=second.replace("[carts.]", "[carts., orders.dr]"))

    missing, taken = sorted(mistakes_in(text), key=lambda each: "orders.topics" not in each)

    assert "'orders.dr-canary' is not among its topics" in missing
    assert "the prefix 'orders.dr' and the canary topic 'orders.dr-canary' of group 'orders'" in taken


def test_many_groups_are_compared_in_a_moment(edited: Edit, second: str, mistakes_in: Complain) -> None:
    groups = "".join(second.replace("carts", f"g{number:03}") for number in range(200))
    clash = second.replace("  carts:", "  clash:").replace("[carts.]", "[clash., g117.x]").replace("carts", "clash")

    (only,) = mistakes_in(edited(more=groups + clash))

    assert "the prefix 'g117.x' and the prefix 'g117.' of group 'g117'" in only


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("topics: [payments]", "topics: [payments, payments]"),
            "topics[1]: 'payments' is already given in line 22; keep",
        ),
        (
            ("topic_prefixes: [orders.]", "topic_prefixes: [o, _]"),
            "the prefix '_' reaches names that begin with '_kafka_dr.'",
        ),
        (("topic_prefixes: [orders.]", "topic_prefixes: [o, m]"), "the prefix 'm' reaches names that begin with 'mm2'"),
        (("topics: [payments]", "topics: [_kafka_dr.register]"), "'_kafka_dr.register' reaches names that begin with"),
        (("topics: [payments]", "topics: [mm2-offset-syncs.east.internal]"), "begin with 'mm2'"),
        (("topics: [payments]", "topics: [east.checkpoints.internal]"), "ends as replication's own topics do"),
        (("topics: [payments]", "topics: [orders.heartbeats]"), "ends with 'heartbeats', which replication renames"),
        (
            ("consumer_groups: [ledger]", "consumer_groups: [dr-audit]"),
            "'dr-audit' reaches names that begin with 'dr-'",
        ),
        (
            ("consumer_groups: [ledger]", "consumer_groups: [connect-east]"),
            "reaches names that begin with 'connect-east'",
        ),
        (("transactional_ids: [ledger-1]", "transactional_ids: [connect-west-flow-0]"), "begin with 'connect-west'"),
        (("[billing-]", "[kafka-]"), "the prefix 'kafka-' reaches names that begin with 'kafka-dr-'"),
        (
            ("topic_prefixes: [orders.]", "topic_prefixes: [o.]"),
            "'orders.dr-canary' is not among its topics, so it would",
        ),
        (("topics: [payments]\n    topic_prefixes: [orders.]", "topics: []"), "neither topics nor topic_prefixes"),
        (
            ("initial_active: east", "initial_active: south"),
            "'south' is not one of the group's clusters; write one of east",
        ),
        (("clusters: [east, west]", "clusters: [east, west, east]"), "clusters[2]: 'east' is already given in line 20"),
        (
            ("approvers: [alice]", "approvers: [alice, alice]"),
            "approvers[1]: 'alice' is already given in line 33; name each",
        ),
        (
            ("approvers: [alice]", f"approvers: [alice]\n    approver_keys: {{bob: {KEY}}}"),
            "approver_keys.bob: 'bob' is not an approver; name one of approvers",
        ),
        (
            ("approvers: [alice]", f"approvers: [alice, bob]\n    approver_keys: {{alice: {KEY}, bob: {KEY}}}"),
            "approver_keys.bob: this is also the key of 'alice'; each approver has a key of their own",
        ),
        (('["User:orders-app"]', '["User:admin"]'), "'User:admin' is also a super user, which no ACL can stop"),
        (('["User:orders-app"]', '["User:op"]'), "'User:op' is also the operator_principal, so the fence would stop"),
        (('["User:orders-app"]', '["User:probe"]'), "'User:probe' is also the probe_principal"),
        (
            ("User:replicator", "User:probe"),
            "replicator_principal: 'User:probe' is also the probe_principal, so that one",
        ),
        (("User:probe", "User:admin"), "probe_principal: 'User:admin' is a super user, so no fence could be proven"),
        (("User:replicator", "User:admin"), "replicator_principal: 'User:admin' is a super user"),
        (
            ("cluster_id: r0hWq2sFTK6KX5nYzOYxUw", "cluster_id: c4bSLbgDQUupnRKGhGWJpg"),
            "each cluster has an id of its own",
        ),
        (
            ("w_op", "e_op"),
            "'e_op' is already given at clusters.east.connections.operator (line 6); use one connection",
        ),
        (("e_audit", "e_op"), "clusters.east.connections.audit: 'e_op' is already given at"),
        (("connect: connect_west", "connect: connect_east"), "each cluster has a Connect cluster of its own"),
        (
            ("sasl_mechanism: PLAIN", "sasl_mechanism: OAUTHBEARER"),
            "'OAUTHBEARER' is written here; write one of 'PLAIN', 'SCRAM-SHA-256' or 'SCRAM-SHA-512': the SASL "
            "mechanism; needed with SASL_PLAINTEXT and SASL_SSL, absent with SSL; logins by tokens (OAUTHBEARER) and "
            "by Kerberos are not supported",
        ),
        ((", sasl_mechanism: PLAIN", ""), "SASL_PLAINTEXT is given without sasl_mechanism; add sasl_mechanism"),
        (
            ("security_protocol: SSL", "sasl_mechanism: PLAIN, security_protocol: SSL"),
            "SSL, which does not use it; write",
        ),
        ((", keystore_file: /etc/connect/me.pem", ""), "SSL is given without keystore_file, so every worker would be"),
        (
            (", sasl_mechanism: PLAIN", ", sasl_mechanism: PLAIN, ca_file: /etc/ca.pem"),
            "ca_file is given with SASL_PLAINTEXT, which does not use it; write SASL_SSL",
        ),
        (
            (", sasl_mechanism: PLAIN", ", sasl_mechanism: PLAIN, keystore_is_encrypted: true"),
            "keystore_is_encrypted is true and there is no keystore_file",
        ),
        (("write_outage_seconds: 10", "write_outage_seconds: 301"), "an outage of writes is part of the recovery time"),
        (
            ("write_outage_seconds: 10", "write_outage_seconds: 4"),
            "timing.drain_seconds (5 s) is longer than objectives.",
        ),
        (
            ("write_outage_seconds: 10", "write_outage_seconds: 1"),
            "timing.transaction_grace_seconds (2 s) is longer than",
        ),
        (("write_outage_seconds: 10", "write_outage_seconds: 6"), "follow one another and together are longer than"),
        (
            ("rto_seconds: 300", "rto_seconds: 20"),
            "timing.confirm_seconds (30 s) is longer than objectives.rto_seconds (20",
        ),
        (
            ("rpo_seconds: 60", "rpo_seconds: 9"),
            "thresholds.canary_late_seconds (10 s) is longer than objectives.rpo_sec",
        ),
        (
            ("clusters: [east, west]", "clusters: [east, west, north]\n    timing: {fetch_seconds: 121}"),
            "timing.fetch_seconds (121 s) is longer than timing.step_deadline_seconds (120 s)",
        ),
        (
            ("    approvers:", "    timing: {step_deadline_seconds: 4}\n    approvers:"),
            "would give up before groups have",
        ),
        (
            ("    approvers:", "    timing: {step_deadline_seconds: 1}\n    approvers:"),
            "would give up within the grace",
        ),
        (
            ("    approvers:", "    thresholds: {max_replication_latency_seconds: 61}\n    approvers:"),
            "a record within the latency would count as missing",
        ),
        (
            ("    approvers:", "    thresholds: {max_lag_seconds: 59}\n    approvers:"),
            "a failover would be refused before any audit is red",
        ),
        (
            ("    approvers:", "    audits: {keep_fingerprints_seconds: 2699}\n    approvers:"),
            "the next audit compares with fingerprints of the last one",
        ),
    ],
)
def test_what_contradicts_itself_is_refused_with_the_reason(
    edited: Edit, mistakes_in: Complain, change: tuple[str, str], said: str
) -> None:
    assert any(said in mistake for mistake in mistakes_in(edited(change)))


def test_two_groups_may_not_share_a_route(edited: Edit, second: str, mistakes_in: Complain) -> None:
    (only,) = mistakes_in(edited(more=second.replace("carts.json", "orders.json")))

    assert "protection_groups.carts.route.path: '/srv/route/orders.json' is already given at" in only


def test_a_prefix_that_also_covers_a_name_of_its_own_group_is_no_mistake(edited: Edit, load_text: Load) -> None:
    load_text(edited(("topics: [payments]", "topics: [payments, orders.x]")))


@pytest.mark.parametrize(
    "change",
    [
        ("write_outage_seconds: 10", "write_outage_seconds: 300"),
        ("write_outage_seconds: 10", "write_outage_seconds: 7"),
        ("rpo_seconds: 60", "rpo_seconds: 10"),
        ("rto_seconds: 300", "rto_seconds: 30"),
    ],
)
def test_an_objective_that_is_just_possible_is_no_mistake(
    edited: Edit, load_text: Load, change: tuple[str, str]
) -> None:
    load_text(edited(change))


@pytest.mark.parametrize(
    "change",
    [
        ("write_outage_seconds: 10", "write_outage_seconds: 5"),
        ("write_outage_seconds: 10", "write_outage_seconds: 4"),
        ("rpo_seconds: 60", "rpo_seconds: 0"),
    ],
)
def test_one_wrong_number_is_one_mistake(edited: Edit, mistakes_in: Complain, change: tuple[str, str]) -> None:
    assert len(mistakes_in(edited(change))) == 1


def test_a_canary_is_missed_also_where_a_group_has_only_prefixes(
    edited: Edit, second: str, mistakes_in: Complain
) -> None:
    (only,) = mistakes_in(edited(more=second.replace("[carts.]", "[carts.v1.]")))

    assert "the group's canary topic 'carts.dr-canary' is not among its topics" in only


def test_a_configuration_key_is_in_one_class_only(edited: Edit, mistakes_in: Complain) -> None:
    classes = "    config_sync: {must_match: [retention.ms], at_least: [retention.ms, retention.bytes]}\n"
    (only,) = mistakes_in(edited(("    approvers: [alice]\n", "    approvers: [alice]\n" + classes)))

    assert "'retention.ms' is already given at protection_groups.orders.config_sync.must_match[0]" in only


@pytest.mark.parametrize(
    ("classes", "why"),
    [
        ("may_differ: [partitions]", "take 'partitions' out: it always must match"),
        ("at_least: [partitions]", "take 'partitions' out: it always must match"),
        ("site_specific: [partitions]", "take 'partitions' out: it always must match"),
        ("at_least: [cleanup.policy]", "the values of 'cleanup.policy' are words"),
    ],
)
def test_a_class_that_could_have_no_effect_is_a_mistake(
    edited: Edit, mistakes_in: Complain, classes: str, why: str
) -> None:
    section = f"    approvers: [alice]\n    config_sync: {{{classes}}}\n"
    (only,) = mistakes_in(edited(("    approvers: [alice]\n", section)))

    assert why in only


def test_a_topic_is_keyed_by_name_or_by_prefix(edited: Edit, load_text: Load) -> None:
    keyed = "    config_sync: {keyed_topics: [payments], keyed_topic_prefixes: [orders.by-]}\n"
    spec = (
        load_text(edited(("    approvers: [alice]\n", "    approvers: [alice]\n" + keyed))).group("orders").config_sync
    )

    assert [spec.is_keyed(name) for name in ("payments", "orders.by-customer", "orders.log")] == [True, True, False]
    assert spec.apply_safe is False


def test_two_approvers_are_not_asked_of_a_group_that_has_one(edited: Edit, mistakes_in: Complain) -> None:
    two = "    disaster: {approvers_needed: 2}\n"
    (only,) = mistakes_in(edited(("    approvers: [alice]\n", "    approvers: [alice]\n" + two)))

    assert "two approvers are needed, and 'alice' is the only one" in only


def test_a_proposal_that_nobody_could_second_is_a_mistake(edited: Edit, mistakes_in: Complain) -> None:
    alone = "    disaster: {auto_propose: true}\n"
    (only,) = mistakes_in(edited(("    approvers: [alice]\n", "    approvers: [alice]\n" + alone)))

    assert "2 vantages have to see a cluster down, and there are 1, so nothing is ever proposed" in only


def test_a_login_for_a_vantage_that_nobody_declared_is_a_mistake(edited: Edit, mistakes_in: Complain) -> None:
    logins = "    disaster: {vantages: {office: 'https://w/{cluster}'}, vantage_connections: {ofice: watch}}\n"
    (only,) = mistakes_in(edited(("    approvers: [alice]\n", "    approvers: [alice]\n" + logins)))

    assert "disaster.vantage_connections.ofice: 'ofice' is not a vantage; name one of vantages" in only


def test_a_disaster_is_seen_from_elsewhere_too(edited: Edit, load_text: Load) -> None:
    watched = "    disaster: {auto_propose: true, vantages: {office: 'https://watch.example.com/{cluster}'}}\n"
    spec = (
        load_text(edited(("    approvers: [alice]\n", "    approvers: [alice]\n" + watched))).group("orders").disaster
    )

    assert spec.vantages == {"office": "https://watch.example.com/{cluster}"}
    assert spec.down_when == ("unreachable", "no_active_broker", "offline_partitions")
