"""What must hold between the keys of an observed flow."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_dr.naming import same_twice
from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake
from kafka_dr.topology.observed import NamingSpec

#: Which keys of a naming only some policies read.
_READ_BY = {
    "source_alias": ("identity", "default"),
    "target_alias": ("identity", "default"),
    "separator": ("identity", "default"),
    "prefix": ("affix",),
    "suffix": ("affix",),
    "table": ("table",),
}
#: Of which keys a policy needs at least one.
_NEEDED = {"default": ("source_alias",), "affix": ("prefix", "suffix"), "table": ("table",)}


def observed_mistakes(document: Document) -> Iterator[Mistake]:
    """Yield everything that contradicts something else in the observed flows."""
    for flow in document.keys("observed_flows"):
        here: Path = ("observed_flows", flow)
        if flow in document.keys("protection_groups"):
            seen = f"a protection group is called {flow!r}, too"
            yield document.mistake(here, seen, "give the flow another name, so that no command can mean either")
        yield from _sides(document, here)
        yield from _topics(document, here)
        yield from _naming(document, here)
        yield from _canary(document, here)


def something_declared(document: Document) -> Iterator[Mistake]:
    """Yield what is missing if there is nothing to protect, to observe or to judge."""
    groups, flows = document.keys("protection_groups"), document.keys("observed_flows")
    flows += document.keys("stretch_clusters")
    empty = isinstance(document.root, dict) and document.at("protection_groups") in (None, {})
    if empty and not flows:
        yield document.mistake(
            ("protection_groups",), "nothing is declared", "add a protection group, or a flow to observed_flows"
        )
    written = document.at("clusters")
    if (groups or (empty and not flows)) and isinstance(written or {}, dict) and len(document.keys("clusters")) < 2:
        seen = "only one cluster is declared" if written else "no cluster is declared"
        yield document.mistake(("clusters",), seen, "a protection group moves between two: add the clusters by name")


def _sides(document: Document, here: Path) -> Iterator[Mistake]:
    for key in ("name", "connection", "cluster_id"):
        source, target = document.at(*here, "source", key), document.at(*here, "target", key)
        if isinstance(source, str) and source == target:
            seen = f"{source!r} is also given for the source"
            yield document.mistake((*here, "target", key), seen, "a flow goes from one cluster to another one")


def _topics(document: Document, here: Path) -> Iterator[Mistake]:
    if not any(document.at(*here, key) for key in ("topics", "topic_prefixes", "topic_patterns")):
        yield document.mistake(here, "no topic is given", "add topics, topic_prefixes or topic_patterns")


def _naming(document: Document, here: Path) -> Iterator[Mistake]:
    path = (*here, "naming")
    policy = document.at(*path, "policy") or "identity"
    if not isinstance(policy, str):
        return
    given = document.keys(*path)
    for key, readers in _READ_BY.items():
        if key in given and policy not in readers:
            seen = f"{key} is given with the policy {policy}, which does not use it"
            yield document.mistake((*path, key), seen, f"remove it, or write policy: {readers[-1]}")
    needed = _NEEDED.get(policy, ())
    if needed and not any(document.at(*path, key) for key in needed):
        yield document.mistake(path, f"the policy is {policy}", f"add {' or '.join(needed)}")
    table = document.at(*path, "table")
    copies = table.values() if isinstance(table, dict) else ()
    for copy in sorted(same_twice(each for each in copies if isinstance(each, str))):
        yield document.mistake((*path, "table"), f"{copy!r} is the copy of two topics", "give each a copy of its own")


def _canary(document: Document, here: Path) -> Iterator[Mistake]:
    path = (*here, "canary", "connection")
    if isinstance(written := document.at(*path), str) and written == document.at(*here, "source", "connection"):
        seen = f"{written!r} is also given for the source"
        yield document.mistake(path, seen, "who observes needs no WRITE: give the canary a principal of its own")
    topic = document.at(*here, "canary", "topic")
    try:
        naming = NamingSpec.model_validate(document.at(*here, "naming") or {}).rule()
    except ValueError:
        return  # that mistake is named where it is
    if isinstance(topic, str) and naming.copy_of(topic) is None:
        seen = f"{topic!r} is never copied under this naming"
        yield document.mistake((*here, "canary", "topic"), seen, "choose a topic that the replicator copies")
