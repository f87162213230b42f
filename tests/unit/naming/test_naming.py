"""Every naming keeps the same contract: what has a copy is found again from its copy, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.naming import AffixNaming, DefaultNaming, IdentityNaming, Naming, TableNaming

NAMINGS: tuple[Naming, ...] = (
    IdentityNaming(),
    IdentityNaming("east", "west"),
    DefaultNaming("east"),
    DefaultNaming("east", "west"),
    DefaultNaming("east", "west", separator="_"),
    DefaultNaming("a", "b", separator="--"),
    # An alias that holds the separator: MirrorMaker writes such names, too.
    DefaultNaming("us.east", "us.west"),
    AffixNaming(prefix="dr."),
    AffixNaming(suffix=".copy"),
    AffixNaming("east.", ".east"),
    TableNaming({"orders": "sales", "payments": "orders", "a.b.topic": "b.a.topic"}),
)
_LIKELY = st.sampled_from(
    ("orders", "payments", "sales", "east", "west", "us", "a", "b", ".", "_", "-", "--", "dr", "copy", "heartbeats")
)
NAMES = st.lists(_LIKELY, min_size=1, max_size=7).map("".join) | st.text("ab._-", min_size=1, max_size=9)


@pytest.mark.parametrize("naming", NAMINGS, ids=str)
@given(topic=NAMES)
def test_a_copy_is_found_again_and_no_two_topics_share_one(naming: Naming, topic: str) -> None:
    copy, original = naming.copy_of(topic), naming.original_of(topic)
    assert copy is None or naming.original_of(copy) == topic
    assert original is None or naming.copy_of(original) == topic


def test_only_the_aliases_own_prefix_is_taken_away() -> None:
    naming = DefaultNaming("east", "west")
    assert naming.copy_of("orders") == "east.orders"
    assert naming.original_of("east.orders") == "orders"
    assert naming.original_of("eastern.orders") is None
    assert naming.original_of("orders") is None
    assert naming.original_of("east.") is None
    assert naming.copy_of("east.orders") == "east.east.orders"


def test_a_copy_is_never_copied_back_to_where_it_came_from() -> None:
    naming = DefaultNaming("east", "west")
    assert naming.copy_of("west.orders") is None
    assert naming.copy_of("south.west.orders") is None
    assert naming.original_of("east.west.orders") is None
    assert DefaultNaming("east").copy_of("west.orders") == "east.west.orders"
    assert DefaultNaming("a", "b", separator="_").copy_of("b.topic") == "a_b.topic"


def test_what_belongs_to_kafka_and_mirrormaker_has_no_copy_under_either_policy() -> None:
    for naming in (DefaultNaming("east", "west"), IdentityNaming("east")):
        for topic in ("__consumer_offsets", "mm2-offset-syncs.west.internal", "south.checkpoints.internal", ".hidden"):
            assert (naming.copy_of(topic), naming.original_of(topic)) == (None, None)
        # Since Kafka 4.0 these are topics like any other.
        for topic in ("orders.internal", "mm2-orders", "_schemas"):
            assert naming.copy_of(topic) is not None


def test_under_identity_alone_heartbeats_get_another_name() -> None:
    naming = IdentityNaming("east", "west")
    assert naming.copy_of("heartbeats") == "east.heartbeats"
    assert naming.original_of("east.heartbeats") == "heartbeats"
    assert naming.original_of("heartbeats") is None
    assert naming.copy_of("west.heartbeats") is None
    assert naming.copy_of("west.orders") == "west.orders"
    assert IdentityNaming().copy_of("heartbeats") is None


def test_the_checkpoints_are_named_by_the_policys_separator() -> None:
    assert DefaultNaming("east", separator="_").checkpoints_topic == "east_checkpoints_internal"
    assert IdentityNaming("east").checkpoints_topic == "east.checkpoints.internal"
    assert [naming.checkpoints_topic for naming in (IdentityNaming(), AffixNaming("x"), TableNaming({}))] == [None] * 3


def test_a_table_with_one_copy_of_two_topics_is_no_naming() -> None:
    with pytest.raises(ValueError, match="two topics have the same copy: sales"):
        TableNaming({"orders": "sales", "payments": "sales"})
