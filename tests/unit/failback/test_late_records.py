"""When the flow of a cluster that was lost may continue: only exactly where it ended, in the logs that it has read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.failback.checks import _flow_continues
from kafka_dr.replication.flow import Flow

P, Q = TopicPartition("orders", 0), TopicPartition("orders", 1)
FLOW = Flow("orders", "west", "east")


def returned(
    *,
    positions: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
    copies: dict[TopicPartition, int],
    stranded: tuple[tuple[int, int], ...] = (),
    topic_id: str = "id",
) -> Any:
    """Return a failback of east, which had 100 records of P copied and is back."""
    topics = SimpleNamespace(high_watermarks=lambda wanted: {p: ends[p] for p in wanted})
    run = SimpleNamespace(
        flow=FLOW,
        source="west",
        target="east",
        group=SimpleNamespace(owns_topic=lambda _: True),
        clients=SimpleNamespace(replicator=lambda _: SimpleNamespace(positions=lambda: positions)),
        partitions=lambda _: tuple(ends),
        operator=lambda _: SimpleNamespace(topics=topics),
        copies_by=lambda _: SimpleNamespace(topics=SimpleNamespace(high_watermarks=lambda _: copies)),
        copied_by=lambda _: tuple(copies),
        topic_ids=lambda _: {"orders": topic_id},
    )
    listed = SimpleNamespace(topic="orders", partition=0, ranges=stranded)
    found = SimpleNamespace(topic_ids={"orders": "id"}, partitions=(listed,))
    return SimpleNamespace(run=run, mode="deliver", stranded=found)


GOOD: dict[str, Any] = {"positions": {P: 100}, "ends": {P: 120, Q: 0}, "copies": {P: 100, Q: 0}}


def test_a_log_that_was_only_appended_to_continues() -> None:
    assert _flow_continues(returned(**GOOD, stranded=((100, 120),))).outcome == "ok"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ends": {P: 90, Q: 0}}, "is not the log"),
        ({"topic_id": "another"}, "is not the log"),
        ({"stranded": ((90, 110),)}, "is not the log"),
        ({"positions": {}}, "has no position in orders-0"),
        ({"copies": {P: 100, Q: 7}}, "has no position in orders-1"),
    ],
    ids=["shorter", "made again", "cut and written again below the position", "no positions", "one is missing"],
)
def test_a_flow_that_would_leave_records_out_or_copy_them_twice_is_refused(changed: dict[str, Any], said: str) -> None:
    found = _flow_continues(returned(**(GOOD | changed)))
    assert found.outcome == "failed"
    assert said in found.detail
