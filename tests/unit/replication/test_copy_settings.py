"""What the topics of a flow ask of its connector: limits of the largest, the codec of most bytes."""

from __future__ import annotations

import pytest

from kafka_dr.clusters.batches import Codec
from kafka_dr.replication.copy_settings import CopySettings, StoredBytes, codec_for

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("compression", "codec", "copied_as"),
    [
        ("zstd", "lz4", "zstd"),
        ("uncompressed", "lz4", "none"),
        ("producer", "snappy", "snappy"),
        ("producer", "none", "lz4"),
        ("producer", None, "lz4"),
        ("a codec of a later Kafka", "gzip", "gzip"),
    ],
)
def test_a_copy_has_the_codec_of_its_topic_else_of_its_original_else_lz4(
    compression: str, codec: Codec | None, copied_as: str
) -> None:
    assert StoredBytes(compression, codec, 1).copied_as == copied_as


@pytest.mark.parametrize(
    ("stored", "present", "chosen"),
    [
        ({}, None, "lz4"),
        ({}, "zstd", "zstd"),
        ({"zstd": 60, "gzip": 40}, None, "zstd"),
        ({"zstd": 60, "gzip": 40}, "gzip", "zstd"),
        ({"zstd": 50, "gzip": 50}, "gzip", "gzip"),
        ({"zstd": 45, "gzip": 30, "lz4": 25}, "gzip", "gzip"),
        ({"zstd": 60, "gzip": 40}, "no codec", "zstd"),
    ],
)
def test_a_connector_has_the_codec_of_most_bytes_and_keeps_its_own_without_a_majority(
    stored: dict[Codec, int], present: str | None, chosen: str
) -> None:
    found = [StoredBytes("producer", codec, count) for codec, count in stored.items()]
    assert codec_for(found, present) == chosen


@pytest.mark.parametrize(
    ("largest", "most", "buffer"),
    [(1_048_588, 16 * 1_048_588, 64), (100, 16 * MIB, 64), (4 * MIB, 64 * MIB, 128), (32 * MIB, 96 * MIB, 192)],
)
def test_limits_follow_the_largest_topic_up_to_what_a_broker_takes(largest: int, most: int, buffer: int) -> None:
    found = CopySettings.of({"a": 50, "b": largest})
    assert found.most_record_bytes == most
    assert found.buffer_bytes == max(buffer * MIB, 2 * most)
    assert not found.sentence


def test_topics_that_allow_larger_records_than_a_flow_copies_are_named_before() -> None:
    found = CopySettings.of({"orders.scans": 128 * MIB, "orders.payments": 1_048_588})
    assert found.most_record_bytes == 96 * MIB
    assert "orders.scans (134,217,728) may hold larger ones: lower max.message.bytes" in found.sentence
    assert "payments" not in found.sentence
