"""For how long the source keeps what is not copied, and whether a topic is compacted: unknown where nobody may look."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_dr.clusters import NotAuthorized
from kafka_dr.clusters.configs import Overview
from kafka_dr.clusters.configuration import ConfigValue, Origin, TopicLayout
from kafka_dr.observation.settings import ClusterSettings, differences, headroom, is_compacted
from support.seen_logs import compared, numbered

DAY_MS = 86_400_000


def settings(**configs: str) -> ClusterSettings:
    found = {key.replace("_", "."): ConfigValue(value, Origin.TOPIC) for key, value in configs.items()}
    overview = Overview("id", 1, {"orders": TopicLayout("orders", 1, 1)})
    return ClusterSettings("east", overview, {"orders": found} if found else {})


@pytest.mark.parametrize(
    ("configs", "copied", "said"),
    [
        ({"retention_ms": f"{DAY_MS}", "retention_bytes": "-1"}, 10, ("ok", 86_400.0)),
        # The oldest record that is not copied was written 100 s before.
        ({"retention_ms": f"{DAY_MS}", "retention_bytes": "-1"}, 8, ("ok", 86_300.0)),
        ({"retention_ms": "150000"}, 8, ("failed", 50.0)),
        ({"retention_ms": f"{DAY_MS}", "retention_bytes": "1000"}, 8, ("unknown", None)),
        ({"retention_ms": "-1"}, 8, ("ok", None)),
        ({"retention_ms": "1000", "cleanup_policy": "compact"}, 8, ("ok", None)),
        ({}, 10, ("unknown", None)),
    ],
)
def test_how_long_the_source_keeps_what_is_not_copied(
    configs: dict[str, str], copied: int, said: tuple[str, float | None]
) -> None:
    found = compared(numbered(range(10)), numbered(range(copied)), late_before=0)
    (row,) = headroom(settings(**configs), [found], now_ms=108_000)

    assert (row["verdict"], row["seconds"]) == said


def test_a_topic_is_compacted_if_it_is_on_either_cluster_and_unknown_where_one_hides_it() -> None:
    deletes, compacts, hidden = settings(cleanup_policy="delete"), settings(cleanup_policy="compact"), settings()

    assert is_compacted("orders", deletes, deletes) is False
    assert is_compacted("orders", deletes, compacts) is True
    assert is_compacted("orders", deletes, hidden) is None
    assert is_compacted("orders", hidden, compacts) is True


def test_a_topic_whose_settings_may_not_be_read_is_not_called_equal_or_different() -> None:
    source = settings(cleanup_policy="delete")
    target = ClusterSettings("west", source.overview, errors={"orders": NotAuthorized("no right")}, problem="no right")

    assert differences(source, target, ["orders"]) == []
    (row,) = differences(source, settings(cleanup_policy="compact"), ["orders"])
    assert (row["setting"], row["verdict"], row["source"], row["target"]) == (
        "cleanup.policy",
        "failed",
        "delete",
        "compact",
    )
    assert "standby" not in row["meaning"]


def test_what_a_difference_means_is_said_in_the_words_of_a_flow() -> None:
    original, copy = settings(retention_ms=f"{DAY_MS}"), settings(retention_ms="3600000")
    inherited = ConfigValue(f"{DAY_MS}", Origin.DEFAULT)
    (row,) = differences(replace(original, configs={"orders": {"retention.ms": inherited}}), copy, ["orders"])

    assert row["meaning"] == "the target must have at least as much; the original inherits it, the copy sets it"
