"""The topology of a lab: the project's own, with a declaration of each further cluster, a standby of each group.

In a lab whose copies have other names than their originals, groups say so, and leave out what is not for them. In one
with a proxy, routes lead applications to the brokers themselves.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from lab.clusters import WEST, clusters_of
from lab.layout import NAMING, PROJECT, Home, Settings

_OF_TWO = PROJECT / "include" / "topology.yaml"


def path(home: Home, settings: Settings) -> Path:
    """Return where the topology of a lab is."""
    return _OF_TWO if _is_the_projects_own(settings) else home.root / "topology.yaml"


def _is_the_projects_own(settings: Settings) -> bool:
    return settings.clusters == 2 and settings.naming == NAMING and not settings.proxied


def write(home: Home, settings: Settings) -> None:
    """Declare the clusters that the project's topology lacks as it declares the second one; each group is on all."""
    if _is_the_projects_own(settings):
        return
    topology = yaml.safe_load(_OF_TWO.read_text())
    pattern = yaml.safe_dump(topology["clusters"][WEST.name])
    for cluster in clusters_of(settings)[2:]:
        declared = pattern.replace(WEST.cluster_id, cluster.cluster_id).replace(WEST.name, cluster.name)
        declared = declared.replace(WEST.name.upper(), cluster.name.upper())
        topology["clusters"][cluster.name] = yaml.safe_load(declared)
    if settings.proxied:
        for cluster in clusters_of(settings):
            topology["clusters"][cluster.name]["application_bootstrap_servers"] = cluster.bootstrap(settings)
    for group in topology["protection_groups"].values():
        group["clusters"] = list(settings.names)
        drills = group["drill"]["connections"]
        drills |= {name: drills[WEST.name].replace(WEST.name, name) for name in settings.names if name not in drills}
        if settings.naming != NAMING:
            group["flow"]["naming"] = settings.naming
            del group["drill"]
    path(home, settings).write_text(yaml.safe_dump(topology, sort_keys=False))
