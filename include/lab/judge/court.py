"""Brings together what the applications say and what the clusters hold."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab.judge.inspection import Inspector
from lab.judge.model import Observation
from lab.judge.testimony import hear
from lab.traffic.fleet import fleet, groups
from lab.traffic.rates import Rates


def observe(logs: Path, settings: Mapping[str, Mapping[str, str]]) -> Observation:
    """Read everything there is to judge; traffic should have stopped.

    :param logs: the folder of the applications' logs
    :param settings: cluster → how an admin reaches it, in librdkafka's names
    :raises LabError: something could not be read whole
    """
    topics = [job.writes for job in fleet(Rates()).values() if job.writes is not None]
    inspectors = {cluster: Inspector(cluster, each) for cluster, each in settings.items()}
    with ThreadPoolExecutor(2 * len(inspectors)) as pool:
        held = {cluster: pool.submit(each.logs, topics) for cluster, each in inspectors.items()}
        stored = [pool.submit(each.commits, set(groups())) for each in inspectors.values()]
        said = hear(logs)
        clusters = {cluster: each.result() for cluster, each in held.items()}
        commits = [commit for each in stored for commit in each.result()]
    said.resolve({each.record for log in clusters.values() for part in log.values() for each in part if each.record})
    return Observation(
        writes=said.writes,
        deliveries=said.deliveries,
        commits=commits,
        logs=clusters,
        groups=groups(),
        attempts=said.attempts,
        void=frozenset(said.void),
        undecided=[each.records for each in said.undecided],
    )
