"""Every ALLOW on the lab's clusters: what ``python -m kafka_dr rights`` prints, and what the applications may do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, ResourceType
from kafka_dr.rights.table import needed_on, read_pattern
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from lab.clusters import WEST, Cluster
from lab.layout import NAMING, PROJECT, Flows, Naming
from lab.rights import RIGHTS_OF_APPLICATIONS, RIGHTS_ON_COPIES, Right


def allowed_on(
    cluster: Cluster, flows: Flows, rights: Iterable[Right] | None = None, *, naming: Naming = NAMING
) -> Iterator[Acl]:
    """Yield every ALLOW on one cluster: what the project asks for its own principals, and what applications may do.

    :param flows: the lab's
    :param rights: a table instead of both
    :param naming: what copies of topics are called
    """
    if rights is None:
        yield from _of_project(cluster, flows, naming)
        rights = (*RIGHTS_OF_APPLICATIONS, *(() if naming == NAMING else RIGHTS_ON_COPIES))
    for right in rights:
        for pattern, operation in product(_patterns(right.pattern, cluster, flows), right.operations):
            name, kind = read_pattern(pattern)
            resource, principal = ResourceType[right.resource.name], f"User:{right.principal}"
            yield Acl(resource, name, kind, principal, AclOperation(operation.value), AclPermission.ALLOW)


def _of_project(cluster: Cluster, flows: Flows, naming: Naming) -> Iterator[Acl]:
    declared = _topology()
    (group,) = declared.protection_groups.values()
    spec = declared.clusters[WEST.name].model_copy(update={"connect_group_id": cluster.connect_group_id})
    sources = (source for source, target in flows if target == cluster.name)
    flow = group.flow.model_copy(update={"naming": naming})
    on_it = group.model_copy(update={"clusters": (cluster.name, *sources), "flow": flow})
    for right in needed_on(cluster.name, spec, [on_it]):
        yield from right.acls


@cache
def _topology() -> Topology:
    """The project's topology, of which only names matter here."""
    anywhere = {
        "KAFKA_DR_LAB_HOME": "/lab",
        "KAFKA_DR_LAB_EAST": "east:9092",
        "KAFKA_DR_LAB_WEST": "west:9092",
        "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
    }
    return load(PROJECT / "include" / "topology.yaml", anywhere)


def _patterns(pattern: str, cluster: Cluster, flows: Flows) -> list[str]:
    if "{source}" in pattern:
        return [pattern.format(source=source) for source, target in flows if target == cluster.name]
    return [pattern.format(here=cluster.name)]
