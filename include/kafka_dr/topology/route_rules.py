"""What must hold between a route and its protection group."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake


def route_mistakes(document: Document, here: Path) -> Iterator[Mistake]:
    """Yield what a name in DNS would not lead to, of the route of the protection group at this path."""
    route = (*here, "route")
    if document.at(*route, "kind") != "dns":
        return
    name, zone = document.at(*route, "name"), document.at(*route, "zone")
    if not str(name).endswith(f".{zone}"):
        yield document.mistake((*route, "name"), f"{name!r} is not below the zone {zone!r}", f"write a name in {zone}")
    clusters = [cluster for cluster, _ in document.texts(*here, "clusters")]
    values = document.keys(*route, "values")
    for cluster in clusters if values else ():
        if cluster not in values:
            yield document.mistake(
                (*route, "values"), f"{cluster!r} has no value", f"add {cluster} with its addresses, or one other name"
            )
    for cluster in values:
        if cluster not in clusters:
            seen = f"{cluster!r} is no cluster of this group"
            yield document.mistake((*route, "values", cluster), seen, f"write one of {', '.join(clusters)}")
