"""What many groups read, in one request to each coordinator; librdkafka sends one request for each group."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import KafkaError
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka.protocol.metadata import FindCoordinatorRequest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters.groups import Groups
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.parallel import ask_each
from kafka_dr.positions import TopicPartition
from kafka_dr.waiting import wait_until

#: Groups in one request, and requests at the same time. An answer holds every committed offset of each group.
_GROUPS_AT_ONCE = 200
_REQUESTS_AT_ONCE = 8
_GROUP = 0  # the protocol's number for a group among the keys of coordinators
_CONSUMER = "consumer"
#: States in which the assignment is complete.
_SETTLED = ("STABLE", "EMPTY", "DEAD")

A = TypeVar("A")
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

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int] | KafkaDrError]:
        """Return the committed offsets of each group, or the error of a group that could not be read.

        Brokers silently omit the topics that the principal may not DESCRIBE.
        """
        request = OffsetFetchRequest.OffsetFetchRequestGroup

        def read(coordinator: int, names: Collection[str]) -> dict[str, dict[TopicPartition, int] | KafkaDrError]:
            wanted = OffsetFetchRequest(
                groups=[request(group_id=name, topics=None) for name in names],
                require_stable=False,
                min_version=8,
                max_version=8,
            )
            answer = self._session.request(wanted, "read the offsets of groups", broker=coordinator)
            return {row.group_id: self._refused(row) or _offsets(row) for row in answer.groups}

        return self._each(groups, read, is_final=lambda _: True, seconds=self._session.request_seconds)

    def live(self, groups: Iterable[str], *, seconds: float = 10.0) -> dict[str, LiveReading | KafkaDrError]:
        """Return what the live members of each group read, or the error of a group that could not be read.

        Members of the classic protocol show their subscription. Groups of the newer protocol (KIP-848) show only their
        assignment, in one request for each such group.

        :param seconds: how long to wait for a group that rebalances
        """
        found = self._each(
            groups, self._described, is_final=lambda answer: answer is None or answer.complete, seconds=seconds
        )
        newer = self._newer(sorted(group for group, answer in found.items() if answer is None))
        return {group: newer[group] if answer is None else answer for group, answer in found.items()}

    def shared(self, groups: Iterable[str]) -> dict[str, frozenset[str] | KafkaDrError]:
        """Return the topics that each share group reads, or the error of a group that could not be read."""
        part = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup

        def read(coordinator: int, names: Collection[str]) -> dict[str, frozenset[str] | KafkaDrError]:
            request = DescribeShareGroupOffsetsRequest(groups=[part(group_id=name, topics=None) for name in names])
            answer = self._session.request(request, "read the topics of share groups", broker=coordinator)
            return {
                row.group_id: self._error(row, "read the topics of") or frozenset(t.topic_name for t in row.topics)
                for row in answer.groups
            }

        return self._each(groups, read, is_final=lambda _: True, seconds=self._session.request_seconds)

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
        states = Groups(self._session)

        def read(group: str) -> LiveReading:
            found = states.states([group])[group]
            complete = found.state in _SETTLED or bool(found.assigned)
            return LiveReading(len(found.members), found.assigned, complete)

        return ask_each(read, groups, at_most=_REQUESTS_AT_ONCE)

    def _each(
        self,
        groups: Iterable[str],
        read: Callable[[int, Collection[str]], Mapping[str, A | KafkaDrError]],
        *,
        is_final: Callable[[A], bool],
        seconds: float,
    ) -> dict[str, A | KafkaDrError]:
        """Ask the coordinators; until the deadline, ask again for groups that move or rebalance."""
        wanted = sorted(set(groups))
        found: dict[str, A | KafkaDrError] = {}

        def is_open(group: str) -> bool:
            answer = found.get(group)
            if answer is None or isinstance(answer, KafkaDrError):
                return answer is None or isinstance(answer, TryAgain)
            return not is_final(answer)

        def still_open() -> list[str]:
            if open_groups := [group for group in wanted if group not in found or is_open(group)]:
                found.update(self._once(open_groups, read))
            return [group for group in open_groups if is_open(group)]

        wait_until(still_open, lambda left: not left, clock=SystemClock(), seconds=seconds)
        return found

    def _once(
        self, groups: Collection[str], read: Callable[[int, Collection[str]], Mapping[str, A | KafkaDrError]]
    ) -> dict[str, A | KafkaDrError]:
        found, by_coordinator = self._coordinators(groups)
        answers: dict[str, A | KafkaDrError] = dict(found)
        portions = [
            (coordinator, names[start : start + _GROUPS_AT_ONCE])
            for coordinator, names in by_coordinator.items()
            for start in range(0, len(names), _GROUPS_AT_ONCE)
        ]

        # If a coordinator fails, the groups of the others still get their answers.
        asked = ask_each(lambda number: read(*portions[number]), range(len(portions)), at_most=_REQUESTS_AT_ONCE)
        for number, given in asked.items():
            answers |= dict.fromkeys(portions[number][1], given) if isinstance(given, KafkaDrError) else given
        missing = TryAgain(f"{self._session.label}: the answer of the group's coordinator does not contain the group")
        return {group: answers.get(group, missing) for group in groups}

    def _coordinators(self, groups: Collection[str]) -> tuple[dict[str, KafkaDrError], dict[int, list[str]]]:
        """Return the groups by coordinator, and the errors of groups without one."""
        request = FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=list(groups), min_version=4)
        refused: dict[str, KafkaDrError] = {}
        found: dict[int, list[str]] = {}
        try:
            rows = self._session.request(request, "find the coordinators of groups").coordinators
        except KafkaDrError as silent:
            return dict.fromkeys(groups, silent), {}
        for row in rows:
            doing = f"find the coordinator of group {row.key}"
            if (error := self._session.error(row.error_code, row.error_message, doing)) is not None:
                refused[row.key] = error
            else:
                found.setdefault(row.node_id, []).append(row.key)
        return refused, found

    def _refused(self, row: Any) -> KafkaDrError | None:
        """Return why a group's committed offsets, or some of them, were not read."""
        codes = (row.error_code, *(each.error_code for topic in row.topics for each in topic.partitions))
        doing = f"read the offsets of group {row.group_id}"
        return next((error for code in codes if (error := self._session.error(code, None, doing))), None)

    def _error(self, row: Any, doing: str) -> KafkaDrError | None:
        return self._session.error(row.error_code, None, f"{doing} group {row.group_id}")


def _offsets(row: Any) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, partition.partition_index): partition.committed_offset
        for topic in row.topics
        for partition in topic.partitions
        if partition.committed_offset >= 0
    }


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
