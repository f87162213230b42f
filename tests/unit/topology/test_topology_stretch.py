"""Stretch clusters: what they need, what contradicts itself, and that nothing else takes their names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.topology.declared import OnlyObserved, UnknownName
from kafka_dr.topology.model import Topology

Load = Callable[[str], Topology]
Complain = Callable[[str], tuple[str, ...]]

ALONE = """\
evidence:
  root: /srv/evidence
stretch_clusters:
  metro:
    connection: observer
    sites: {paris: [p1, p2], lyon: [l1]}
    controllers: {paris: [101], lyon: [102]}
    topic_prefixes: [billing.]
    delay: {topic: delay, connection: probe}
"""


def test_a_topology_may_hold_nothing_but_stretch_clusters(load_text: Load) -> None:
    metro = load_text(ALONE).stretch_cluster("metro")

    assert [metro.site_of_rack(rack) for rack in ("p2", "l1", "x", "")] == ["paris", "lyon", None, None]
    assert [metro.site_of_controller(node) for node in (102, 103)] == ["lyon", None]
    named = ("billing.eu", "orders", "__consumer_offsets", "delay")
    assert [metro.judges(topic) for topic in named] == [True, False, True, False]
    assert (metro.acks, metro.connections) == (None, ("observer", "probe"))


def test_if_nothing_is_said_each_rack_is_a_site_and_each_topic_is_judged(load_text: Load) -> None:
    text = "evidence: {root: /srv/evidence}\nstretch_clusters:\n  metro: {connection: observer}\n"
    metro = load_text(text).stretch_cluster("metro")
    assert [metro.site_of_rack(rack) for rack in ("r1", "")] == ["r1", None]
    assert (metro.judges("orders"), metro.connections) == (True, ("observer",))


def test_who_asks_for_a_stretch_cluster_as_for_a_protection_group_is_refused_by_name(load_text: Load) -> None:
    topology = load_text(ALONE)
    with pytest.raises(OnlyObserved, match="metro is a stretch cluster: it fails over by itself"):
        topology.group("metro")
    with pytest.raises(UnknownName, match="no stretch cluster 'metr': did you mean 'metro'"):
        topology.stretch_cluster("metr")


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("lyon: [l1]", "lyon: [p1]", "the rack 'p1' is already in paris"),
        ("lyon: [102]", "lyon: [101]", "the controller 101 is already in paris"),
        ("lyon: [102]", "lille: [102]", "'lille' is not a site"),
        (", lyon: [l1]}", "}", "only one site is declared"),
        ("connection: probe", "connection: observer", "'observer' is also the connection of the cluster"),
        ("topic_prefixes", "acks: leader\n    topic_prefixes", "'leader' is written here"),
        ("topic: delay, ", "", "this key is missing"),
        ("lyon: [102]", "lyon: ['102']", "'102' is text"),
        ("topic_prefixes", "name: x\n    topic_prefixes", "a cluster is named by its key"),
    ],
)
def test_a_mistake_is_one_line_that_says_where_it_is(mistakes_in: Complain, old: str, new: str, seen: str) -> None:
    assert old in ALONE
    said = mistakes_in(ALONE.replace(old, new))
    assert any(seen in each for each in said), said


def test_a_name_means_one_thing(mistakes_in: Complain) -> None:
    flow = "    source: {name: a, connection: a}\n    target: {name: b, connection: b}\n    topics: [t]\n"
    said = mistakes_in(f"{ALONE}observed_flows:\n  metro:\n{flow}")
    assert any("an observed flow is called 'metro', too" in each for each in said), said
