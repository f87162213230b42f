"""Checkpoints are read byte by byte as MirrorMaker writes them, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from kafka_dr.clusters import Record
from kafka_dr.naming import DefaultNaming
from kafka_dr.observation.checkpoints import NotACheckpoint, decode_key, decode_value, newest
from kafka_dr.positions import TopicPartition

KEY = bytes.fromhex("00026731 0008 412e6f7264657273 00000003")
VALUE = bytes.fromhex("0000 00000000000003e8 0000000000000385 0000")


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record("A.checkpoints.internal", 0, 0, 0, key, value)


def test_a_checkpoint_is_read_as_mirrormaker_wrote_it() -> None:
    assert decode_key(KEY) == ("g1", TopicPartition("A.orders", 3))
    assert decode_value(VALUE) == 901
    assert decode_value(VALUE[:-2] + b"\x00\x04note") == 901


@pytest.mark.parametrize("value", [b"", VALUE[:-1], VALUE + b"x", b"\x00\x01" + VALUE[2:], VALUE[:-2] + b"\xff\xff"])
def test_what_is_no_checkpoint_of_this_version_is_refused(value: bytes) -> None:
    with pytest.raises(NotACheckpoint):
        decode_value(value)


@pytest.mark.parametrize("key", [None, b"", KEY[:-1], KEY + b"x", b"\xff\xff" + KEY[2:], b"\x00\x02\xff\xff" + KEY[4:]])
def test_a_key_that_is_none_is_refused(key: bytes | None) -> None:
    with pytest.raises(NotACheckpoint):
        decode_key(key)


def test_the_newest_counts_under_the_name_of_the_source() -> None:
    later = VALUE[:10] + (950).to_bytes(8, "big") + VALUE[18:]
    of_others = KEY.replace(b"A.orders", b"B.orders")
    found = newest(
        [record(KEY, VALUE), record(KEY, later), record(of_others, VALUE), record(b"x", b"")], DefaultNaming("A")
    )

    assert found.positions == {"g1": {TopicPartition("orders", 3): 950}}
    assert found.unreadable == 1
    assert newest([record(KEY, VALUE), record(KEY, None)], DefaultNaming("A")).positions == {"g1": {}}
