"""The groups of the source that a lag audit measures, of every kind: librdkafka lists those of consumers alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_dr.clusters import KafkaCluster
from kafka_dr.clusters.group_kinds import ListedGroup
from kafka_dr.errors import KafkaDrError
from kafka_dr.lag.assessment import GroupSeen
from kafka_dr.lag.report import UnjudgedGroup
from kafka_dr.readers.covered import CoveredReader, reader_of
from kafka_dr.topology.audited import AuditedFlow

#: A group whose state is not known is not called stopped.
_UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class SeenGroups:
    """What was found out.

    :param seen: the groups with committed offsets
    :param unjudged: the groups of another kind without any, or whose offsets could not be read
    :param refused: by consumer group, why its offsets could not be read
    """

    seen: tuple[GroupSeen, ...] = ()
    unjudged: tuple[UnjudgedGroup, ...] = ()
    refused: Mapping[str, KafkaDrError] = field(default_factory=dict)


def seen_groups(flow: AuditedFlow, source: KafkaCluster) -> SeenGroups:
    """Ask the source for the groups of a flow.

    :raises KafkaDrError: the list of groups could not be read
    """
    listed = [each for each in source.group_kinds.listed() if flow.covers_group(each.group)]
    names = [each.group for each in listed if each.kind != "share"]
    states, offsets = source.group_reading.states(names), source.group_reading.committed(names)
    seen: list[GroupSeen] = []
    unjudged: list[UnjudgedGroup] = []
    refused: dict[str, KafkaDrError] = {}
    for each in listed:
        answer = offsets.get(each.group, {})
        reader = reader_of(each, target=flow.target.name)
        if isinstance(answer, KafkaDrError):
            if reader is None:
                refused[each.group] = answer
            else:
                unjudged.append(_unjudged(reader, each, f"its offsets could not be read: {answer}"))
        elif reader is not None and not any(flow.covers_topic(p.topic) for p in answer):
            unjudged.append(_unjudged(reader, each, each.said))
        else:
            state = states[each.group]
            doing = _UNKNOWN if isinstance(state, KafkaDrError) else state.state
            positions = {(p.topic, p.partition): offset for p, offset in answer.items()}
            seen.append(GroupSeen(each.group, doing, positions, *([reader.called] if reader else [])))
    return SeenGroups(tuple(seen), tuple(unjudged), refused)


def _unjudged(reader: CoveredReader, listed: ListedGroup, said: str) -> UnjudgedGroup:
    no_reader = reader.best != "unknown" and said == listed.said
    return UnjudgedGroup(reader.group, reader.called, said, reader.todo, no_reader)
