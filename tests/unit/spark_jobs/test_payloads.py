"""What an audit reads again of records: as much as it needs, and not without end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from jobs.checksum.payloads import keys_of
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition

_VALUE = b"x" * 1_000


@dataclass
class LargeRecords:
    """A partition of large records without an end.

    :param given: bytes of values that were given out
    """

    start: int = 5
    given: int = 0

    @property
    def topics(self) -> Any:
        return SimpleNamespace(log_starts=lambda partitions: dict.fromkeys(partitions, self.start))

    @property
    def log(self) -> Any:
        return SimpleNamespace(read=self._read)

    def _read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Any]:
        for offset in (offset for each in ranges.values() for offset in range(each.start, each.end)):
            self.given += len(_VALUE)
            yield SimpleNamespace(offset=offset, key=b"%d" % offset, value=_VALUE)


@pytest.mark.parametrize(("start", "end"), [(5, 6), (10, 1_010), (10, 3_333)])
def test_keys_are_those_of_all_records_asked_for(start: int, end: int) -> None:
    keys = keys_of("orders", cast("KafkaCluster", LargeRecords()))(0, start, end)
    assert keys == {offset: b"%d" % offset for offset in range(start, end)}


def test_keys_for_which_too_much_would_be_read_are_not_known() -> None:
    cluster = LargeRecords()
    assert keys_of("orders", cast("KafkaCluster", cluster), most_bytes=1_500_000)(0, 10, 100_000) is None
    assert cluster.given < 3_000_000


def test_keys_of_what_was_deleted_are_not_known() -> None:
    assert keys_of("orders", cast("KafkaCluster", LargeRecords(start=11)))(0, 10, 20) is None
