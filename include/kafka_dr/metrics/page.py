"""``/metrics``: everything that is known of all groups, from files alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from kafka_dr.errors import KafkaDrError
from kafka_dr.metrics import table
from kafka_dr.metrics.of_results import DeclaredGroup, of_apart, of_group
from kafka_dr.metrics.of_runs import of_runs
from kafka_dr.metrics.openmetrics import rendered
from kafka_dr.metrics.samples import MetricSample
from kafka_dr.situations.group_now import group_now
from kafka_dr.topology.model import Topology
from kafka_dr.watch_results import (
    WATCHES,
    OpenRun,
    OpenRuns,
    RunEnding,
    RunEndings,
    RunningStep,
    RunningSteps,
    WatchedGroup,
    WatchResultStore,
    read_endings,
    read_observed,
    read_status,
)
from kafka_dr.watch_results.watches import believed_for

#: Kinds of what is no protection group whose watches are theirs alone: the audits of observed flows are not judged as
#: those of groups, and alert rules do not know one from the other.
_APART = ("stretched", "conflicts")


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
    endings = read_endings(groups, RunEndings(root))
    try:
        opened = RunningSteps(root).read(now)[0], OpenRuns(root).read(now)[0]
    except (KafkaDrError, OSError):
        opened = None
    for watched in read_status(groups, WatchResultStore(root), now):
        yield from of_group(watched, declared_group(topology, watched.group), now)
        yield _situation(watched, endings[watched.group], opened, now)
    for group, found in endings.items():
        yield from of_runs(group, found)
    for kind in _APART:
        for watched in read_observed(topology.watched_apart[kind], WatchResultStore(root), now).values():
            yield from of_apart(watched, now)


def _situation(
    watched: WatchedGroup,
    endings: tuple[RunEnding, ...] | Exception,
    opened: tuple[tuple[RunningStep, ...], tuple[OpenRun, ...]] | None,
    now: datetime,
) -> MetricSample:
    """Return what is the matter with a group.

    :param opened: the steps that run and the questions that wait; ``None`` if that cannot be read
    """
    labels = (table.UNKNOWN, table.UNKNOWN)
    if opened is not None:
        found = group_now(watched, endings, opened[0], now, opened[1]).judgement
        labels = (found.name, found.colour)
    return MetricSample(table.SITUATION, (watched.group, *labels), 1.0)
