"""A ``KafkaMirrorMaker2`` resource of Strimzi: what it says, and the changes that its operator carries out. Pure.

Sources: the schema of the resource in ``kafka.strimzi.io/v1beta2`` and ``v1`` (proposal 115 renames the clusters), and
Strimzi's proposals 076 and 083: the operator lists or alters offsets of the connector that the annotation
``strimzi.io/mirrormaker-connector`` names when ``strimzi.io/connector-offsets`` says so, through a ConfigMap that the
connector's ``listOffsets`` or ``alterOffsets`` names, and then removes both annotations.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kafka_dr.causes import cause
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import NeedsPerson
from kafka_dr.kubernetes import Document
from kafka_dr.replication.connector_status import ConnectorState, ConnectorStatus, TaskStatus, failure_in, state_in

#: The keys of a mirror's connectors, and the end of each connector's name.
CONNECTORS: Mapping[str, str] = {
    "sourceConnector": "MirrorSourceConnector",
    "checkpointConnector": "MirrorCheckpointConnector",
    "heartbeatConnector": "MirrorHeartbeatConnector",
}
SOURCE = "sourceConnector"
OFFSETS, OFFSETS_OF = "strimzi.io/connector-offsets", "strimzi.io/mirrormaker-connector"
PAUSED = "strimzi.io/pause-reconciliation"
_GROUP = "mirrormaker2-cluster"
WantedState = Literal["running", "paused", "stopped"]
OffsetsKey = Literal["listOffsets", "alterOffsets"]
OffsetsVerb = Literal["list", "alter"]


@dataclass(frozen=True, slots=True)
class DeclaredMirror:
    """One mirror of a resource: replication from one cluster to the resource's own.

    :param number: its index in ``spec.mirrors``
    :param spec: as it is written there
    """

    number: int
    source: str
    target: str
    spec: Mapping[str, Any]

    def connector(self, key: str) -> str:
        """Return the name of a connector, as Connect knows it."""
        return f"{self.source}->{self.target}.{CONNECTORS[key]}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the connectors that it has."""
        return tuple(key for key in CONNECTORS if isinstance(self.spec.get(key), Mapping))

    @property
    def names(self) -> dict[str, str]:
        """The names of its connectors, by key."""
        return {key: self.connector(key) for key in self.keys}

    @property
    def config(self) -> dict[str, str]:
        """The settings of the connector that copies records, under MirrorMaker's names for the topics."""
        given = (self.spec.get(SOURCE) or {}).get("config") or {}
        found = {str(key): _text(value) for key, value in given.items()}
        for key, name in (("topicsPattern", "topics"), ("topicsExcludePattern", "topics.exclude")):
            if key in self.spec:
                found[name] = str(self.spec[key])
        return found

    def config_map(self, verb: OffsetsKey) -> str:
        """Return the ConfigMap through which that connector's offsets are listed or altered; empty if there is none."""
        asked = (self.spec.get(SOURCE) or {}).get(verb) or {}
        key = "toConfigMap" if verb == "listOffsets" else "fromConfigMap"
        return str((asked.get(key) or {}).get("name", ""))

    @property
    def entry(self) -> str:
        """The entry of such a ConfigMap."""
        return f"{self.connector(SOURCE).replace('->', '--')}.json"


def mirror_of(resource: Mapping[str, Any], source: str) -> DeclaredMirror | None:
    """Return the mirror that reads a cluster; ``None`` if there is none.

    :param source: the alias of that cluster
    """
    spec = resource.get("spec") or {}
    own = (spec.get("target") or {}).get("alias") or spec.get("connectCluster") or ""
    for number, each in enumerate(spec.get("mirrors") or ()):
        found = each.get("sourceCluster") or (each.get("source") or {}).get("alias")
        if found == source:
            return DeclaredMirror(number, source, str(each.get("targetCluster") or own), each)
    return None


def worker_group(resource: Mapping[str, Any], mirror: DeclaredMirror) -> str:
    """Return the ``group.id`` of the Connect workers that the operator runs for a resource."""
    spec = resource.get("spec") or {}
    target = spec.get("target") or {}
    if target.get("groupId"):
        return str(target["groupId"])
    for each in spec.get("clusters") or ():
        if each.get("alias") == mirror.target:
            return str((each.get("config") or {}).get("group.id", _GROUP))
    return _GROUP


def is_reconciled(resource: Mapping[str, Any]) -> bool:
    """Return whether the operator has seen the newest version of what is declared."""
    seen = (resource.get("status") or {}).get("observedGeneration")
    return seen is not None and seen == (resource.get("metadata") or {}).get("generation")


def connector_status(resource: Mapping[str, Any], name: str) -> ConnectorStatus:
    """Return what the operator last saw of a connector; ``unknown`` before it has seen what is declared now."""
    if not is_reconciled(resource):
        return ConnectorStatus(name, "unknown", trace="the operator has not reconciled the newest version yet")
    for each in (resource.get("status") or {}).get("connectors") or ():
        if each.get("name") == name:
            found = each.get("connector") or {}
            tasks = tuple(
                TaskStatus(int(t["id"]), state_in(t), str(t.get("worker_id", "")), failure_in(t))
                for t in each.get("tasks") or ()
            )
            return ConnectorStatus(name, state_in(found), tasks, failure_in(found), len(tasks))
    return ConnectorStatus(name, "unknown", trace="the operator does not show it in the status")


def with_states(resource: Document, mirror: DeclaredMirror, states: Mapping[str, WantedState]) -> Document:
    """Return the resource with these states declared, by key of the connector."""
    changed = copy.deepcopy(resource)
    declared = changed["spec"]["mirrors"][mirror.number]
    for key, state in states.items():
        declared[key]["state"] = state
        # A former version's key, which would contradict it.
        declared[key].pop("pause", None)
    return changed


def asking_for_offsets(resource: Document, mirror: DeclaredMirror, verb: OffsetsVerb) -> Document:
    """Return the resource with the annotations that let the operator list or alter offsets."""
    changed = copy.deepcopy(resource)
    annotations = changed["metadata"].setdefault("annotations", {})
    annotations[OFFSETS], annotations[OFFSETS_OF] = verb, mirror.connector(SOURCE)
    return changed


def without_asking(resource: Document) -> Document:
    """Return the resource without these annotations."""
    changed = copy.deepcopy(resource)
    for key in (OFFSETS, OFFSETS_OF):
        (changed["metadata"].get("annotations") or {}).pop(key, None)
    return changed


def is_asking(resource: Mapping[str, Any]) -> bool:
    """Return whether the operator has not answered yet."""
    return OFFSETS in ((resource.get("metadata") or {}).get("annotations") or {})


def warnings(resource: Mapping[str, Any], reason: str) -> str:
    """Return what the operator says about offsets that it could not list or alter; empty if nothing."""
    found = (resource.get("status") or {}).get("conditions") or ()
    return "; ".join(str(each.get("message", "")) for each in found if each.get("reason") == reason)


def positions_in(config_map: Mapping[str, Any], mirror: DeclaredMirror) -> dict[TopicPartition, int]:
    """Return the offsets of a listed ConfigMap, next to read.

    :raises NeedsPerson: it holds something else
    """
    try:
        rows = json.loads((config_map.get("data") or {})[mirror.entry])["offsets"]
        return {
            TopicPartition(str(row["partition"]["topic"]), int(row["partition"]["partition"])): int(
                row["offset"]["offset"]
            )
            + 1
            for row in rows
            if row["offset"] is not None
        }
    except (KeyError, TypeError, ValueError) as error:
        raise NeedsPerson(
            f"the entry {mirror.entry} of the ConfigMap does not hold MirrorMaker's offsets ({cause(error)}): look at "
            "it"
        ) from error


def offsets_document(mirror: DeclaredMirror, positions: Iterable[tuple[TopicPartition, int]]) -> str:
    """Return positions, next to read, as the operator gives them to Connect; 0 removes one."""
    rows = [
        {
            "partition": {"cluster": mirror.source, "partition": p.partition, "topic": p.topic},
            "offset": {"offset": at - 1} if at > 0 else None,
        }
        for p, at in sorted(positions)
    ]
    return json.dumps({"offsets": rows})


def wanted_state(before: ConnectorState) -> WantedState:
    """Return what to declare, so that a connector does what it did; one that failed was declared to run."""
    if before == "paused":
        return "paused"
    return "stopped" if before == "stopped" else "running"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
