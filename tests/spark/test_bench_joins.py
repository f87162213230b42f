"""What the audit is measured against finds the same differences between whole records."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark]

_KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)
_ROWS: list[tuple[Any, ...]] = [
    (b"k", b"v", None),
    (None, b"v", None),
    (b"k", None, [("h", b"1"), ("h", None)]),
    (b"k", b"lost", None),
    (b"k", b"changed", [("h", b"1")]),
    (None, None, [("h", b"")]),
]


def side(spark: SparkSession, rows: Sequence[tuple[Any, ...]], *, first: int) -> DataFrame:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    found = [(key, value, "t", 0, first + n, moment, 0, headers) for n, (key, value, headers) in enumerate(rows)]
    return spark.createDataFrame(found, _KAFKA)


@pytest.mark.parametrize("how", ["alone", "alone_by_hash"])
def test_a_join_finds_what_one_cluster_alone_has_and_takes_null_for_null(spark: SparkSession, how: str) -> None:
    from lab.bench import warm

    copy = [*_ROWS[:3], (b"k", b"changed", [("h", b"2")]), _ROWS[5]]
    here, there = side(spark, _ROWS, first=0), side(spark, copy, first=100)
    found = getattr(warm, how)(here, there).collect()
    assert len(found) == 3, "one was lost, one was changed: that makes one more on either cluster"
