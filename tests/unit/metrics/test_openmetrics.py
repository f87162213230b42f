"""OpenMetrics text, as Prometheus' own parser reads it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from kafka_dr.metrics import table
from kafka_dr.metrics.openmetrics import rendered
from kafka_dr.metrics.samples import MetricSample
from support.prometheus import read_back


def test_every_metric_of_the_table_is_declared_once_and_in_one_block() -> None:
    text = rendered(
        [
            MetricSample(table.LAG_SECONDS, ("b",), 2.5),
            MetricSample(table.GROUPS, (), 2),
            MetricSample(table.LAG_SECONDS, ("a",), 1),
        ]
    )
    lines = text.splitlines()
    assert lines[-1] == "# EOF"
    assert text.endswith("# EOF\n")
    for metric in table.METRICS.values():
        assert lines.count(f"# TYPE {metric.name} {metric.kind}") == 1
        assert not metric.unit or metric.name.endswith(f"_{metric.unit}")
    at = lines.index("# HELP kafka_dr_lag_seconds Age of the oldest record that waits to be copied.")
    assert lines[at + 1 : at + 3] == ['kafka_dr_lag_seconds{group="b"} 2.5', 'kafka_dr_lag_seconds{group="a"} 1']


def test_prometheus_reads_back_what_was_written(tmp_path: Path) -> None:
    samples = [
        MetricSample(table.GROUPS, (), 2),
        MetricSample(table.DENIES_ADDED, ("orders",), 3),
        MetricSample(table.WATCH_AGE, ("orders", "lag"), math.inf),
        MetricSample(table.LAG_SECONDS, ("orders",), math.nan),
        MetricSample(table.LAG_BYTES, ("orders",), 1e300),
    ]
    found = {dict(labels)["__name__"]: value for labels, value in read_back(rendered(samples), tmp_path).items()}
    assert math.isnan(found.pop("kafka_dr_lag_seconds"))
    assert found == {
        "kafka_dr_groups": 2,
        "kafka_dr_denies_added_total": 3,
        "kafka_dr_watch_age_seconds": math.inf,
        "kafka_dr_lag_bytes": 1e300,
    }


HOSTILE = {
    'a"} 1\nkafka_dr_phase{group="forged': 'a"} 1\\nkafka_dr_phase{group="forged',
    "back\\slash\\n": "back\\slash\\n",
    "\ud800 half": "\\ud800 half",
    "\u202eright to left\x00": "\\u202eright to left\\x00",
    "# EOF": "# EOF",
    "": "",
    "ö": "ö",
    "x" * 300: "x" * 199 + "…",
}


def test_a_hostile_label_is_one_value_and_nothing_else(tmp_path: Path) -> None:
    found = read_back(rendered([MetricSample(table.EPOCH, (text,), at) for at, text in enumerate(HOSTILE)]), tmp_path)
    assert {dict(labels)["__name__"] for labels in found} == {"kafka_dr_epoch"}
    # A label without a value is no label.
    assert [dict(labels).get("group", "") for labels in sorted(found, key=found.__getitem__)] == [*HOSTILE.values()]


def test_labels_that_look_the_same_are_one_series(tmp_path: Path) -> None:
    twice = [MetricSample(table.EPOCH, ("a\n",), 1), MetricSample(table.EPOCH, ("a\\n",), 2)]
    assert len(read_back(rendered(twice), tmp_path)) == 1


def test_a_sample_has_the_labels_of_its_metric() -> None:
    with pytest.raises(ValueError, match="has the labels"):
        MetricSample(table.EPOCH, (), 1)
