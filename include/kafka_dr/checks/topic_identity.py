"""Whether the topics of a flow are still the ones that it copies: a topic that was created again has another id.

A flow passes over such a change. On the standby it never copies again what was deleted there, and on the active cluster
its offsets belong to another log. Neither shows in lag or in canaries.

The seed of the flow knows the ids on its source. ``dr_health`` journals the id of each topic on both clusters when it
first sees that the flow has copied something of it, or was seeded for it. From then on each look compares. Before that
a topic may be deleted on the standby, as dr_flows asks for if something else has filled it: nothing is lost by that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kafka_dr.clusters.errors import NotFound
from kafka_dr.counted import counted
from kafka_dr.errors import TryAgain
from kafka_dr.named_rows import ID_OF_A_TOPIC, by_name, rows_of
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.register.flow_seed import FlowSeed, newest_seed
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few
from kafka_dr.runs.register_guard import RegisterGuard

NAME = "same_topics"
#: The ids are journaled under this name instead of a run's.
JOURNAL = "topic_ids"
_MOST_NAMED = 3
_SINCE = {"named": "topic", "holding": "since"}

#: Of each cluster, the topics by name.
Ids = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class TopicIds:
    """The topics of a flow as they were first seen since it began.

    :param epoch: of the flow's seed
    :param ids: by cluster and topic
    :param changed: when another id was first seen, ISO 8601, UTC; by cluster and topic
    """

    epoch: int
    ids: Ids = field(default_factory=dict)
    changed: Ids = field(default_factory=dict)

    @classmethod
    def of(cls, seed: FlowSeed, fact: Mapping[str, Any] | None) -> TopicIds:
        """Read what was journaled; what was journaled of an earlier flow does not count.

        :param fact: ``None`` if nothing was
        """
        known: dict[str, dict[str, str]] = {seed.source: dict(seed.topic_ids or {}), seed.target: {}}
        if fact is None or int(fact["epoch"]) != seed.epoch:
            return cls(seed.epoch, known)
        for row in fact["clusters"]:
            known.setdefault(row["cluster"], {}).update(by_name(row["topics"], **ID_OF_A_TOPIC))
        changed = {row["cluster"]: by_name(row["changed"], **_SINCE) for row in fact["clusters"] if row["changed"]}
        return cls(seed.epoch, known, changed)

    def fact(self) -> dict[str, Any]:
        """Return what is journaled."""
        rows = [
            {
                "cluster": cluster,
                "topics": rows_of(topics, **ID_OF_A_TOPIC),
                "changed": rows_of(self.changed.get(cluster, {}), **_SINCE),
            }
            for cluster, topics in sorted(self.ids.items())
        ]
        return {"epoch": self.epoch, "clusters": rows}

    def others(self, now: Ids) -> dict[str, list[str]]:
        """Return the topics that have another id now, by cluster."""
        found = {
            cluster: sorted(name for name, each in topics.items() if self.ids.get(cluster, {}).get(name, each) != each)
            for cluster, topics in now.items()
        }
        return {cluster: names for cluster, names in found.items() if names}

    def unknown(self, now: Ids) -> frozenset[str]:
        """Return the topics whose id on a cluster is not known."""
        return frozenset(name for cluster, topics in now.items() for name in topics.keys() - self.ids.get(cluster, {}))

    def learning(self, now: Ids, *, copied: Collection[str], at: datetime) -> TopicIds:
        """Return what is known after a look: new topics with their ids, and since when others have another one.

        :param copied: the topics of which the flow has copied something, or for which it was seeded
        """
        seen = at.isoformat(timespec="seconds")
        ids = {
            cluster: {name: each for name, each in topics.items() if name in copied} | dict(self.ids.get(cluster, {}))
            for cluster, topics in now.items()
        }
        changed = {
            cluster: {**dict.fromkeys(names, seen), **self.changed.get(cluster, {})}
            for cluster, names in self.others(now).items()
        }
        return replace(self, ids={**self.ids, **ids}, changed={**self.changed, **changed})


def same_topics(
    context: GroupContext, state: RegisterState, standby: str, *, keeps: str | None = None, ask: str = "both"
) -> Check:
    """Return whether the topics of the group's flow are the ones that it has copied.

    :param keeps: the cluster whose register is asked; the active one where ``None``
    :param ask: the one cluster whose topics are looked at; both of them otherwise
    """
    seed, known = _known(context, state, standby, keeps or state.active)
    if seed is None:
        return Check(NAME, "ok", f"no flow of {state.group} has begun")
    clusters = (seed.source, seed.target) if ask == "both" else (ask,)
    flow = context.flow_between(seed.source, seed.target)
    copied_by = context.clients.replicator(flow).described
    return judged(copied_by, known, seed, {name: _ids(context, flow, name) for name in clusters})


def judged(copied_by: str, known: TopicIds, seed: FlowSeed, now: Ids) -> Check:
    """Return what the ids of this moment mean. Pure.

    :param copied_by: what runs the flow, as sentences name it
    """
    others = known.others(now)
    if not others:
        count = sum(map(len, now.values()))
        many = counted(count, "topic is", "topics are")
        return Check(NAME, "ok", f"on {' and '.join(now)} {many} the same since the flow began")
    said = [*(_said(known, seed, name, topics) for name, topics in others.items()), _to_do(copied_by, seed.target)]
    return Check(NAME, "failed", "; ".join(said))


def _said(known: TopicIds, seed: FlowSeed, cluster: str, topics: list[str]) -> str:
    since = known.changed.get(cluster, {})
    named = ", ".join(
        first_few(
            [f"{name} (since {since[name][:16].replace('T', ' ')} UTC)" if name in since else name for name in topics],
            _MOST_NAMED,
        )
    )
    what = (
        f"it lacks what was copied before, and the flow from {seed.source} does not copy that again"
        if cluster == seed.target
        else f"what {seed.target} holds of it is the deleted topic's, perhaps its only copy, as are the flow's offsets"
    )
    return f"{named} on {cluster} is another topic than the one that was copied, because somebody deleted it: {what}"


def _to_do(copied_by: str, target: str) -> str:
    """Say how the topics are copied from their start: a flow that is left would continue after what it copied."""
    return (
        "find out who did that. To copy it from its start, release the group with dr_un_adopt (own_flow), delete "
        f"{copied_by} and the group's topics on {target}, and adopt it again with dr_adopt (create_canary_topic)"
    )


def learn_topics(context: GroupContext, state: RegisterState, standby: str, guard: RegisterGuard) -> None:
    """Journal the topics that are newly copied, and since when others have another id, on both clusters.

    :param guard: asked right before the registers are written
    :raises KafkaDrError: a cluster does not answer, or the active one's register takes no record
    """
    if standby not in state.steady_copies:
        return
    seed, known = _known(context, state, standby, state.active)
    if seed is None or (seed.source, seed.target) != (state.active, standby):
        return
    flow = context.flow_between(seed.source, seed.target)
    now = {name: _ids(context, flow, name) for name in (seed.source, seed.target)}
    copied = _copied(context, seed) if known.unknown(now) else frozenset[str]()
    learned = known.learning(now, copied=copied, at=context.clock.now())
    fact, name = learned.fact(), _journaled_as(context, state, standby)
    for cluster in (state.active, standby):
        register = context.clients.register(cluster)
        if register.facts(state.group, JOURNAL).get(name) != fact:
            if found := register.problem():
                # A record that it does not take would be waited for.
                raise TryAgain(found)
            guard.require()
            register.write_fact(state.group, JOURNAL, name, fact)


def _copied(context: GroupContext, seed: FlowSeed) -> frozenset[str]:
    """Return the topics of which the flow has copied something, or for which it was seeded."""
    flow = context.flow_between(seed.source, seed.target)
    try:
        positions = context.clients.replicator(flow).committed(remembered=True)
    except NotFound:
        positions = {}
    return frozenset(p.topic for p in (*seed.on_source, *positions))


def _ids(context: GroupContext, flow: Flow, cluster: str) -> Mapping[str, str]:
    """Return the ids of a flow's topics on one of its clusters, by the names that they have on the source."""
    return context.topic_ids(cluster) if cluster == flow.source else context.ids_of_copies(flow)


def _journaled_as(context: GroupContext, state: RegisterState, standby: str) -> str:
    """Return the name of the fact of a flow; of several that run at the same time each has its own."""
    return f"{JOURNAL}.{standby}" if state.has_several or context.declared.renames_copies else JOURNAL


def _known(context: GroupContext, state: RegisterState, standby: str, keeps: str) -> tuple[FlowSeed | None, TopicIds]:
    history = context.clients.register(keeps).history(state.group)
    seed = newest_seed(history, state, standby)
    if seed is None:
        return None, TopicIds(0)
    return seed, TopicIds.of(seed, history.get(JOURNAL, {}).get(_journaled_as(context, state, standby)))
