"""OpenMetrics text, version 1.0.0: each metric in one block, every label value harmless."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from kafka_dr.metrics.samples import MetricSample
from kafka_dr.metrics.table import METRICS, Metric
from kafka_dr.quoting import line

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
#: Names in stored results may be damaged; a label is no page.
_MOST_CHARACTERS = 200


def rendered(samples: Iterable[MetricSample]) -> str:
    """Return the text of all metrics of the table, also of those without a sample."""
    # Of two samples with the same labels the later one counts: a parser refuses both.
    found: defaultdict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    for each in samples:
        found[each.metric.name][tuple(map(_shown, each.labels))] = each.value
    lines = [text for metric in METRICS.values() for text in _block(metric, found[metric.name])]
    return "\n".join((*lines, "# EOF", ""))


def _block(metric: Metric, samples: dict[tuple[str, ...], float]) -> Iterator[str]:
    yield f"# TYPE {metric.name} {metric.kind}"
    if metric.unit:
        yield f"# UNIT {metric.name} {metric.unit}"
    yield f"# HELP {metric.name} {_escaped(metric.says)}"
    for labels, value in samples.items():
        pairs = ",".join(f'{name}="{text}"' for name, text in zip(metric.labels, labels, strict=True))
        yield f"{metric.sample_name}{{{pairs}}} {_number(value)}" if pairs else f"{metric.sample_name} {_number(value)}"


def _shown(label: str) -> str:
    # Line breaks, controls and halves of characters become visible first; then what the format itself escapes.
    shown = label if label.isascii() and label.isprintable() else line(label)
    return _escaped(shown if len(shown) <= _MOST_CHARACTERS else f"{shown[: _MOST_CHARACTERS - 1]}…")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
