"""The topology of a lab: the project's own, with a declaration of each further cluster, a standby of each group.

In a lab whose copies have other names than their originals, groups say so, and leave out what is not for them. In one
whose clusters are used together a block declares it instead of the group. In one with a proxy, routes lead applications
to the brokers themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from lab.clusters import PROTECTION_GROUP, TOPICS_OF_APPLICATIONS, WEST, clients_of, clusters_of
from lab.layout import NAMING, PROJECT, Home, Settings
from lab.traffic import billing
from lab.traffic.fleet import MOVES, UNION

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
    if settings.block:
        group = topology.pop("protection_groups")[PROTECTION_GROUP]
        topology[settings.block] = {PROTECTION_GROUP: _block(settings, group)}
    path(home, settings).write_text(yaml.safe_dump(topology, sort_keys=False))


def _block(settings: Settings, group: dict[str, Any]) -> dict[str, Any]:
    """Return what a group declares as a block: each cluster is a member, whose clients have a route."""
    for key in ("clusters", "initial_active", "route", "topic_prefixes", "consumer_group_prefixes"):
        del group[key]
    group["flow"] |= {"refresh_topics_seconds": 10, "tasks_max": 1}  # there is a flow from each cluster to each other
    routes = {name: f"${{KAFKA_DR_LAB_HOME}}/route/{clients_of(name)}.json" for name in settings.names}
    members = {name: {"route": {"kind": "file", "path": path}} for name, path in routes.items()}
    hubs = {name: members.pop(name) for name in settings.hubs}
    return {
        **({"spokes": members, "hubs": hubs} if hubs else {"members": members}),
        "topics": [topic.name for topic in TOPICS_OF_APPLICATIONS],
        "union": list(UNION),
        "local": [billing.GROUP],
        "moves": {f"{MOVES}-{name}": name for name in settings.hubs or settings.names},
        **group,
    }
