"""A compacted topic is moved while the cleaner of one cluster works and the other one does not: before each look."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field

import pytest

from kafka_dr.clusters import OffsetRange, Record, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from support.cleaner import a_quick_cleaner, an_idle_cleaner
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.switched_group import SwitchedGroup, other

pytestmark = pytest.mark.kafka

#: Each record makes the segment before it a closed one, which the cleaner may clean.
_CONFIG = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.001",
    "delete.retention.ms": "86400000",
}
_SECONDS = 90
_KEYS = 10


@dataclass
class CompactedTable:
    """A compacted topic of a group: records of few keys, numbered in the order in which they were acknowledged.

    :param cleaned: the cluster whose cleaner works
    """

    protection: Protection
    cleaned: str
    written: itertools.count[int] = field(default_factory=itertools.count)
    last: int = -1

    @property
    def partition(self) -> TopicPartition:
        return TopicPartition(f"{self.protection.name}.table", 0)

    def create(self) -> None:
        for cluster in ("east", "west"):
            with self.protection.cluster(cluster, "admin") as admin:
                admin.topics.create(self.partition.topic, partitions=1, replication_factor=1, config=_CONFIG)

    def held(self, cluster: str) -> list[Record]:
        with self.protection.cluster(cluster, "admin") as admin:
            end = admin.topics.last_stable_offsets([self.partition])[self.partition]
            return list(admin.log.read({self.partition: OffsetRange(0, end)}))

    def numbers(self, cluster: str) -> list[int]:
        return [int(record.value) for record in self.held(cluster) if record.value is not None]

    def end(self, cluster: str) -> int:
        with self.protection.cluster(cluster, "admin") as admin:
            return admin.topics.last_stable_offsets([self.partition])[self.partition]

    def write(self, count: int) -> None:
        with self.protection.cluster("east", "orders-app") as application:
            for number in itertools.islice(self.written, count):
                key = f"key-{number % _KEYS}".encode()
                application.writing.append([NewRecord(self.partition, key, str(number).encode())])
                self.last = number

    def wait_copied(self) -> None:
        deadline = time.monotonic() + _SECONDS
        while self.numbers("west")[-1:] != [self.last]:
            assert time.monotonic() < deadline, "the flow did not copy it"
            time.sleep(0.2)

    def written_copied_and_cleaned(self, *, closes: bool = True) -> None:
        """Write updates, and let one cluster alone remove nearly all that they replaced.

        :param closes: whether more is written until the cleaner has worked, because that closes segments
        """
        self.write(60)
        self.wait_copied()
        time.sleep(0.2)
        self.write(1)
        self.wait_copied()
        deadline = time.monotonic() + _SECONDS
        while len(self.held(self.cleaned)) > 3 * _KEYS:
            assert time.monotonic() < deadline, "the cleaner did nothing"
            time.sleep(0.3)
            if closes:
                self.write(1)
                self.wait_copied()


@pytest.mark.parametrize("cleaned", ["east", pytest.param("west", marks=pytest.mark.long)])
def test_a_compacted_topic_moves_whatever_one_cleaner_has_removed_before_each_look(
    protection: Protection, cleaned: str
) -> None:
    protection.create()
    table = CompactedTable(protection, cleaned)
    table.create()
    protection.adopt()
    group = SwitchedGroup(protection)
    head, slow = f"{group.name}-head", f"{group.name}-slow"
    with a_quick_cleaner(protection, cleaned), an_idle_cleaner(protection, other(cleaned)):
        read = 20
        table.write(read)
        protection.commit("east", slow, {table.partition: table.end("east")})
        table.written_copied_and_cleaned()
        assert len(table.held(other(cleaned))) > 60, "both cleaners worked"
        request = group.request()
        with protection.clients() as clients:
            preflight = run_step(StepName.PREFLIGHT, request, clients)
            protection.approve(request, clients)
        table.written_copied_and_cleaned()
        for step in STEPS_AFTER_APPROVAL:
            if step is StepName.FENCE_SOURCE:
                table.write(60)
                table.wait_copied()
                protection.commit("east", head, {table.partition: table.end("east")})
            if step is StepName.DRAIN:
                before = len(table.held(cleaned))
                deadline = time.monotonic() + _SECONDS
                while len(table.held(cleaned)) >= before and before > 3 * _KEYS:
                    assert time.monotonic() < deadline, "the cleaner did nothing after the fence"
                    time.sleep(0.3)
            with protection.clients() as clients:
                run_step(step, request, clients)
        assert len(table.held(other(cleaned))) > 180, "both cleaners worked"

        on_west = table.held("west")
        newest = [{n % _KEYS: n for n in table.numbers(cluster)} for cluster in ("east", "west")]

    (verified,) = (check.detail for check in preflight.checks if check.name == "content_verified")
    assert "that compaction removed from one of the clusters" in verified
    state = protection.state("west")
    assert state is not None
    assert (state.phase, state.active) == (Phase.STABLE, "west")
    assert (protection.takes_writes("west"), protection.refuses_writes("east")) == (True, True)
    assert newest[0] == newest[1]
    assert group.committed("west", head)[table.partition] == on_west[-1].offset + 1
    resumes = group.committed("west", slow)[table.partition]
    passed = [int(record.value or b"") for record in on_west if record.offset < resumes]
    assert all(number < read for number in passed), "it is past an unread record"
