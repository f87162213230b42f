from __future__ import annotations

import pytest

from kafka_dr.offsets.syncs.archive import Undecodable, decode_sync, sync_topic
from kafka_dr.positions import OffsetPair, TopicPartition

SYNC_KEY = bytes.fromhex("00066f726465727300000003")
SYNC = bytes.fromhex("00000000000003e80000000000000384")


def test_an_offset_sync_is_a_pair_of_offsets_of_one_record() -> None:
    assert decode_sync(SYNC_KEY, SYNC) == (TopicPartition("orders", 3), OffsetPair(1000, 900))


def test_a_tombstone_says_nothing() -> None:
    assert decode_sync(SYNC_KEY, None) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, SYNC),
        (b"", SYNC),
        (SYNC_KEY, b""),
        (SYNC_KEY, SYNC[:-1]),
        (SYNC_KEY, SYNC + b"\0"),
        (SYNC_KEY + b"\0", SYNC),
        (b"\xff\xff" + SYNC_KEY[2:], SYNC),
        (b"\x00\x02\xff\xfe\0\0\0\1", SYNC),
        (b"\x7f\xff" + SYNC_KEY[2:], SYNC),
    ],
)
def test_bytes_that_are_no_offset_sync_are_refused(key: bytes | None, value: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_sync(key, value)


def test_the_sync_topic_carries_the_name_of_the_source() -> None:
    assert sync_topic("east") == "mm2-offset-syncs.east.internal"
