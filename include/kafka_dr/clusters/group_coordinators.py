"""Asks the coordinators of many groups, in one request to each, and again if a group moves to another coordinator.

librdkafka sends one request for each group. When it reads committed offsets and the coordinator has moved, it ends the
whole process (2.16.1, confluentinc/librdkafka#5040); so offsets are read here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, TypeVar

from confluent_kafka import KafkaError
from kafka.protocol.consumer import OffsetCommitRequest, OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.parallel import ask_each
from kafka_dr.positions import CommittedOffset, TopicPartition, metadata_of
from kafka_dr.waiting import PAUSE_SECONDS, SHORT_PAUSE_SECONDS, wait_until

#: Groups in one request, and requests at the same time. An answer holds every committed offset of each group.
_GROUPS_AT_ONCE = 200
REQUESTS_AT_ONCE = 8
_GROUP = 0  # the protocol's number for a group among the keys of coordinators

A = TypeVar("A")


class GroupCoordinators:
    """Sends requests about groups to their coordinators.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def committed(
        self, groups: Iterable[str], *, require_stable: bool
    ) -> dict[str, dict[TopicPartition, int] | KafkaDrError]:
        """Return the committed offsets of each group, or the error of a group that could not be read.

        :param require_stable: wait for open transactions that carry offsets (KIP-447), until the deadline of a request
        """
        request = OffsetFetchRequest.OffsetFetchRequestGroup

        def read(coordinator: int, names: Collection[str]) -> dict[str, dict[TopicPartition, int] | KafkaDrError]:
            wanted = OffsetFetchRequest(
                groups=[request(group_id=name, topics=None) for name in names],
                require_stable=require_stable,
                min_version=8,
                max_version=8,
            )
            answer = self._session.request(wanted, "read the offsets of groups", broker=coordinator)
            return {row.group_id: self._unstable(row) or self._refused(row) or _offsets(row) for row in answer.groups}

        return self.ask(
            groups,
            read,
            is_final=lambda _: True,
            seconds=self._session.request_seconds,
            pause_seconds=SHORT_PAUSE_SECONDS,
        )

    def commit(
        self, offsets: Mapping[str, Mapping[TopicPartition, int]], *, before_each: Callable[[], None]
    ) -> dict[str, Literal[True] | KafkaDrError]:
        """Commit offsets with their metadata on behalf of groups without members.

        librdkafka's Python client adds a NUL to every text (2.16.1), which a reader in another language cannot decode,
        and it ends with an error where the broker that leads a group's offsets has not loaded them yet.

        :param before_each: called right before each request, in several threads
        :returns: by group, the error of one whose offsets were not committed: ``GroupNotEmpty`` if it has members
        """

        def one(coordinator: int, group: str) -> Literal[True] | KafkaDrError:
            before_each()
            doing = f"set the offsets of group {group}"
            answer = self._session.request(_commit_request(group, offsets[group]), doing, broker=coordinator)
            codes = (each.error_code for topic in answer.topics for each in topic.partitions)
            return next((error for code in codes if (error := self._session.error(code, None, doing))), True)

        def write(coordinator: int, groups: Collection[str]) -> dict[str, Literal[True] | KafkaDrError]:
            return ask_each(lambda group: one(coordinator, group), groups, at_most=REQUESTS_AT_ONCE)

        return self.ask(
            offsets,
            write,
            is_final=lambda _: True,
            seconds=self._session.request_seconds,
            pause_seconds=SHORT_PAUSE_SECONDS,
        )

    def ask(
        self,
        groups: Iterable[str],
        read: Callable[[int, Collection[str]], Mapping[str, A | KafkaDrError]],
        *,
        is_final: Callable[[A], bool],
        seconds: float,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> dict[str, A | KafkaDrError]:
        """Ask the coordinators; until the deadline, ask again for groups that move or whose answer is not final.

        :param read: asks one coordinator, by its broker's number, about some groups
        :param seconds: the deadline
        :returns: by group, its answer or the error that it ended with
        """
        wanted = sorted(set(groups))
        found: dict[str, A | KafkaDrError] = {}

        def is_open(group: str) -> bool:
            answer = found.get(group)
            if answer is None or isinstance(answer, KafkaDrError):
                return answer is None or isinstance(answer, TryAgain)
            return not is_final(answer)

        def still_open() -> list[str]:
            if open_groups := [group for group in wanted if is_open(group)]:
                found.update(self._once(open_groups, read))
            return [group for group in open_groups if is_open(group)]

        wait_until(still_open, lambda left: not left, clock=SystemClock(), seconds=seconds, pause_seconds=pause_seconds)
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
        asked = ask_each(lambda number: read(*portions[number]), range(len(portions)), at_most=REQUESTS_AT_ONCE)
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

    def _unstable(self, row: Any) -> TryAgain | None:
        """Return that an open transaction contains offsets of a group."""
        doing = f"{self._session.label}: could not read the offsets of group {row.group_id}"
        for topic in row.topics:
            for each in topic.partitions:
                if each.error_code == KafkaError.UNSTABLE_OFFSET_COMMIT:
                    return TryAgain(
                        f"{doing}: an open transaction contains offsets of {topic.name}-{each.partition_index}; end it "
                        "or wait until it times out"
                    )
        return None

    def _refused(self, row: Any) -> KafkaDrError | None:
        """Return why a group's committed offsets, or some of them, were not read."""
        codes = (row.error_code, *(each.error_code for topic in row.topics for each in topic.partitions))
        doing = f"read the offsets of group {row.group_id}"
        return next((error for code in codes if (error := self._session.error(code, None, doing))), None)


def _commit_request(group: str, offsets: Mapping[TopicPartition, int]) -> OffsetCommitRequest:
    part = OffsetCommitRequest.OffsetCommitRequestTopic
    topics: dict[str, list[Any]] = {}
    for p, offset in sorted(offsets.items()):
        topics.setdefault(p.topic, []).append(
            part.OffsetCommitRequestPartition(
                partition_index=p.partition, committed_offset=offset, committed_metadata=metadata_of(offset)
            )
        )
    return OffsetCommitRequest(
        group_id=group,
        member_id="",
        topics=[part(name=name, partitions=partitions) for name, partitions in topics.items()],
        min_version=8,
        max_version=8,
    )


def _offsets(row: Any) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, partition.partition_index): CommittedOffset(
            partition.committed_offset, partition.metadata
        )
        if partition.metadata
        else partition.committed_offset
        for topic in row.topics
        for partition in topic.partitions
        if partition.committed_offset >= 0
    }
