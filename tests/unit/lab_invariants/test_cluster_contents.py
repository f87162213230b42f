"""The topic in which a cluster stores the positions of groups, byte by byte."""

from __future__ import annotations

import struct

from lab.invariants.cluster_contents import decode_position


def string(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def key(version: int, group: str, topic: str, partition: int) -> bytes:
    return struct.pack(">h", version) + string(group) + string(topic) + struct.pack(">i", partition)


def test_a_stored_position_is_read() -> None:
    value = struct.pack(">hqi", 3, 1234, 5) + string("") + struct.pack(">q", 1_700_000_000_000)
    assert decode_position(key(1, "orders-head", "orders.payments", 5), value) == (
        "orders-head",
        "orders.payments",
        5,
        1234,
    )


def test_a_group_with_a_name_beyond_ascii_is_read() -> None:
    assert decode_position(key(1, "zähler", "t", 0), struct.pack(">hq", 1, 7)) == ("zähler", "t", 0, 7)


def test_a_removed_position_is_none() -> None:
    assert decode_position(key(1, "g", "t", 0), None) is None


def test_members_of_a_group_are_no_position() -> None:
    assert decode_position(struct.pack(">h", 2) + string("g"), b"\0\3whatever") is None
