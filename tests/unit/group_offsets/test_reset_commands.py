from __future__ import annotations

from kafka_dr.clusters.tool_access import ToolAccess
from kafka_dr.group_offsets.reset_commands import ShareStart, reset_share_group, reset_streams_application
from kafka_dr.positions import TopicPartition

ACCESS = ToolAccess("west", "west:9092", "owner.properties")
P = TopicPartition("orders.payments", 0)


def test_a_share_group_begins_at_a_record_of_the_time_in_each_partition() -> None:
    starts = [
        ShareStart("orders workers", P, 1_763_607_600_123),
        ShareStart("orders workers", TopicPartition("orders.payments", 2), 1_763_607_600_123),
        ShareStart("orders workers", TopicPartition("orders.payments", 1), None),
    ]
    begin = "kafka-share-groups.sh --bootstrap-server west:9092 --command-config owner.properties"
    assert reset_share_group(ACCESS, starts) == (
        f"{begin} --group 'orders workers' --reset-offsets --topic orders.payments:0,2 "
        "--to-datetime 2025-11-20T03:00:00.123 --execute",
        f"{begin} --group 'orders workers' --reset-offsets --topic orders.payments:1 --to-earliest --execute",
    )


def test_a_streams_application_is_reset_by_the_tool_of_its_protocol() -> None:
    classic = reset_streams_application(
        ACCESS, "orders-totals", inputs=["a", "b"], internal=["orders-totals-c-changelog"], own_protocol=False
    )
    assert classic == (
        "kafka-streams-application-reset.sh --bootstrap-server west:9092 --config-file owner.properties "
        "--application-id orders-totals --input-topics a,b --internal-topics orders-totals-c-changelog"
    )
    newer = reset_streams_application(ACCESS, "orders-totals", inputs=["a"], internal=[], own_protocol=True)
    assert newer == (
        "kafka-streams-groups.sh --bootstrap-server west:9092 --command-config owner.properties "
        "--group orders-totals --reset-offsets --all-input-topics --to-earliest --execute"
    )
