"""What the list of a group's last runs becomes as metrics."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_dr.metrics import table
from kafka_dr.metrics.samples import MetricSample
from kafka_dr.watch_results import RunEnding


def of_runs(group: str, endings: tuple[RunEnding, ...] | Exception) -> Iterator[MetricSample]:
    """Yield how the newest run of each verb ended and how long its steps took.

    :param endings: the newest first, or the error if the list cannot be read
    """
    readable = not isinstance(endings, Exception)
    yield MetricSample(table.RUNS_READABLE, (group,), float(readable))
    if isinstance(endings, Exception):
        return
    seen: set[str] = set()
    for ending in endings:
        # Dry runs have no steps in the list.
        if ending.dag_id in seen or not ending.steps:
            continue
        seen.add(ending.dag_id)
        yield from _of_run(group, ending)


def _of_run(group: str, ending: RunEnding) -> Iterator[MetricSample]:
    verb = ending.dag_id.removeprefix("dr_")
    yield MetricSample(table.RUN_GOOD, (group, verb), float(ending.good))
    yield MetricSample(table.RUN_ENDED, (group, verb), ending.ended_at.timestamp())
    for step, seconds in ending.steps.items():
        yield MetricSample(table.STEP, (group, verb, step), seconds)
    for figure in (*table.FIGURES, *table.RECOVERY_PARTS):
        if (measured := ending.measured.get(f"{figure}_seconds")) is not None:
            yield MetricSample(table.RUN_MEASURED, (group, verb, figure), measured)
