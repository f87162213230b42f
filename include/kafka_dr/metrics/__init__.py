"""What people watch with Prometheus or StatsD: one table of names, and their values from kept results alone."""

from __future__ import annotations

from kafka_dr.metrics.of_results import of_look
from kafka_dr.metrics.openmetrics import CONTENT_TYPE
from kafka_dr.metrics.page import declared_group, metrics_page
from kafka_dr.metrics.samples import MetricSample
from kafka_dr.metrics.stat_names import stat_of
from kafka_dr.metrics.table import METRICS, PREFIX, STEP, Metric

__all__ = [
    "METRICS",
    "PREFIX",
    "STEP",
    "Metric",
    "MetricSample",
    "CONTENT_TYPE",
    "metrics_page",
    "declared_group",
    "of_look",
    "stat_of",
]
