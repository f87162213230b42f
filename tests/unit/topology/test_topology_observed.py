"""Flows that are observed alone: what they need, what contradicts itself, and that nothing else takes their names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.errors import Refused
from kafka_dr.topology.audited import audited_flow, audited_flows
from kafka_dr.topology.declared import OnlyObserved, UnknownName
from kafka_dr.topology.model import Topology

Load = Callable[[str], Topology]
Complain = Callable[[str], tuple[str, ...]]

ALONE = """\
evidence:
  root: /srv/evidence
observed_flows:
  invoices:
    source: {name: berlin, connection: berlin}
    target: {name: hamburg, connection: hamburg}
    naming: {policy: default, source_alias: berlin}
    topics: [invoices]
    topic_prefixes: [billing.]
    consumer_groups: [ledger]
"""


def test_a_topology_may_hold_nothing_but_observed_flows(load_text: Load) -> None:
    flow = load_text(ALONE).observed_flow("invoices")

    assert flow.naming.rule().copy_of("invoices") == "berlin.invoices"
    assert flow.checkpoints == "berlin.checkpoints.internal"
    assert [flow.covers_topic(name) for name in ("invoices", "billing.eu", "orders")] == [True, True, False]
    assert [flow.covers_group(name) for name in ("ledger", "ledger-2")] == [True, False]


def test_audits_run_where_the_section_is_and_copies_that_came_twice_are_only_reported(load_text: Load) -> None:
    silent = load_text(ALONE)
    assert audited_flows(silent) == {}
    with pytest.raises(Refused, match=r"declares no audits of the observed flow invoices: add audits: \{\} to it"):
        audited_flow(silent, "invoices.berlin-to-hamburg")

    topology = load_text(ALONE.replace("    consumer_groups", "    audits: {}\n    consumer_groups"))
    flow = audited_flow(topology, "invoices.berlin-to-hamburg")

    assert (flow.subject, flow.observed, flow.audits.duplicates) == ("invoices", True, "report")
    assert [(end.name, end.connection) for end in flow.ends] == [("berlin", "berlin"), ("hamburg", "hamburg")]
    assert (flow.copy_of("invoices"), flow.copy_of("__x")) == ("berlin.invoices", None)
    assert (flow.thresholds.max_record_age_seconds, flow.thresholds.max_lag_seconds) == (60, 60)
    with pytest.raises(
        Refused, match=r"no flow 'invoices.hamburg-to-berlin': choose one of invoices\.berlin-to-hamburg"
    ):
        audited_flow(topology, "invoices.hamburg-to-berlin")


def test_a_group_has_a_flow_in_each_direction_under_the_names_of_the_source(
    edited: Callable[..., str], load_text: Load
) -> None:
    topology = load_text(edited())
    flow = audited_flow(topology, "dr.orders.west-to-east")

    assert set(audited_flows(topology)) == {"orders.east-to-west", "orders.west-to-east"}
    assert (flow.source.connection, flow.target.connection) == ("w_audit", "e_audit")
    assert (flow.observed, flow.copy_of("orders.a"), flow.naming) == (False, "orders.a", None)


def test_who_asks_for_an_observed_flow_as_for_a_protection_group_is_refused_by_name(load_text: Load) -> None:
    topology = load_text(ALONE)

    with pytest.raises(OnlyObserved, match="invoices is an observed flow: it is read and reported about, and nothing"):
        topology.group("invoices")
    with pytest.raises(UnknownName, match=r"no protection group 'orders': none is declared\."):
        topology.group("orders")
    with pytest.raises(UnknownName, match="no observed flow 'invoice': did you mean 'invoices'"):
        topology.observed_flow("invoice")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("invoices:\n    source", "invoices:\n    name: x\n    source"), "a flow is named by its key"),
        (("connection: hamburg", "connection: berlin"), "'berlin' is also given for the source"),
        (("name: hamburg", "name: berlin"), "'berlin' is also given for the source"),
        (("    topics: [invoices]\n    topic_prefixes: [billing.]\n", ""), "no topic is given; add topics"),
        ((", source_alias: berlin", ""), "the policy is default; add source_alias"),
        (("policy: default, source", "policy: affix, source"), "source_alias is given with the policy affix"),
        (("policy: default, source_alias: berlin", "policy: affix"), "the policy is affix; add prefix or suffix"),
        (("policy: default, source_alias: berlin", "policy: table"), "the policy is table; add table"),
        (("policy: default, source_alias: berlin", "table: {a: b}"), "table is given with the policy identity"),
        (
            ("policy: default, source_alias: berlin", "policy: table, table: {a: c, b: c}"),
            "'c' is the copy of two topics",
        ),
        (("policy: default", "policy: renamed"), "'renamed' is written here; write one of 'identity', 'default'"),
        (
            ("    consumer_groups", "    canary: {topic: invoices, connection: berlin}\n    consumer_groups"),
            "'berlin' is also given for the source; who observes needs no WRITE",
        ),
        (
            ("    consumer_groups", "    canary: {topic: __x, connection: canary}\n    consumer_groups"),
            "'__x' is never copied under this naming",
        ),
    ],
)
def test_what_contradicts_itself_is_named(mistakes_in: Complain, change: tuple[str, str], said: str) -> None:
    assert change[0] in ALONE
    found = mistakes_in(ALONE.replace(*change))

    assert [each for each in found if said in each], found


def test_a_flow_and_a_group_never_share_a_name(edited: Callable[..., str], mistakes_in: Complain) -> None:
    flow = ALONE.partition("observed_flows:\n")[2].replace("  invoices:", "  orders:")

    (only,) = mistakes_in(f"{edited()}observed_flows:\n{flow}")

    assert "a protection group is called 'orders', too" in only


def test_without_a_group_and_without_a_flow_there_is_nothing_to_do(mistakes_in: Complain) -> None:
    found = mistakes_in("evidence: {root: /srv/evidence}\n")

    assert any("protection_groups: nothing is declared; add a protection group, or a flow" in each for each in found)


def test_replication_with_other_names_is_sent_to_the_observed_flows(
    edited: Callable[..., str], mistakes_in: Complain
) -> None:
    route = "    route: {kind: file, path: /srv/route/orders.json}\n"
    (only,) = mistakes_in(edited((route, f"{route}    flow: {{naming: affix}}\n")))

    assert "replication with other names can be observed, as one of observed_flows, and not failed over" in only
