"""Topics that certain clusters alone may hold: no group copies them elsewhere, and a copy that is there is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.checks.data_residency import not_permitted
from kafka_dr.topology.model import Topology

Edit = Callable[..., str]
Load = Callable[[str], Topology]
Complain = Callable[[str], tuple[str, ...]]

RULES = """\
data_residency:
  law:
    topics: [visits]
    topic_prefixes: [patients.]
    may_be_held_by: [east]
"""
PATTERNS = ("    topics: [payments]\n", "    topics: [payments]\n    topic_patterns: ['[a-z]+', '[a-z]+\\.[a-z]+']\n")


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ([("topics: [payments]", "topics: [payments, visits]")], "protection_groups.orders.topics[1]"),
        ([("topics: [payments]", "topics: [payments, patients.x]")], "protection_groups.orders.topics[1]"),
        (
            [("topic_prefixes: [orders.]", "topic_prefixes: [orders., pat]")],
            "protection_groups.orders.topic_prefixes[1]",
        ),
        (
            [("topic_prefixes: [orders.]", "topic_prefixes: [orders., vis]")],
            "protection_groups.orders.topic_prefixes[1]",
        ),
        ([("may_be_held_by: [east]", "may_be_held_by: [moon]")], "data_residency.law.may_be_held_by[0]"),
    ],
)
def test_a_group_that_would_copy_such_a_topic_elsewhere_is_refused(
    edited: Edit, mistakes_in: Complain, changes: list[tuple[str, str]], place: str
) -> None:
    text = edited(more=RULES)
    for old, new in changes:
        text = text.replace(old, new, 1)
    found = mistakes_in(text)
    assert any(place in each for each in found), found


def test_a_group_whose_clusters_may_all_hold_it_is_not(edited: Edit, load_text: Load) -> None:
    text = edited(("topics: [payments]", "topics: [payments, visits]"), more=RULES.replace("[east]", "[east, west]"))
    assert load_text(text).group("orders").owns_topic("visits")


def test_a_pattern_never_matches_it_where_it_may_not_be_copied(edited: Edit, load_text: Load) -> None:
    open_text, kept = edited(PATTERNS), edited(PATTERNS, more=RULES)
    assert load_text(open_text).group("orders").owns_topic("patients.x")
    for topic in ("patients.x", "visits"):
        assert not load_text(kept).group("orders").owns_topic(topic)
    assert load_text(kept).group("orders").owns_topic("parcels")


def test_such_a_topic_or_a_copy_of_it_on_another_cluster_is_found(edited: Edit, load_text: Load) -> None:
    topology = load_text(edited(more=RULES))
    names = ["orders.a", "patients.x", "east.visits", "west.east.patients.y", "visits-old", "visits"]
    assert [topic for topic, _ in not_permitted(topology, "west", names)] == [
        "east.visits",
        "patients.x",
        "visits",
        "west.east.patients.y",
    ]
    assert not list(not_permitted(topology, "east", names))
