"""Groups of Kafka Streams' own protocol (KIP-1071): brokers know which topics an application reads and makes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from kafka.protocol.api_message import ApiMessage

from kafka_dr.clusters.group_coordinators import GroupCoordinators
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError

_MESSAGES = "kafka_dr.clusters.messages"


class StreamsGroupDescribeRequest(ApiMessage, load_json=_MESSAGES):  # type: ignore[misc, call-arg]  # it has no types
    """Request the topologies of streams groups."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=_MESSAGES):  # type: ignore[misc, call-arg]
    """The answer to it."""


@dataclass(frozen=True, slots=True)
class StreamsTopology:
    """The topics of a Kafka Streams application, each in the order of its name.

    :param inputs: that others write, and it reads
    :param internal: that it makes for itself: changelogs of its state, and repartitioned records
    """

    inputs: tuple[str, ...] = ()
    internal: tuple[str, ...] = ()


class StreamsGroups:
    """Asks for the topologies of streams groups.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session
        self._coordinators = GroupCoordinators(session)

    def topologies(self, groups: Iterable[str]) -> dict[str, StreamsTopology | KafkaDrError]:
        """Return the topics of each streams group, or the error of a group that could not be described."""
        return self._coordinators.ask(
            groups, self._described, is_final=lambda _: True, seconds=self._session.request_seconds
        )

    def _described(self, coordinator: int, names: Collection[str]) -> dict[str, StreamsTopology | KafkaDrError]:
        request = StreamsGroupDescribeRequest(group_ids=list(names), include_authorized_operations=False)
        answer = self._session.request(request, "describe streams groups", broker=coordinator)
        return {row.group_id: self._error(row) or topology_of(row.topology) for row in answer.groups}

    def _error(self, row: Any) -> KafkaDrError | None:
        return self._session.error(row.error_code, row.error_message, f"describe streams group {row.group_id}")


def topology_of(topology: Any) -> StreamsTopology:
    """Return the topics of a topology as the broker describes it; none while the application has not joined."""
    parts = (topology.subtopologies or ()) if topology is not None else ()
    made = {info.name for part in parts for info in (*part.state_changelog_topics, *part.repartition_source_topics)}
    made |= {name for part in parts for name in part.repartition_sink_topics}
    read = {name for part in parts for name in part.source_topics}
    return StreamsTopology(tuple(sorted(read - made)), tuple(sorted(made)))
