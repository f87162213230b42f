"""One value of a metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.json_documents import is_number
from kafka_dr.metrics.table import Metric

NOT_KNOWN = math.nan
NEVER = math.inf


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One value of a metric.

    :param labels: the values of its labels, in the order of the table; any text
    """

    metric: Metric
    labels: tuple[str, ...]
    value: float

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.metric.labels):
            raise ValueError(f"{self.metric.name} has the labels {self.metric.labels}, not {self.labels}")


def states(metric: Metric, labels: tuple[str, ...], possible: Iterable[str], now: str) -> Iterator[MetricSample]:
    """Yield 1 for the state that holds, and 0 for every other one.

    :param labels: the values of the labels before the last one, which is the state
    :param now: the state; one that is not possible has a sample, too
    """
    for state in dict.fromkeys((*possible, now)):
        yield MetricSample(metric, (*labels, state), float(state == now))


def number(facts: Mapping[str, Any], *path: str) -> float:
    """Return a figure of stored facts; not a number if it is missing, or of another kind.

    :param path: the keys that lead to it
    """
    found: Any = facts
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return float(found) if is_number(found) else NOT_KNOWN


def texts(value: object) -> dict[str, str]:
    """Return a stored object whose values are texts; empty if it is something else."""
    if not isinstance(value, Mapping):
        return {}
    return {str(name): found for name, found in value.items() if isinstance(found, str)}
