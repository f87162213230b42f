"""``/metrics``: everything that is known of all groups, from files alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from kafka_dr.metrics import table
from kafka_dr.metrics.of_results import DeclaredGroup, of_group
from kafka_dr.metrics.of_runs import of_runs
from kafka_dr.metrics.openmetrics import rendered
from kafka_dr.metrics.samples import MetricSample
from kafka_dr.topology.model import Topology
from kafka_dr.watch_results import WATCHES, RunEndings, WatchResultStore, read_endings, read_status
from kafka_dr.watch_results.watches import believed_for


def metrics_page(topology: Topology, root: Any, now: datetime) -> str:
    """Read what is kept of all declared groups, and return it as OpenMetrics text.

    What cannot be read is unknown, and its series say so.

    :param root: the evidence root, a path object
    :param now: UTC
    """
    return rendered(_samples(topology, root, now))


def declared_group(topology: Topology, name: str) -> DeclaredGroup:
    """Return what metrics need of a declared group."""
    spec = topology.protection_groups[name]
    return DeclaredGroup(
        name,
        tuple(spec.clusters),
        {watch.name: believed_for(watch.paced(spec.watch)) for watch in WATCHES.values()},
        {figure: float(getattr(spec.objectives, f"{figure}_seconds")) for figure in table.FIGURES},
    )


def _samples(topology: Topology, root: Any, now: datetime) -> Iterator[MetricSample]:
    groups = sorted(topology.protection_groups)
    yield MetricSample(table.GROUPS, (), float(len(groups)))
    for watched in read_status(groups, WatchResultStore(root), now):
        yield from of_group(watched, declared_group(topology, watched.group), now)
    for group, endings in read_endings(groups, RunEndings(root)).items():
        yield from of_runs(group, endings)
