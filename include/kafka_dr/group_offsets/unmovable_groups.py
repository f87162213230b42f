"""Readers that an offset alone does not move: named with what to do, and refused until the topology says who does it.

What is recognised: share groups and Kafka Streams applications by the kind of their group, members or topics; sinks of
Connect by their members or names. A client that keeps its offsets outside Kafka shows itself to no broker: only the
topology can name it. A hint at it is a group that has offsets and was never joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.clusters.group_kinds import ListedGroup
from kafka_dr.group_offsets.streams_applications import JudgedApplication, judge, states_of
from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.readers.instructions import SINK_MOVE, SINK_OWN_OFFSETS, restart_share_group
from kafka_dr.readers.recognition import found_on, sink_of
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few
from kafka_dr.runs.run import Run

NAME = "only_offsets_to_move"
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """A share group: brokers keep a state for each record, which no committed offset contains.

    :param refused: a failover stops for it; otherwise the topology says that its owners take care of it
    """

    group: str
    said: str
    refused: bool
    target: str

    @property
    def todo(self) -> str:
        """What its owners have to do."""
        accept = "name it in groups_policy.not_moved once its owners are ready for this: " if self.refused else ""
        return f"{accept}{restart_share_group(self.target)}"

    @property
    def sentence(self) -> str:
        """What it is, and what to do."""
        said = "" if self.said == "share" else f" ({self.said})"
        what = f"{self.group} is a share group{said}, and brokers keep its state for each record"
        return f"{what}: {self.todo}"

    def to_json(self) -> dict[str, Any]:
        """Return it as a row of a report."""
        return {
            "group": self.group,
            "kind": "share",
            "state": "refused" if self.refused else "not_moved",
            "to_do": self.todo,
        }


@dataclass(frozen=True, slots=True)
class SpecialReaders:
    """The readers of a protection group on its active cluster that need more than a moved offset.

    :param share: its share groups
    :param streams: its Kafka Streams applications
    :param sinks: the name of the connector, by consumer group of a Connect sink
    :param never_joined: groups with offsets that no member has ever joined
    :param outside: consumers that keep their offsets outside Kafka, as the topology names them
    """

    share: tuple[ShareGroup, ...] = ()
    streams: tuple[JudgedApplication, ...] = ()
    sinks: Mapping[str, str] | None = None
    never_joined: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[str, ...]:
        """Return a sentence for each reader that a failover stops for."""
        return tuple(self._sentences(refused=True))

    @property
    def accepted(self) -> tuple[str, ...]:
        """Return a sentence for each reader whose owners have something to do after a failover."""
        return tuple(self._sentences(refused=False))

    def _sentences(self, *, refused: bool) -> Iterable[str]:
        yield from (each.sentence for each in self.share if each.refused is refused)
        yield from (each.sentence for each in self.streams if (each.state == "refused") is refused)
        if not refused:
            yield from (_outside_sentence(name) for name in self.outside)

    @property
    def sink_rows(self) -> list[dict[str, str]]:
        """Return a row for each sink of Connect."""
        return [
            {"group": group, "connector": connector, "to_do": _SINK_TODO}
            for group, connector in sorted((self.sinks or {}).items())
        ]

    @property
    def hint_rows(self) -> list[dict[str, str]]:
        """Return a row for each group that nobody has ever joined."""
        return [{"group": group, "hint": _NEVER_JOINED} for group in self.never_joined]


_SINK_TODO = f"its offsets are moved; {SINK_MOVE}. {SINK_OWN_OFFSETS}, name it in groups_policy.external_offsets, too"
_NEVER_JOINED = (
    "no consumer has ever joined it on this cluster: its offsets were set by a tool or a failover, or are committed by "
    "a client that assigns partitions to itself, as Flink does. If such a client resumes from offsets of its own, name "
    "it in groups_policy.external_offsets"
)


def _outside_sentence(name: str) -> str:
    return (
        f"{name} keeps its offsets outside Kafka, as the topology says: stop it before the failover, and map its "
        "offsets with the newest offset map of DR 7: offsets before it starts again"
    )


def look(context: GroupContext, cluster: str, target: str) -> SpecialReaders:
    """Ask a cluster for the protection group's readers that need more than a moved offset.

    :param target: the cluster that they would go to
    """
    source, group = context.operator(cluster), context.group
    # The audit may see groups that the operator may not see, which must not be left behind in silence.
    views = (source, context.clients.cluster(cluster, "audit"))
    listed = {g.group: g for view in views for g in view.group_kinds.listed() if group.owns_group(g.group)}
    consumers = sorted(name for name, each in listed.items() if each.kind == "consumer")
    states = states_of(source, consumers)
    streams = tuple(judge(each, context, target=target) for each in found_on(source, listed, states))
    apart = {each.application.group for each in streams}
    accepted = set(group.groups_policy.not_moved)
    share = (each for each in listed.values() if each.kind == "share")
    return SpecialReaders(
        tuple(ShareGroup(g.group, g.said, g.group not in accepted, target) for g in sorted(share, key=_by_name)),
        streams,
        {g: found for g in consumers if g not in apart and (found := sink_of(g, states.get(g)))},
        tuple(name for name in consumers if name not in apart and not listed[name].joined),
        tuple(sorted(group.groups_policy.external_offsets)),
    )


def _by_name(group: ListedGroup) -> str:
    return group.group


def only_offsets_to_move(run: Run) -> Check:
    """Answer for a preflight: does every group consist of offsets alone, and who has something to do afterwards?"""
    return judged(look(run, run.source, run.target))


def judged(found: SpecialReaders) -> Check:
    """Return what is refused, or else what the owners of readers have to do, which an approver should know. Pure."""
    said = found.refused or found.accepted
    outcome: CheckOutcome = "failed" if found.refused else "excused" if found.accepted else "ok"
    facts = {
        "share_groups": [each.to_json() for each in found.share],
        "streams_applications": [each.to_json() for each in found.streams],
        "connect_sinks": found.sink_rows,
        "offsets_outside_kafka": list(found.outside),
        "never_joined": list(found.never_joined),
    }
    sinks = f"; {len(found.sinks)} of them are sinks of Connect" if found.sinks else ""
    detail = ". ".join(first_few(said, _MOST_NAMED)) or f"no group is more than its offsets{sinks}"
    return Check(NAME, outcome, detail, facts)
