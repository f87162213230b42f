"""What many groups do now, in one request to each coordinator, and one more for groups of each newer protocol.

librdkafka sends one request for each group, and looks up the coordinator of each.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka.admin import AclOperation as ClientOperation
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_dr.clusters.errors import NotFound
from kafka_dr.clusters.group_coordinators import GroupCoordinators
from kafka_dr.clusters.model import AclOperation, GroupState
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.clusters.streams_groups import StreamsGroupDescribeRequest
from kafka_dr.errors import KafkaDrError, Unanswered

_MESSAGES = "kafka_dr.clusters.messages"
_CONSUMER = "consumer"
_DEAD = "DEAD"
#: From version 6 on a group that does not exist is an error, and the answer does not say what is allowed.
_DESCRIBED_IF_DEAD = 5
#: The names of librdkafka, by those of the protocol.
_STATES: Mapping[str, str] = {
    "Stable": "STABLE",
    "Empty": "EMPTY",
    "Dead": _DEAD,
    "PreparingRebalance": "PREPARING_REBALANCING",
    "CompletingRebalance": "COMPLETING_REBALANCING",
    "Assigning": "ASSIGNING",
    "Reconciling": "RECONCILING",
    "NotReady": "RECONCILING",
}
#: By their numbers in the protocol.
_OPERATIONS: Mapping[int, AclOperation] = {ClientOperation[each.name].value: each for each in AclOperation}


class ConsumerGroupDescribeRequest(ApiMessage, load_json=_MESSAGES):  # type: ignore[misc, call-arg]  # it has no types
    """Request the states of groups of the newer protocol (KIP-848)."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=_MESSAGES):  # type: ignore[misc, call-arg]
    """The answer to it."""


class GroupStates:
    """Describes groups of all protocols that commit offsets: classic, KIP-848, KIP-1071.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session
        self._coordinators = GroupCoordinators(session)

    def each(self, groups: Iterable[str]) -> dict[str, GroupState | KafkaDrError]:
        """Describe groups, with the operations that the asking principal may use on each.

        :returns: by group its state, ``DEAD`` for one that does not exist, or why it could not be described
        """
        return self._coordinators.ask(
            groups, self._described, is_final=lambda _: True, seconds=self._session.request_seconds
        )

    def _described(self, coordinator: int, names: Collection[str]) -> dict[str, GroupState | KafkaDrError]:
        request = DescribeGroupsRequest(
            groups=list(names), include_authorized_operations=True, min_version=3, max_version=_DESCRIBED_IF_DEAD
        )
        answer = self._session.request(request, "describe groups", broker=coordinator)
        found = {row.group_id: self._error(row) or _classic(row) for row in answer.groups}
        # A group of a newer protocol looks like one that does not exist.
        for request, read in ((ConsumerGroupDescribeRequest, _newer), (StreamsGroupDescribeRequest, _streams)):
            dead = [name for name, state in found.items() if isinstance(state, GroupState) and state.state == _DEAD]
            found |= self._newer(coordinator, dead, request, read) if dead else {}
        return found

    def _newer(
        self, coordinator: int, names: Collection[str], request: type[ApiMessage], read: Callable[[Any], GroupState]
    ) -> dict[str, GroupState | KafkaDrError]:
        """Return those of the groups that are of a newer protocol; a broker that does not know it has none."""
        wanted = request(group_ids=list(names), include_authorized_operations=True)
        try:
            answer = self._session.request(wanted, "describe groups of a newer protocol", broker=coordinator)
        except Unanswered:
            raise
        except KafkaDrError:
            return {}
        found: dict[str, GroupState | KafkaDrError] = {}
        for row in answer.groups:
            error = self._error(row)
            if error is None:
                found[row.group_id] = read(row)
            elif not isinstance(error, NotFound) and row.error_code != KafkaError.UNSUPPORTED_VERSION:
                found[row.group_id] = error
        return found

    def _error(self, row: Any) -> KafkaDrError | None:
        return self._session.error(row.error_code, None, f"describe group {row.group_id}")


def _classic(row: Any) -> GroupState:
    members = _members(row)
    return GroupState(
        row.group_id,
        _STATES.get(row.group_state, "UNKNOWN"),
        members,
        frozenset(_OPERATIONS[number] for number in row.authorized_operations or () if number in _OPERATIONS),
        row.protocol_data if members else "",
        _assigned(row) if row.protocol_type == _CONSUMER else frozenset(),
    )


def _newer(row: Any) -> GroupState:
    members = _members(row)
    parts = (part for each in row.members for part in (each.assignment, each.target_assignment))
    return GroupState(
        row.group_id,
        _STATES.get(row.group_state, "UNKNOWN"),
        members,
        _operations_in(row.authorized_operations),
        row.assignor_name if members else "",
        frozenset(each.topic_name for part in parts for each in part.topic_partitions),
    )


def _streams(row: Any) -> GroupState:
    """Read a group of Kafka Streams' own protocol (KIP-1071), which shares out tasks and not partitions."""
    return GroupState(
        row.group_id,
        _STATES.get(row.group_state, "UNKNOWN"),
        _members(row),
        _operations_in(row.authorized_operations),
    )


def _members(row: Any) -> tuple[str, ...]:
    return tuple(f"{each.client_id} {each.client_host}" for each in row.members)


def _operations_in(bits: int) -> frozenset[AclOperation]:
    """Return the operations of a field of bits; its sign alone says that the broker did not answer that."""
    return frozenset(each for number, each in _OPERATIONS.items() if bits >= 0 and bits >> number & 1)


def _assigned(row: Any) -> frozenset[str]:
    """Return the topics that members of the classic protocol are assigned, as far as they can be read."""
    topics: set[str] = set()
    for each in row.members:
        try:
            decoded = ConsumerProtocolAssignment.decode(each.member_assignment) if each.member_assignment else None
        except (struct.error, ValueError, IndexError, TypeError):
            continue
        topics |= {part.topic for part in decoded.assigned_partitions} if decoded else set()
    return frozenset(topics)
