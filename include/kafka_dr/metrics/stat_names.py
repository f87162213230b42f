"""How a sample is called where tasks send it: StatsD's names have dots, and plain StatsD knows no labels."""

from __future__ import annotations

import math
import re

from kafka_dr.metrics.samples import MetricSample
from kafka_dr.metrics.table import PREFIX

#: What a part of a name, and a tag, may hold. A dot would begin a new part.
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_MOST_CHARACTERS = 100


def stat_of(sample: MetricSample, *, tagged: bool) -> tuple[str, dict[str, str]] | None:
    """Return name and tags of a sample; ``None`` if it is not sent: no number, or only for the page.

    :param tagged: whether the labels may be tags; else their values become parts of the name, in the table's order
    """
    if not sample.metric.by_tasks or not math.isfinite(sample.value):
        return None
    name = f"{PREFIX.removesuffix('_')}.{sample.metric.name.removeprefix(PREFIX)}"
    values = [_OTHER.sub("_", label)[:_MOST_CHARACTERS] or "_" for label in sample.labels]
    if tagged:
        return name, dict(zip(sample.metric.labels, values, strict=True))
    return ".".join((name, *values)), {}
