"""What groups read, asked for many groups in one request of each coordinator: librdkafka asks for each by itself."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import KafkaError
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka.protocol.metadata import FindCoordinatorRequest

from kafka_dr.clusters.cluster import KafkaCluster
from kafka_dr.clusters.groups import Groups
from kafka_dr.clusters.python_requests import ask, error_of
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.positions import TopicPartition

#: Groups in one request, and requests at the same time: an answer holds every position of each group.
_GROUPS_AT_ONCE = 200
_REQUESTS_AT_ONCE = 8
_PAUSE_SECONDS = 0.1
_GROUP = 0  # the protocol's number for a group among the keys of coordinators
_CONSUMER = "consumer"
#: States in which nothing more is going to be assigned.
_SETTLED = ("STABLE", "EMPTY", "DEAD")

A = TypeVar("A")
_MESSAGES = "kafka_dr.clusters.messages"


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=_MESSAGES):  # type: ignore[misc, call-arg]  # it has no types
    """Asks what share groups keep the state of (KIP-932)."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=_MESSAGES):  # type: ignore[misc, call-arg]
    """Says it."""


@dataclass(frozen=True, slots=True)
class LiveReading:
    """What the live members of a group read.

    :param members: how many there are
    :param topics: what they are assigned, or have subscribed to
    :param told: whether all of them said so: a group that shares out its partitions does not say meanwhile
    """

    members: int
    topics: frozenset[str]
    told: bool = True


class GroupReading:
    """Asks what groups have committed, and what their members read.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    @classmethod
    def of(cls, cluster: KafkaCluster) -> GroupReading:
        """Ask a cluster that is already reached."""
        return cls(cluster._session)

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int] | KafkaDrError]:
        """Return what each group has committed, next to read; an error stands in the place of an answer.

        Brokers leave out the topics that the principal may not DESCRIBE, and do not say so.
        """
        request = OffsetFetchRequest.OffsetFetchRequestGroup
        until = time.monotonic() + self._session.request_seconds

        def read(coordinator: int, names: Collection[str]) -> dict[str, dict[TopicPartition, int] | KafkaDrError]:
            wanted = OffsetFetchRequest(
                groups=[request(group_id=name, topics=None) for name in names],
                require_stable=False,
                min_version=8,
                max_version=8,
            )
            answer = ask(self._session, wanted, "read the offsets of groups", broker=coordinator)
            return {row.group_id: self._refused(row) or _offsets(row) for row in answer.groups}

        return self._each(groups, read, is_final=lambda _: True, until=until)

    def live(self, groups: Iterable[str], *, seconds: float = 10.0) -> dict[str, LiveReading | KafkaDrError]:
        """Return what the live members of each group read; an error stands in the place of an answer.

        Members of the classic protocol say what they subscribed to. Those of the newer one (KIP-848) are asked for
        what they are assigned, in a request for each such group.

        :param seconds: how long a group may take to share out its partitions
        """
        until = time.monotonic() + seconds
        found = self._each(groups, self._described, is_final=lambda answer: answer is None or answer.told, until=until)
        newer = self._newer(sorted(group for group, answer in found.items() if answer is None))
        return {group: newer[group] if answer is None else answer for group, answer in found.items()}

    def shared(self, groups: Iterable[str]) -> dict[str, frozenset[str] | KafkaDrError]:
        """Return the topics that each share group reads; an error stands in the place of an answer."""
        part = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
        until = time.monotonic() + self._session.request_seconds

        def read(coordinator: int, names: Collection[str]) -> dict[str, frozenset[str] | KafkaDrError]:
            request = DescribeShareGroupOffsetsRequest(groups=[part(group_id=name, topics=None) for name in names])
            answer = ask(self._session, request, "ask what share groups read", broker=coordinator)
            return {
                row.group_id: self._error(row, "ask what it reads of") or frozenset(t.topic_name for t in row.topics)
                for row in answer.groups
            }

        return self._each(groups, read, is_final=lambda _: True, until=until)

    def _described(self, coordinator: int, names: Collection[str]) -> dict[str, LiveReading | KafkaDrError | None]:
        """Describe groups; ``None`` for one that is not of the classic protocol, or is gone."""
        request = DescribeGroupsRequest(groups=list(names), include_authorized_operations=False)
        answer = ask(self._session, request, "describe groups", broker=coordinator)
        found: dict[str, LiveReading | KafkaDrError | None] = {}
        for row in answer.groups:
            not_found = row.error_code == KafkaError.GROUP_ID_NOT_FOUND or row.group_state == "Dead"
            error = self._error(row, "describe")
            found[row.group_id] = error if error and not not_found else None if not_found else _reading(row)
        return found

    def _newer(self, groups: Collection[str]) -> dict[str, LiveReading | KafkaDrError]:
        states = Groups(self._session)

        def read(group: str) -> LiveReading | KafkaDrError:
            try:
                found = states.states([group])[group]
            except KafkaDrError as error:
                return error
            told = found.state in _SETTLED or bool(found.assigned)
            return LiveReading(len(found.members), found.assigned, told)

        with ThreadPoolExecutor(max_workers=_REQUESTS_AT_ONCE) as pool:
            return dict(zip(groups, pool.map(read, groups), strict=True))

    def _each(
        self,
        groups: Iterable[str],
        read: Callable[[int, Collection[str]], Mapping[str, A | KafkaDrError]],
        *,
        is_final: Callable[[A], bool],
        until: float,
    ) -> dict[str, A | KafkaDrError]:
        """Ask the coordinators; again, while there is time, for groups that move or have not settled."""
        found: dict[str, A | KafkaDrError] = {}
        waiting = sorted(set(groups))
        while waiting:
            found |= self._once(waiting, read)
            waiting = [
                group
                for group in waiting
                if not (isinstance(answer := found[group], KafkaDrError) or is_final(answer))
                or isinstance(answer, TryAgain)
            ]
            if time.monotonic() > until:
                break
            if waiting:
                time.sleep(_PAUSE_SECONDS)
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

        def told(portion: tuple[int, list[str]]) -> Mapping[str, A | KafkaDrError]:
            try:
                return read(*portion)
            except KafkaDrError as error:
                # The groups of other coordinators have their answers.
                return dict.fromkeys(portion[1], error)

        with ThreadPoolExecutor(max_workers=_REQUESTS_AT_ONCE) as pool:
            for given in pool.map(told, portions):
                answers |= given
        missing = TryAgain(f"{self._session.label}: its coordinator said nothing of this group")
        return {group: answers.get(group, missing) for group in groups}

    def _coordinators(self, groups: Collection[str]) -> tuple[dict[str, KafkaDrError], dict[int, list[str]]]:
        """Return the groups by their coordinators, and why some have none."""
        request = FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=list(groups), min_version=4)
        refused: dict[str, KafkaDrError] = {}
        found: dict[int, list[str]] = {}
        try:
            rows = ask(self._session, request, "find the coordinators of groups").coordinators
        except KafkaDrError as silent:
            return dict.fromkeys(groups, silent), {}
        for row in rows:
            doing = f"find the coordinator of group {row.key}"
            if (error := error_of(self._session, row.error_code, row.error_message, doing)) is not None:
                refused[row.key] = error
            else:
                found.setdefault(row.node_id, []).append(row.key)
        return refused, found

    def _refused(self, row: Any) -> KafkaDrError | None:
        """Return why a group's positions, or some of them, were not read."""
        codes = (row.error_code, *(each.error_code for topic in row.topics for each in topic.partitions))
        doing = f"read the offsets of group {row.group_id}"
        return next((error for code in codes if (error := error_of(self._session, code, None, doing))), None)

    def _error(self, row: Any, doing: str) -> KafkaDrError | None:
        return error_of(self._session, row.error_code, None, f"{doing} group {row.group_id}")


def _offsets(row: Any) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, partition.partition_index): partition.committed_offset
        for topic in row.topics
        for partition in topic.partitions
        if partition.committed_offset >= 0
    }


def _reading(row: Any) -> LiveReading:
    """Read a group of the classic protocol; only a stable one says what its members read."""
    if row.protocol_type not in ("", _CONSUMER):
        return LiveReading(len(row.members), frozenset())
    topics: set[str] = set()
    told = True
    for member in row.members:
        try:
            topics |= _subscribed(member.member_metadata) | _assigned(member.member_assignment)
        except (struct.error, ValueError, IndexError, TypeError):
            told = False
        told = told and bool(member.member_metadata)
    return LiveReading(len(row.members), frozenset(topics), told)


def _subscribed(metadata: bytes | None) -> set[str]:
    return set(ConsumerProtocolSubscription.decode(metadata).topics) if metadata else set()


def _assigned(assignment: bytes | None) -> set[str]:
    if not assignment:
        return set()
    return {part.topic for part in ConsumerProtocolAssignment.decode(assignment).assigned_partitions}
