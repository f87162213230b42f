from __future__ import annotations

import json

import pytest

from kafka_dr.positions import TopicPartition
from kafka_dr.replication.connect_positions import decode_position

KEY = json.dumps(["dr.orders.east-to-west", {"cluster": "east", "partition": 1, "topic": "orders.payments"}]).encode()
PARTITION = TopicPartition("orders.payments", 1)


def test_a_position_is_read_as_connect_keeps_it() -> None:
    assert decode_position(KEY, b'{"offset":41}') == ("dr.orders.east-to-west", "east", PARTITION, 41)


def test_one_that_was_removed_is_named() -> None:
    assert decode_position(KEY, None) == ("dr.orders.east-to-west", "east", PARTITION, None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b'{"offset":1}'),
        (b"no json", b'{"offset":1}'),
        (b'["other", {"file": "a.txt"}]', b'{"position": 4}'),
        (b'{"connector": 1}', b'{"offset":1}'),
        (KEY, b'{"position": 4}'),
        (KEY, b"no json"),
    ],
)
def test_what_another_connector_keeps_is_passed_over(key: bytes | None, value: bytes) -> None:
    assert decode_position(key, value) is None
