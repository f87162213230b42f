"""Which topics that patterns match a flow may copy: those that are fenced on its target.

Replication creates a topic on the target that is not there yet. Before it is fenced, applications could write to the
copy. So a new topic is fenced first, by health, and then copied.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_dr.clusters import Acl, ResourceType
from kafka_dr.fencing import plan
from kafka_dr.replication import Flow
from kafka_dr.replication.settings import as_pattern
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.topology import ProtectionGroup


def group_to_copy(context: GroupContext, flow: Flow, config: Mapping[str, str] | None = None) -> ProtectionGroup:
    """Return the group with the topics that a flow copies.

    :param config: of the connector as it is; a topic that it copies already stays, whatever is missing of the fence
    """
    group = context.group
    if not group.topic_patterns:
        return group
    present = context.rules_in_force(flow.target)
    return fenced(group, present, copied=(config or {}).get("topics", "").split(","))


def fenced(group: ProtectionGroup, present: Collection[Acl], *, copied: Collection[str]) -> ProtectionGroup:
    """Return a group without those topics of its patterns that are not fenced. Pure.

    :param present: the access rules of the cluster that is written to
    :param copied: the regular expressions of the topics that are copied already
    """
    of_topic: dict[str, set[Acl]] = {}
    for acl in plan.standby(group):
        if acl.resource is ResourceType.TOPIC:
            of_topic.setdefault(acl.name, set()).add(acl)
    held = frozenset(present)
    return group.with_matched(
        name for name in group.matched_topics if of_topic[name] <= held or as_pattern(name) in copied
    )
