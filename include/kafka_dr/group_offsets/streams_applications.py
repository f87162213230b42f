"""Kafka Streams applications: their state and their offsets belong together, so both are moved or none is.

The state is rebuilt from changelog topics. A standby can do so if these topics are copied like every other topic of the
group, and the offsets are those of the same moment: a planned failover freezes the application first, and compares all
of its topics to the end. Files of the state on the instances name offsets of the old cluster's changelogs, so they have
to be deleted before the application starts on the other cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from kafka_dr.clusters import KafkaCluster, NotAuthorized
from kafka_dr.clusters.model import GroupState
from kafka_dr.counted import counted
from kafka_dr.readers.instructions import reset_application
from kafka_dr.readers.recognition import StreamsApplication
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few

#: ``moved``: with its state, as the topology says. ``refused``: a failover stops for it. ``not_moved``: its owners
#: take care of it.
StreamsState = Literal["moved", "refused", "not_moved"]
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class JudgedApplication:
    """A Kafka Streams application, and what becomes of it in a failover.

    :param not_copied: its internal topics that do not move with the group
    :param todo: what its owners have to do, in a sentence or more
    """

    application: StreamsApplication
    state: StreamsState
    not_copied: tuple[str, ...]
    todo: str

    @property
    def sentence(self) -> str:
        """What it is, what it has, and what to do."""
        found = self.application
        what = f"{found.group} is a Kafka Streams application ({found.said}), {_has(found, self.not_copied)}"
        return f"{what}: {self.todo}"

    def to_json(self) -> dict[str, Any]:
        """Return it as a row of a report."""
        return {
            "group": self.application.group,
            "state": self.state,
            "shown_by": self.application.said,
            "internal_topics": ", ".join(self.application.internal),
            "internal_topics_not_copied": ", ".join(self.not_copied),
            "to_do": self.todo,
        }


def judge(application: StreamsApplication, context: GroupContext, *, target: str) -> JudgedApplication:
    """Say what becomes of a Kafka Streams application in a failover to a cluster, and what to do. Pure."""
    group, name = context.group, application.group
    missing = application.not_copied(group.owns_topic)
    if name in group.groups_policy.not_moved:
        todo = f"its offsets are not moved. {reset_application(target)}"
        return JudgedApplication(application, "not_moved", missing, todo)
    if missing:
        named = ", ".join(first_few(missing, _MOST_NAMED))
        todo = (
            f"add its internal topics ({named}) to {group.name}, by the prefix {name}-, so that they are copied; or "
            f"name it in groups_policy.not_moved, and reset it on {target} after the failover"
        )
        return JudgedApplication(application, "refused", missing, todo)
    if name in group.groups_policy.streams_moved:
        return JudgedApplication(application, "moved", missing, _restored(target))
    todo = (
        "name it in groups_policy.streams_moved, and a failover moves its offsets, too; delete its state.dir on every "
        f"instance before it starts on {target}. Or name it in groups_policy.not_moved, and reset it there"
    )
    return JudgedApplication(application, "refused", missing, todo)


def _has(found: StreamsApplication, missing: tuple[str, ...]) -> str:
    if not found.internal:
        return "and no internal topic of it was seen"
    if missing:
        many = counted(len(found.internal), "internal topic")
        return f"and {len(missing)} of its {many} are not copied with the group"
    return f"and its {counted(len(found.internal), 'internal topic is', 'internal topics are')} copied with the group"


def _restored(target: str) -> str:
    return (
        f"its offsets are moved; delete its state.dir on every instance before it starts on {target}, so that its "
        "state is restored from the copied changelogs. After an unplanned failover state and offsets are of different "
        "moments: where its results have to be exact, reset it instead"
    )


def states_of(cluster: KafkaCluster, groups: list[str]) -> dict[str, GroupState]:
    """Return what groups do at the moment; without those that the broker does not show: another check names these."""
    if not groups:
        return {}
    try:
        return cluster.groups.states(groups)
    except NotAuthorized:
        if len(groups) == 1:
            return {groups[0]: GroupState(groups[0], "UNKNOWN", (), frozenset())}
    half = len(groups) // 2
    return states_of(cluster, groups[:half]) | states_of(cluster, groups[half:])
