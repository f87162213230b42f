"""What many groups read, in one request to each coordinator."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_dr.clusters.group_coordinators import GroupCoordinators
from kafka_dr.clusters.group_states import GroupStates
from kafka_dr.clusters.model import GroupState
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError
from kafka_dr.positions import TopicPartition

_CONSUMER = "consumer"
#: States in which the assignment is complete.
_SETTLED = ("STABLE", "EMPTY", "DEAD")

_MESSAGES = "kafka_dr.clusters.messages"


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=_MESSAGES):  # type: ignore[misc, call-arg]  # it has no types
    """Request the partitions that share groups keep state of (KIP-932)."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=_MESSAGES):  # type: ignore[misc, call-arg]
    """The answer to it."""


@dataclass(frozen=True, slots=True)
class LiveReading:
    """What the live members of a group read.

    :param members: how many there are
    :param topics: what they are assigned, or have subscribed to
    :param complete: whether the topics of all members are known; during a rebalance they are not
    """

    members: int
    topics: frozenset[str]
    complete: bool = True


class GroupReading:
    """Reads what groups have committed, and which topics their members read.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session
        self._coordinators = GroupCoordinators(session)

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int] | KafkaDrError]:
        """Return the committed offsets of each group, or the error of a group that could not be read.

        Brokers silently omit the topics that the principal may not DESCRIBE.
        """
        return self._coordinators.committed(groups, require_stable=False)

    def states(self, groups: Iterable[str]) -> dict[str, GroupState | KafkaDrError]:
        """Return what each group does, or the error of a group that could not be described."""
        return GroupStates(self._session).each(groups)

    def live(self, groups: Iterable[str], *, seconds: float = 10.0) -> dict[str, LiveReading | KafkaDrError]:
        """Return what the live members of each group read, or the error of a group that could not be read.

        Members of the classic protocol show their subscription. Groups of the newer protocol (KIP-848) show only their
        assignment.

        :param seconds: how long to wait for a group that rebalances
        """
        found = self._coordinators.ask(
            groups, self._described, is_final=lambda answer: answer is None or answer.complete, seconds=seconds
        )
        newer = self._newer(sorted(group for group, answer in found.items() if answer is None))
        return {group: newer[group] if answer is None else answer for group, answer in found.items()}

    def shared(self, groups: Iterable[str]) -> dict[str, frozenset[str] | KafkaDrError]:
        """Return the topics that each share group reads, or the error of a group that could not be read."""
        return {
            group: found if isinstance(found, KafkaDrError) else frozenset(p.topic for p in found)
            for group, found in self.share_starts(groups).items()
        }

    def share_starts(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int | None] | KafkaDrError]:
        """Return where the state of each share group begins, or the error of a group that could not be read.

        Every record before that offset is done with; some of the records after it may be, too. The offset is ``None``
        in a partition that the group has not begun to read, or of which the broker does not say it.
        """
        part = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup

        def read(
            coordinator: int, names: Collection[str]
        ) -> dict[str, dict[TopicPartition, int | None] | KafkaDrError]:
            request = DescribeShareGroupOffsetsRequest(groups=[part(group_id=name, topics=None) for name in names])
            answer = self._session.request(request, "read the start of share groups", broker=coordinator)
            return {row.group_id: self._error(row, "read the start of") or _starts(row) for row in answer.groups}

        return self._coordinators.ask(groups, read, is_final=lambda _: True, seconds=self._session.request_seconds)

    def _described(self, coordinator: int, names: Collection[str]) -> dict[str, LiveReading | KafkaDrError | None]:
        """Describe groups; ``None`` for a group of the newer protocol, or one that does not exist."""
        request = DescribeGroupsRequest(groups=list(names), include_authorized_operations=False)
        answer = self._session.request(request, "describe groups", broker=coordinator)
        found: dict[str, LiveReading | KafkaDrError | None] = {}
        for row in answer.groups:
            not_found = row.error_code == KafkaError.GROUP_ID_NOT_FOUND or row.group_state == "Dead"
            error = self._error(row, "describe")
            found[row.group_id] = error if error and not not_found else None if not_found else _reading(row)
        return found

    def _newer(self, groups: Collection[str]) -> dict[str, LiveReading | KafkaDrError]:
        return {
            group: found
            if isinstance(found, KafkaDrError)
            else LiveReading(len(found.members), found.assigned, found.state in _SETTLED or bool(found.assigned))
            for group, found in GroupStates(self._session).each(groups).items()
        }

    def _error(self, row: Any, doing: str) -> KafkaDrError | None:
        return self._session.error(row.error_code, None, f"{doing} group {row.group_id}")


def _starts(row: Any) -> dict[TopicPartition, int | None]:
    return {
        TopicPartition(topic.topic_name, each.partition_index): _start(each)
        for topic in row.topics
        for each in topic.partitions
    }


def _start(partition: Any) -> int | None:
    known = not partition.error_code and partition.start_offset >= 0
    return int(partition.start_offset) if known else None


def _reading(row: Any) -> LiveReading:
    """Read a group of the classic protocol; only a stable group shows what its members read."""
    if row.protocol_type not in ("", _CONSUMER):
        return LiveReading(len(row.members), frozenset())
    topics: set[str] = set()
    complete = True
    for member in row.members:
        try:
            topics |= _subscribed(member.member_metadata) | _assigned(member.member_assignment)
        except (struct.error, ValueError, IndexError, TypeError):
            complete = False
        complete = complete and bool(member.member_metadata)
    return LiveReading(len(row.members), frozenset(topics), complete)


def _subscribed(metadata: bytes | None) -> set[str]:
    return set(ConsumerProtocolSubscription.decode(metadata).topics) if metadata else set()


def _assigned(assignment: bytes | None) -> set[str]:
    if not assignment:
        return set()
    return {part.topic for part in ConsumerProtocolAssignment.decode(assignment).assigned_partitions}
