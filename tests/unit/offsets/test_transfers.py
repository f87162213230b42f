"""The logs between which offsets are moved, by the names that each cluster has for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis.strategies import builds, dictionaries, integers, sampled_from

from kafka_dr.group_offsets.transfers import PositionTransfer
from kafka_dr.naming import DefaultNaming
from kafka_dr.positions import TopicPartition

THERE, BACK = DefaultNaming("east", "west", "."), DefaultNaming("west", "east", ".")
OWNED = frozenset({"orders", "bills"})
NAMES = sampled_from(
    ["orders", "bills", "west.orders", "west.bills", "east.orders", "north.orders", "other", "west.other"]
)
OFFSETS = dictionaries(builds(TopicPartition, NAMES, integers(0, 2)), integers(0, 9))
ALONG, BACKWARD = PositionTransfer("east", on_target=THERE), PositionTransfer("west", on_source=BACK)
THIRD = PositionTransfer("north", DefaultNaming("north", "east"), DefaultNaming("north", "west"))


def test_along_the_flow_an_original_continues_in_its_copy_and_backward_a_copy_in_its_original() -> None:
    copy, original = TopicPartition("west.orders", 1), TopicPartition("orders", 1)
    assert ALONG.at_target(original) == TopicPartition("east.orders", 1)
    assert ALONG.at_source(original) == BACKWARD.at_target(original) == original
    assert BACKWARD.at_source(original) == copy
    assert (ALONG.follows_flow, BACKWARD.follows_flow, THIRD.follows_flow) == (True, False, False)
    assert THIRD.at_source(original) == THIRD.at_target(original) == TopicPartition("north.orders", 1)
    plain = PositionTransfer("east")
    assert plain.at_source(original) == plain.at_target(original) == original


@given(OFFSETS)
def test_each_owned_offset_is_moved_once_and_every_other_one_by_nobody(offsets: dict[TopicPartition, int]) -> None:
    moved = [
        (transfer.at_source(p), offset)
        for transfer in (ALONG, BACKWARD, THIRD)
        for p, offset in transfer.of_source(offsets, OWNED.__contains__).items()
    ]
    owned = {p: at for p, at in offsets.items() if p.topic.removeprefix("west.").removeprefix("north.") in OWNED}
    assert sorted(moved) == sorted(owned.items())


@given(OFFSETS)
def test_names_of_the_target_lead_back_to_the_originals(offsets: dict[TopicPartition, int]) -> None:
    for transfer in (ALONG, BACKWARD, THIRD):
        originals = transfer.of_source(offsets, OWNED.__contains__)
        called = {transfer.at_target(p): at for p, at in originals.items()}
        assert transfer.of_target(called, OWNED.__contains__) == originals
