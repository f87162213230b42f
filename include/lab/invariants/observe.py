"""Reads what the applications logged and what the clusters hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from lab.invariants.app_logs import read_app_logs
from lab.invariants.cluster_contents import ClusterReader
from lab.invariants.model import FormerLogs, Logs, Observation, Partition, StrandedRecord
from lab.invariants.names import Names
from lab.invariants.stranded_list import Range, parse_range, stranded, without
from lab.traffic.fleet import fleet, groups
from lab.traffic.rates import Rates


def topics() -> list[str]:
    """The topics of the applications."""
    return [job.writes for job in fleet(Rates()).values() if job.writes is not None]


def logs_of(cluster: str, settings: Mapping[str, str], names: Names | None = None) -> Logs:
    """Read what a cluster holds now, before that changes.

    :param names: of topics; the same everywhere if left out
    :raises LabError: it could not be read whole
    """
    return ClusterReader(cluster, settings, names).logs(topics())


def observe(
    logs: Path,
    settings: Mapping[str, Mapping[str, str]],
    *,
    stranded_list: tuple[Path, str, str] | None = None,
    quarantine: Mapping[str, Sequence[str]] | None = None,
    earlier: Sequence[FormerLogs] = (),
    names: Names | None = None,
) -> Observation:
    """Read everything that is checked; traffic should have stopped.

    :param logs: the folder of the applications' logs
    :param settings: cluster → how an admin reaches it, in librdkafka's names
    :param stranded_list: the folder of the list of stranded records, after a disaster, the key of its content, and
        the cluster that was lost
    :param quarantine: cluster → ranges of its logs that nobody counts on, as ``topic-partition:first-after``
    :param earlier: logs that were created again since
    :param names: of topics; the same everywhere if left out
    :raises LabError: something could not be read whole
    """
    names = names or Names()
    inspectors = {cluster: ClusterReader(cluster, each, names) for cluster, each in settings.items()}
    said = read_app_logs(logs, names)
    read_by = {*groups(), *(each.group for each in said.deliveries)}
    with ThreadPoolExecutor(2 * len(inspectors)) as pool:
        held = {cluster: pool.submit(each.logs, topics()) for cluster, each in inspectors.items()}
        stored = [pool.submit(each.commits, read_by) for each in inspectors.values()]
        clusters = {
            cluster: without(each.result(), _ranges((quarantine or {}).get(cluster, ())))
            for cluster, each in held.items()
        }
        commits = [commit for each in stored for commit in each.result()]
    every = [*clusters.values(), *(each.logs for each in earlier)]
    listed: Sequence[StrandedRecord] = ()
    if stranded_list is not None:
        folder, content_key, lost = stranded_list
        listed = stranded(folder, content_key, partial(names.place, lost))
    said.resolve({each.record for log in every for part in log.values() for each in part if each.record})
    return Observation(
        writes=said.writes,
        deliveries=said.deliveries,
        commits=commits,
        logs=clusters,
        groups=groups(),
        attempts=said.attempts,
        void=frozenset(said.void),
        undecided=[each.records for each in said.undecided],
        stranded=listed,
        earlier=earlier,
    )


def _ranges(texts: Sequence[str]) -> dict[Partition, list[Range]]:
    ranges: dict[Partition, list[Range]] = {}
    for text in texts:
        partition, each = parse_range(text)
        ranges.setdefault(partition, []).append(each)
    return ranges
