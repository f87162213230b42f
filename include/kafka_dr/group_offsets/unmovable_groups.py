"""Groups that an offset alone does not move: named, and refused unless the topology says who takes care of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafka_dr.clusters import KafkaCluster, NotAuthorized
from kafka_dr.clusters.group_kinds import streams_applications
from kafka_dr.outcomes import Check
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.run import Run

_WHY = {
    "share": "a share group: brokers keep a state for each record, which no offset contains; it starts again by its "
    "share.auto.offset.reset",
    "streams": "a Kafka Streams application: its state and its position belong together, and a moved offset alone "
    "would count records twice or never; let it rebuild its state on the target",
}


@dataclass(frozen=True, slots=True)
class OtherGroup:
    """A group that offsets alone do not move.

    :param refused: a failover stops for it; otherwise the topology says that its owners take care of it
    """

    group: str
    kind: str
    said: str
    refused: bool

    @property
    def sentence(self) -> str:
        """What it is, and what to do."""
        todo = "; name it in groups_policy.left_behind once its owners take care of it" if self.refused else ""
        return f"{self.group} is {_WHY[self.kind]} ({self.said}){todo}"

    def to_json(self) -> dict[str, Any]:
        """Return it as a row of a report."""
        return {
            "group": self.group,
            "kind": self.kind,
            "state": "refused" if self.refused else "left_behind",
            "reason": f"{_WHY[self.kind]} ({self.said})",
        }


def not_moved(context: GroupContext, cluster: str) -> tuple[OtherGroup, ...]:
    """Return the protection group's share groups and Kafka Streams applications on a cluster."""
    source = context.operator(cluster)
    # The audit may see groups that the operator may not see, which must not be left behind in silence.
    views = (source, context.clients.cluster(cluster, "audit"))
    listed = {g.group: g for view in views for g in view.group_kinds.listed() if context.group.owns_group(g.group)}
    consumers = [name for name, group in listed.items() if group.kind == "consumer"]
    classic = streams_applications(_assignors(source, consumers), source.topics.names())
    accepted = set(context.group.groups_policy.left_behind)
    found = {name: (group.kind, group.said) for name, group in listed.items() if group.kind in _WHY}
    found |= {group: ("streams", said) for group, said in classic.items()}
    return tuple(OtherGroup(group, *what, group not in accepted) for group, what in sorted(found.items()))


def _assignors(cluster: KafkaCluster, groups: Sequence[str]) -> dict[str, str]:
    """Return the groups' assignors, empty where the broker does not say: another check names such groups."""
    try:
        return {group: state.assignor for group, state in cluster.groups.states(groups).items()}
    except NotAuthorized:
        if len(groups) == 1:
            return {groups[0]: ""}
    half = len(groups) // 2
    return _assignors(cluster, groups[:half]) | _assignors(cluster, groups[half:])


def only_offsets_to_move(run: Run) -> Check:
    """Answer for a preflight: does every group consist of offsets alone?"""
    refused = [each.sentence for each in not_moved(run, run.source) if each.refused]
    return Check.that("only_offsets_to_move", not refused, "; ".join(refused) or "no group is more than its offsets")
