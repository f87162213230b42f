"""Every ALLOW on the lab's clusters: what ``python -m kafka_dr rights`` prints, and what the applications may do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from pathlib import Path

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, ResourceType
from kafka_dr.rights.table import needed_on, read_pattern
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup, Topology
from lab import topology_file
from lab.clusters import WEST, Cluster
from lab.layout import NAMES, NAMING, PROJECT, Flows, Home, Naming, Settings
from lab.rights import RIGHTS_OF_APPLICATIONS, RIGHTS_ON_COPIES, Right


def allowed_in(home: Home, settings: Settings, cluster: Cluster) -> Iterator[Acl]:
    """Yield every ALLOW on one cluster of a lab, whose topology is written."""
    groups: Iterable[ProtectionGroup] = ()
    if settings.block:
        groups = _topology(topology_file.path(home, settings)).protection_groups.values()
    yield from allowed_on(cluster, settings.flows, naming=settings.naming, groups=groups)


def allowed_on(
    cluster: Cluster,
    flows: Flows,
    rights: Iterable[Right] | None = None,
    *,
    naming: Naming = NAMING,
    groups: Iterable[ProtectionGroup] = (),
) -> Iterator[Acl]:
    """Yield every ALLOW on one cluster: what the project asks for its own principals, and what applications may do.

    :param flows: the lab's
    :param rights: a table instead of both
    :param naming: what copies of topics are called
    :param groups: those of the lab, if they are not that of the project's topology
    """
    if rights is None:
        yield from _of_project(cluster, list(groups) or [_usual_group(cluster, flows, naming)])
        rights = (*RIGHTS_OF_APPLICATIONS, *(() if naming == NAMING else RIGHTS_ON_COPIES))
    for right in rights:
        for pattern, operation in product(_patterns(right.pattern, cluster, flows), right.operations):
            name, kind = read_pattern(pattern)
            resource, principal = ResourceType[right.resource.name], f"User:{right.principal}"
            yield Acl(resource, name, kind, principal, AclOperation(operation.value), AclPermission.ALLOW)


def _of_project(cluster: Cluster, groups: Iterable[ProtectionGroup]) -> Iterator[Acl]:
    spec = _topology().clusters[WEST.name].model_copy(update={"connect_group_id": cluster.connect_group_id})
    for right in needed_on(cluster.name, spec, groups):
        yield from right.acls


def _usual_group(cluster: Cluster, flows: Flows, naming: Naming) -> ProtectionGroup:
    (group,) = _topology().protection_groups.values()
    sources = (source for source, target in flows if target == cluster.name)
    flow = group.flow.model_copy(update={"naming": naming})
    return group.model_copy(update={"clusters": (cluster.name, *sources), "flow": flow})


@cache
def _topology(path: Path = PROJECT / "include" / "topology.yaml") -> Topology:
    """A topology, by default the project's, of which only names matter here."""
    anywhere = {f"KAFKA_DR_LAB_{name.upper()}": f"{name}:9092" for name in NAMES}
    return load(path, {**anywhere, "KAFKA_DR_LAB_HOME": "/lab", "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3"})


def _patterns(pattern: str, cluster: Cluster, flows: Flows) -> list[str]:
    if "{source}" in pattern:
        return [pattern.format(source=source) for source, target in flows if target == cluster.name]
    return [pattern.format(here=cluster.name)]
