"""Sends metrics as Airflow sends its own: by StatsD, Datadog's agent or OpenTelemetry, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context
from airflow.sdk.configuration import conf
from airflow.sdk.observability.stats import Stats

from kafka_dr.quoting import line
from kafka_dr_airflow.topology_file import read_topology

if TYPE_CHECKING:
    from kafka_dr.metrics.samples import MetricSample
    from kafka_dr.runs.record import StepRecord
    from kafka_dr.watch_results import KeptResult


def send_looks(logger: Any, kept: Iterable[KeptResult]) -> None:
    """Send what looks found. A look never fails because of it.

    :param logger: of the task
    """
    try:
        if _tagged() is None:
            return
        from kafka_dr.metrics.of_results import of_look

        declared = read_topology(os.environ).protection_groups
        _send(
            sample
            for each in kept
            for sample in of_look(each, tuple(declared[each.group].clusters) if each.group in declared else ())
        )
    except Exception as error:  # noqa: BLE001 - whatever a backend of metrics raises, the look counts
        logger.warning("What the look found could not be sent as metrics: %s", line(error))


def send_step(logger: Any, record: StepRecord) -> None:
    """Send how long a step took. A step never fails because of it.

    :param logger: of the task
    """
    try:
        if record.outcome == "would_do" or _tagged() is None:
            return
        from kafka_dr.metrics.samples import MetricSample
        from kafka_dr.metrics.table import STEP

        verb = str(get_current_context()["ti"].dag_id).removeprefix("dr_")
        _send([MetricSample(STEP, (record.group, verb, record.step), record.seconds)])
    except Exception as error:  # noqa: BLE001 - whatever a backend of metrics raises, the step counts
        logger.warning("How long %s took could not be sent as a metric: %s", record.step, line(error))


def _send(samples: Iterable[MetricSample]) -> None:
    from kafka_dr.metrics.stat_names import stat_of

    for sample in samples:
        if (stat := stat_of(sample, tagged=bool(_tagged()))) is None:
            continue
        name, tags = stat
        if sample.metric.kind == "counter":
            Stats.incr(name, int(sample.value), tags=tags)
        else:
            Stats.gauge(name, sample.value, tags=tags)


def _tagged() -> bool | None:
    """Return whether the backend that Airflow uses keeps tags; ``None`` if Airflow sends no metrics."""
    if _is_on("statsd_datadog_enabled"):
        return _is_on("statsd_datadog_metrics_tags", otherwise=True)
    if _is_on("statsd_on"):
        return _is_on("statsd_influxdb_enabled")
    return True if _is_on("otel_on") else None


def _is_on(option: str, *, otherwise: bool = False) -> bool:
    return bool(conf.getboolean("metrics", option, fallback=otherwise))
