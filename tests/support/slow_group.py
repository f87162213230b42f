"""A consumer group that is far behind when its topics are taken over: it misses nothing, and what it reads twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.failover.unplanned import translate_without_source
from kafka_dr.failover.unplanned.last_known import KnownOffsets
from kafka_dr.offsets.translate.answers import to_commit
from kafka_dr.register.flow_seed import FlowSeed
from kafka_dr.rescue.copy_reached import CopyReached
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.run import Run
from support import outside_view
from support.protection import Protection

#: How many more records than it reads twice may be announced: a pair of offsets is not known for every record.
_MORE = 20


@dataclass(frozen=True, slots=True)
class Announced:
    """What a failover says beforehand of such a group.

    :param row: among the measurements of its preflight
    :param question: as the approver reads it
    :param without_source: where the group would resume if east were gone, and how many records it is said to read again
    """

    row: Mapping[str, Any]
    question: str
    without_source: tuple[Mapping[TopicPartition, int], int]


@dataclass(frozen=True, slots=True)
class SlowGroup:
    """Such a group.

    :param before: next to read on east
    """

    protection: Protection
    before: Mapping[TopicPartition, int]

    @property
    def name(self) -> str:
        """Its name, one of the protection group."""
        return f"{self.protection.name}-slow"

    def commit(self) -> None:
        """Commit on east, as its application would have."""
        self.protection.commit("east", self.name, dict(self.before))

    def announced(self, preflight: Mapping[str, Any], question: str, clients: Clients) -> Announced:
        """Return what a failover announces for it.

        :param preflight: the facts of the step
        """
        [found] = [row for row in preflight["measurements"]["groups"] if row["group"] == self.name]
        assert {"group": self.name, "class": found["class"]} in preflight["decision"]["offset_classes"]
        return Announced(found, question, self._without_source(clients))

    def assert_kept(self, announced: Announced, seed: FlowSeed, *, second_copies: int) -> None:
        """After the failover it misses nothing, and reads as much twice as was announced.

        :param second_copies: how many records west holds twice since its position
        """
        resumed = outside_view.committed(self.protection, "west")[self.name]
        self._assert_never_late(resumed)
        again = announced.row["redelivered_at_most"]
        self._assert_read_twice(resumed, again, seed, least=second_copies)
        assert (announced.row["class"], announced.row["second_copies"]) == ("bounded", second_copies)
        assert rf"at most {again} records read again \({second_copies} are second copies" in announced.question
        self._assert_read_twice(*announced.without_source, seed, least=second_copies)

    def _without_source(self, clients: Clients) -> tuple[Mapping[TopicPartition, int], int]:
        """Return where it would resume if east were gone, and how many records it is said to read again."""
        run = Run(self.protection.request("unplanned_failover"), clients)
        known = KnownOffsets({self.name: dict(self.before)}, final=True)
        positions = translate_without_source.translate(run, CopyReached({}), known)
        again = [each.redelivered_at_most for each in positions]
        return to_commit(positions)[self.name], sum(count for count in again if count is not None)

    def _assert_read_twice(
        self, resumed: Mapping[TopicPartition, int], announced: int, seed: FlowSeed, *, least: int
    ) -> None:
        """It reads as many records twice on west, from where it resumes, as was announced, or a few less.

        :param least: how many it has to read twice
        """
        twice = 0
        for partition, position in self.before.items():
            with self.protection.cluster("east", "admin") as east, self.protection.cluster("west", "admin") as west:
                unread = {r.value for r in east.log.read({partition: OffsetRange(position, seed.on_source[partition])})}
                copy = self.protection.copy(partition)
                old = OffsetRange(resumed[copy], seed.on_target[partition])
                delivered = Counter(record.value for record in west.log.read({copy: old}))
            twice += sum(count - (value in unread) for value, count in delivered.items())
        assert twice <= announced <= twice + _MORE
        assert twice >= least

    def _assert_never_late(self, resumed: Mapping[TopicPartition, int]) -> None:
        """It reads on west every record that it has not read on east, as far as it was copied."""
        for partition, position in self.before.items():
            with self.protection.cluster("east", "admin") as east, self.protection.cluster("west", "admin") as west:
                unread = OffsetRange(position, east.topics.last_stable_offsets([partition])[partition])
                wanted = [record.value for record in east.log.read({partition: unread})]
                copy = self.protection.copy(partition)
                held = OffsetRange(0, west.topics.last_stable_offsets([copy])[copy])
                copied = {record.value for record in west.log.read({copy: held})}
                left = OffsetRange(resumed[copy], held.end)
                delivered = {record.value for record in west.log.read({copy: left})}
            assert [value for value in wanted if value in copied and value not in delivered] == []
