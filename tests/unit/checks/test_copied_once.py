"""Copies of copies, and records that came back, are named with the way that they took."""

from __future__ import annotations

import pytest

from kafka_dr.checks.copied_once import detours
from kafka_dr.topology.flow import FlowSpec
from kafka_dr.topology.model import ProtectionGroup
from support.pattern_group import pattern_group

CLUSTERS = ("east", "west", "north")
NAMED = pattern_group(topics=("orders",), clusters=CLUSTERS, flow=FlowSpec(naming="default"))


def ways(cluster: str, *names: str, group: ProtectionGroup = NAMED) -> list[tuple[str, ...]]:
    return [each.way for each in detours(group, cluster, names)]


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("west.north.orders", ("north", "west", "east")),
        ("west.east.orders", ("east", "west", "east")),
        ("west.west.orders", ("west", "west", "east")),
        ("east.orders", ("east", "east")),
        ("north.west.north.orders", ("north", "west", "north", "east")),
    ],
)
def test_a_topic_that_holds_records_twice_says_its_way(name: str, way: tuple[str, ...]) -> None:
    assert ways("east", name) == [way]


@pytest.mark.parametrize(
    "name", ["orders", "west.orders", "west.north.payments", "south.west.orders", "west.orders.west"]
)
def test_originals_copies_and_what_belongs_to_nobody_is_no_such_topic(name: str) -> None:
    assert ways("east", name) == []


def test_where_copies_have_the_names_of_their_originals_no_name_shows_a_way() -> None:
    assert ways("east", "west.north.orders", group=NAMED.model_copy(update={"flow": FlowSpec()})) == []
