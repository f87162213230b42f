"""Consumer groups and their committed offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError
from confluent_kafka import TopicPartition as ClientPartition

from kafka_dr.clock import SystemClock
from kafka_dr.clusters.errors import NotFound, raise_translated
from kafka_dr.clusters.model import AclOperation, GroupState
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import TryAgain
from kafka_dr.parallel import ask_all
from kafka_dr.positions import TopicPartition
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

#: librdkafka takes one group in a call, so this many calls run at the same time.
_CONCURRENT_GROUPS = 32


class Groups:
    """Lists and describes groups; reads and writes their committed offsets."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def names(self) -> frozenset[str]:
        """Return the names of all consumer groups that the principal may see."""
        future = self._session.admin.list_consumer_groups(request_timeout=self._session.request_seconds)
        listed = self._session.wait([future], "list the consumer groups")[0]
        if listed.errors:
            raise_translated(listed.errors[0], cluster=self._session.label, doing="list the consumer groups")
        return frozenset(found.group_id for found in listed.valid)

    def states(self, groups: Iterable[str]) -> dict[str, GroupState]:
        """Describe groups, with the operations that the asking principal may use on each.

        :returns: by group; state ``DEAD`` for a group that does not exist
        """
        wanted = sorted(set(groups))
        if not wanted:
            return {}
        futures = self._session.admin.describe_consumer_groups(
            wanted, include_authorized_operations=True, request_timeout=self._session.request_seconds
        )
        states = {}
        for group, future in futures.items():
            try:
                found = self._session.wait([future], f"describe group {group}")[0]
            except NotFound:
                states[group] = GroupState(group, "DEAD", (), frozenset())
                continue
            allowed = frozenset(AclOperation(operation.name) for operation in found.authorized_operations or ())
            members = tuple(f"{member.client_id} {member.host}" for member in found.members)
            assignor = str(found.partition_assignor or "") if members else ""
            states[group] = GroupState(group, found.state.name, members, allowed, assignor, _assigned(found.members))
        return states

    def offsets(self, groups: Iterable[str], *, require_stable: bool = True) -> dict[str, dict[TopicPartition, int]]:
        """Return the committed offsets of groups.

        :param require_stable: wait for open transactions that carry offsets (KIP-447), until the deadline of a
            request. A partition whose first commit is in an open transaction is not listed until the transaction ends
        :raises TryAgain: such a transaction did not end
        """

        def read(group: str) -> dict[TopicPartition, int]:
            doing = f"read the offsets of group {group}"
            found = wait_until(
                lambda: self._listed(group, doing, require_stable=require_stable),
                lambda listed: not _unstable(listed),
                clock=SystemClock(),
                seconds=self._session.request_seconds,
                pause_seconds=SHORT_PAUSE_SECONDS,
            )
            if unstable := _unstable(found):
                raise TryAgain(
                    f"{self._session.label}: could not {doing}: an open transaction contains offsets of "
                    f"{unstable[0].topic}-{unstable[0].partition}; end it or wait until it times out"
                )
            return {
                TopicPartition(p.topic, p.partition): p.offset
                for p in found
                if self._unless_failed(p, doing) and p.offset >= 0
            }

        return ask_all(read, sorted(set(groups)), at_most=_CONCURRENT_GROUPS)

    def set_offsets(self, offsets: Mapping[str, Mapping[TopicPartition, int]]) -> None:
        """Commit offsets on behalf of groups.

        :param offsets: by group and partition
        :raises GroupNotEmpty: a group has live members
        """

        def write(group: str) -> None:
            partitions = [ClientPartition(p.topic, p.partition, offset) for p, offset in offsets[group].items()]
            if not partitions:
                return
            futures = self._session.admin.alter_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group, partitions)], request_timeout=self._session.request_seconds
            )
            done = self._session.results(futures, f"set the offsets of group {group}")[group]
            for partition in done.topic_partitions or ():
                self._unless_failed(partition, f"set the offsets of group {group}")

        ask_all(write, sorted(offsets), at_most=_CONCURRENT_GROUPS)

    def _listed(self, group: str, doing: str, *, require_stable: bool) -> list[ClientPartition]:
        futures = self._session.admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)],
            require_stable=require_stable,
            request_timeout=self._session.request_seconds,
        )
        return list(self._session.results(futures, doing)[group].topic_partitions or ())

    def _unless_failed(self, partition: ClientPartition, doing: str) -> bool:
        if partition.error is not None:
            raise_translated(partition.error, cluster=self._session.label, doing=doing)
        return True


def _unstable(listed: Iterable[ClientPartition]) -> list[ClientPartition]:
    return [p for p in listed if p.error and p.error.code() == KafkaError.UNSTABLE_OFFSET_COMMIT]


def _assigned(members: Iterable[Any]) -> frozenset[str]:
    parts = (part for each in members for part in (each.assignment, each.target_assignment) if part is not None)
    return frozenset(partition.topic for part in parts for partition in part.topic_partitions)
