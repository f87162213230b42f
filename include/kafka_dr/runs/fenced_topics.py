"""Which topics that patterns match a flow may copy: those that are fenced on its target, and that nothing else copied.

Replication creates a topic on the target that is not there yet. Before it is fenced, applications could write to the
copy. So a new topic is fenced first, by health, and then copied.

A flow copies a new topic from its start. If a group was taken over, the replication that was replaced is denied on each
topic by name, and its process may still run. It may see a new topic first, and copy from it until health has fenced it.
So of such a group a new topic also has to be closed to that replication, and to hold nothing on the target.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kafka_dr.clusters import Acl, ResourceType
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import lacking
from kafka_dr.register import RegisterState
from kafka_dr.register.flow_seed import newest_seed
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.topology.model import ProtectionGroup


@dataclass(frozen=True, slots=True)
class TopicsToCopy:
    """The topics that patterns match, by what a flow may do with them.

    :param group: the group with those that are copied
    :param unfenced: not copied before they are fenced on the target
    :param filled: not copied, because they hold records on the target that this flow has not copied
    """

    group: ProtectionGroup
    unfenced: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()


def topics_to_copy(
    context: GroupContext, flow: Flow, state: RegisterState, already: Collection[str] = ()
) -> TopicsToCopy:
    """Return which topics a flow copies, and which not.

    :param state: the record of the group
    :param already: which of them it copies now; they stay, whatever is missing of the fence
    """
    group = context.group
    if not group.topic_patterns:
        return TopicsToCopy(group)
    replaced = context.replaced(state, flow.target) is not None
    fence = plan.apart(group, flow.target) if group.renames_copies else plan.standby(group.on(flow.target))
    wanted = fence | context.kept_out(state, flow.target)
    copied = frozenset(already)
    closed = fenced(group, wanted, context.rules_in_force(flow.target), cluster=flow.target)
    fresh = _fresh(context, flow, state, closed - copied) if replaced else frozenset[str]()
    filled = _filled(context, flow, fresh)
    if not _is_proven(context, flow, fresh - filled):
        closed -= fresh - filled
    chosen = copied | (closed - filled)
    unfenced = frozenset(group.matched_topics) - chosen - filled
    return TopicsToCopy(group.with_matched(chosen), tuple(sorted(unfenced)), tuple(sorted(filled)))


def fenced(
    group: ProtectionGroup, wanted: Collection[Acl], present: Collection[Acl], *, cluster: str = ""
) -> frozenset[str]:
    """Return the topics of a group's patterns that are fenced. Pure.

    :param cluster: which is written to; where copies have names of their own, those are fenced there

    :param wanted: the DENYs that the cluster which is written to needs, of all topics
    :param present: the access rules of that cluster
    """
    open_ones = {acl.name for acl in lacking(wanted, present) if acl.resource is ResourceType.TOPIC}
    originals = {group.original_of(name, cluster) for name in open_ones}
    return frozenset(group.matched_topics) - open_ones - originals


def _fresh(context: GroupContext, flow: Flow, state: RegisterState, names: frozenset[str]) -> frozenset[str]:
    """Return the topics that the flow would copy from their start, without knowing what the target holds of them.

    :param names: topics that it does not copy now
    """
    seed = (
        newest_seed(context.clients.register(state.active).history(flow.group), state, flow.target) if names else None
    )
    if seed is None or (seed.source, seed.target) != (flow.source, flow.target):
        # No flow is started without a seed of its direction.
        return names
    fresh = names - {p.topic for p in seed.on_source}
    replicator = context.clients.replicator(flow)
    if not fresh or replicator.status().state == "absent":
        return fresh
    # The positions of a flow that somebody removes are kept: what they cover, the flow has copied itself.
    where = replicator.where()
    return fresh - {p.topic for p in where.next_to_read} if where.seed_epoch == seed.epoch else fresh


def _filled(context: GroupContext, flow: Flow, names: frozenset[str]) -> frozenset[str]:
    """Return the topics of which a partition has ever held something, also what is in an open transaction."""
    topics = context.copies_by(flow).topics
    found = topics.describe(names & topics.names()) if names else {}
    ends = topics.high_watermarks(p for topic in found.values() for p in topic.partitions) if found else {}
    return frozenset(p.topic for p, end in ends.items() if end > 0)


def _is_proven(context: GroupContext, flow: Flow, names: frozenset[str]) -> bool:
    """Return whether the leaders of topics apply the fence: a broker may learn of DENYs later than the one asked."""
    if not names or not names & context.copies_by(flow).topics.names():
        return True
    return context.writes_refused(flow.target, led=context.led_with_copies(flow.target)).passes
