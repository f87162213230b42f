"""Records of another standby are fetched by processes that die, sleep and take the run from each other: each once.

The target is in memory. A process is interrupted before and after each thing that it does there. Between two of them
another one may take the run, fetch, and die in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.clusters import OffsetRange, Record, TopicPartition
from kafka_dr.clusters.errors import ClusterError, ClusterUnreachable, WriterFenced
from kafka_dr.errors import NeedsPerson, OutcomeUnknown, Refused, TryAgain
from kafka_dr.rescue import fetching
from kafka_dr.rescue.copy_reached import CopyReached
from kafka_dr.rescue.fetch_ledger import LEDGER, FetchEntry, LedgerName, read_ledger
from kafka_dr.rescue.fetching import OVER, TIMELESS, Fetch, WantedPart, parts_of
from support.manual_clock import ManualClock
from support.memory_cluster import MemoryCluster

PARTITIONS = tuple(TopicPartition("orders.payments", number) for number in range(3))
FIRST, SECOND, THIRD = PARTITIONS


class FetcherDied(BaseException):
    """The process is gone."""


@dataclass
class OneLog:
    """The log of one partition on the lost cluster, and its copies: some offsets of each hold no record.

    :param origin: the offsets of its records on the lost cluster
    :param by_flow: up to which offset of the lost cluster the target's own flow has copied
    :param by_donor: the same of the donor
    """

    origin: list[int]
    by_flow: int
    by_donor: int
    donor: list[tuple[int, int]]
    target: list[tuple[int, int]]
    donor_end: int
    target_end: int

    @property
    def begins(self) -> int:
        """Where the target's copy ends in the donor's log."""
        return next((at for at, source in self.donor if source >= self.by_flow), self.donor_end)

    def wanted(self) -> WantedPart:
        entry = FetchEntry("north", self.begins, self.by_flow, self.target_end)
        return WantedPart(entry, self.donor_end, self.by_donor)


@st.composite
def one_log(draw: st.DrawFn) -> OneLog:
    def spread(wanted: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
        at, found = 0, []
        for source in wanted:
            at += draw(st.integers(0, 2))
            found.append((at, source))
            at += 1
        return found, at + draw(st.integers(0, 2))

    gaps = draw(st.lists(st.integers(1, 3), max_size=12))
    origin = [sum(gaps[: number + 1]) - 1 for number in range(len(gaps))]
    end = origin[-1] + 1 if origin else 0
    by_flow = draw(st.integers(0, end))
    by_donor = draw(st.integers(by_flow, end))
    donor, donor_end = spread([offset for offset in origin if offset < by_donor])
    target, target_end = spread([offset for offset in origin if offset < by_flow])
    return OneLog(origin, by_flow, by_donor, donor, target, donor_end, target_end)


@dataclass
class TargetInMemory:
    """The target, and who may write to it: the last one that took over the transactional id, while it has the run.

    :param events: what befalls a process at its next points; then nothing does
    """

    logs: Mapping[TopicPartition, OneLog]
    events: list[str] = field(default_factory=list)
    ledger: dict[TopicPartition, FetchEntry] = field(default_factory=dict)
    held: dict[TopicPartition, list[tuple[int, int]]] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    writers: int = 0
    attempts: int = 0
    rolled_back: bool = False
    known_to_roll_back: dict[TopicPartition, FetchEntry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.held = {p: list(log.target) for p, log in self.logs.items()}
        self.ends = {p: log.target_end for p, log in self.logs.items()}

    def point(self) -> None:
        """Something may happen here."""
        event = self.events.pop(0) if self.events else "nothing"
        if event == "dies":
            raise FetcherDied
        if event == "another":
            with suppress(FetcherDied, Refused):
                self.process()
        if event == "rolls back":
            # It takes the run, then the transactional id, and only then it reads the ledger.
            self.attempts, self.rolled_back = self.attempts + 1, True
            self.writers += 1
            self.known_to_roll_back = dict(self.ledger)

    def process(self, in_time: Callable[[], bool] = lambda: True) -> dict[TopicPartition, str]:
        """Let a process take the run, and fetch until all of it is there."""
        if self.rolled_back:
            raise Refused("the run was rolled back")
        self.attempts += 1
        attempt = self.attempts
        while True:
            self.point()
            self.writers += 1
            writer = self.writers
            self.point()
            ledger = dict(self.ledger)
            wanted = {p: log.wanted().continued(ledger.get(p)) for p, log in self.logs.items()}

            def write(
                records: Sequence[Record], entries: Mapping[TopicPartition, FetchEntry], writer: int = writer
            ) -> Mapping[TopicPartition, int]:
                if self.attempts != attempt:
                    raise Refused("another process has the run")
                self.point()
                self.commit(writer, records, entries)
                self.point()
                if self.events and self.events[0] == "unanswered":
                    self.events.pop(0)
                    raise OutcomeUnknown("the commit was not answered")
                # The end of a batch is where its last record is; a marker follows.
                return {record.topic_partition: self.ends[record.topic_partition] - 1 for record in records}

            fetch = Fetch(wanted, read=self.read, write=write, in_time=in_time)
            try:
                fetch.run()
            except (OutcomeUnknown, WriterFenced):
                if self.attempts != attempt:
                    raise Refused("another process has the run") from None
                continue
            return fetch.left

    def read(self, donor: str, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Record]:
        assert donor == "north"
        for p, wanted in ranges.items():
            for at, source in self.logs[p].donor:
                if at in wanted:
                    yield Record(p.topic, p.partition, at, 1, None, str(source).encode())

    def commit(self, writer: int, records: Sequence[Record], entries: Mapping[TopicPartition, FetchEntry]) -> None:
        written = writer == self.writers
        for record in records:
            p = record.topic_partition
            assert record.value is not None
            if written:
                self.held[p].append((self.ends[p], int(record.value)))
            # An aborted record takes an offset, too.
            self.ends[p] += 1
        for p in {record.topic_partition for record in records}:
            self.ends[p] += 1
        if not written:
            raise WriterFenced("another writer took the id over")
        self.ledger |= entries
        self.check()

    def check(self) -> None:
        """Each record is there once, in order, and what is known of both logs is true."""
        reached = CopyReached.of({p: log.by_flow for p, log in self.logs.items()}, self.ledger, self.ends)
        for p, log in self.logs.items():
            there = [source for _, source in self.held[p]]
            assert there == log.origin[: len(there)]
            for source, target in reached.points(p, self.ends[p]):
                before = [offset for offset in log.origin if offset < source]
                assert [each for at, each in self.held[p] if at < target] == before, (source, target)
            for step in self.ledger[p].steps if p in self.ledger else ():
                before = [source for at, source in log.donor if at < step.source]
                assert [each for at, each in self.held[p] if at < step.target] == before, step

    def complete(self) -> bool:
        return all(
            [each for _, each in self.held[p]] == [o for o in log.origin if o < log.by_donor]
            for p, log in self.logs.items()
        )


LOGS = st.tuples(*(one_log() for _ in PARTITIONS)).map(lambda found: dict(zip(PARTITIONS, found, strict=True)))
EVENTS = st.lists(st.sampled_from(["nothing", "nothing", "dies", "another", "unanswered"]), max_size=30)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_MOST_RECORDS", 2)
    monkeypatch.setattr(fetching, "_OFFSETS_TOGETHER", 8)


@given(LOGS, EVENTS)
@settings(max_examples=400, deadline=None)
def test_wherever_processes_die_each_record_is_there_once_and_none_is_missing(
    logs: dict[TopicPartition, OneLog], events: list[str]
) -> None:
    target = TargetInMemory(logs, list(events))
    while target.events:
        try:
            target.process()
        except (FetcherDied, Refused):
            continue
    assert target.process() == {}
    assert target.complete()
    reached = CopyReached.of({p: log.by_flow for p, log in logs.items()}, target.ledger, target.ends)
    assert {p: reached.copied[p] for p in logs} == {p: log.by_donor for p, log in logs.items()}


@given(LOGS, st.integers(0, 30), EVENTS)
@settings(max_examples=200, deadline=None)
def test_what_is_not_fetched_in_time_is_named_and_fetched_by_a_later_process(
    logs: dict[TopicPartition, OneLog], looks: int, events: list[str]
) -> None:
    target, left = TargetInMemory(logs), iter(range(looks))
    found = target.process(lambda: next(left, None) is not None)
    for p, log in logs.items():
        entry = target.ledger.get(p)
        whole = entry is not None and entry.reached == log.by_donor
        assert (p in found) is not whole
    assert set(found.values()) <= {OVER}
    target.check()
    target.events = list(events)
    while target.events:
        try:
            target.process()
        except (FetcherDied, Refused):
            continue
    assert target.process() == {}
    assert target.complete()


@given(LOGS, EVENTS, st.integers(0, 30))
@settings(max_examples=200, deadline=None)
def test_a_roll_back_knows_of_every_record_that_was_fetched_also_by_a_process_that_wakes_up_after_it(
    logs: dict[TopicPartition, OneLog], events: list[str], at: int
) -> None:
    target = TargetInMemory(logs, [*events[:at], "rolls back", *events[at:]])
    while not target.rolled_back:
        with suppress(FetcherDied, Refused):
            target.process()
            target.point()
    assert target.ledger == target.known_to_roll_back
    untouched = {p: log.target for p, log in logs.items() if p not in target.ledger}
    assert {p: target.held[p] for p in untouched} == untouched


def a_log(records: int = 4, by_flow: int = 0) -> OneLog:
    both = [(number, number) for number in range(records)]
    return OneLog(list(range(records)), by_flow, records, both, both[:by_flow], records, by_flow)


def test_a_record_without_a_time_stays_on_the_donor_with_all_that_follow_it() -> None:
    target, read = TargetInMemory({FIRST: a_log(), SECOND: a_log(2)}), TargetInMemory.read

    def timeless(donor: str, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Record]:
        for record in read(target, donor, ranges):
            time = 0 if (record.topic_partition, record.offset) == (FIRST, 1) else 1
            yield Record(record.topic, record.partition, record.offset, time, None, record.value)

    target.read = timeless  # type: ignore[method-assign]
    assert target.process() == {FIRST: TIMELESS}
    assert [each for _, each in target.held[FIRST]] == [0]
    assert target.ledger[FIRST].reached is None
    assert target.ledger[SECOND].reached == 2


def test_a_donor_that_does_not_answer_is_asked_once_and_what_one_topic_refuses_keeps_no_other_back() -> None:
    wanted = {p: a_log(number + 5).wanted() for number, p in enumerate(PARTITIONS)}
    asked = []

    def silent(donor: str, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Record]:
        asked.append(donor)
        yield from ()
        raise ClusterUnreachable("north does not answer")

    written: list[TopicPartition] = []

    def takes(records: Sequence[Record], entries: Mapping[TopicPartition, FetchEntry]) -> Mapping[TopicPartition, int]:
        written.extend(entries)
        return {}

    fetch = Fetch(wanted, read=silent, write=takes, in_time=lambda: True)
    fetch.run()
    assert fetch.left == dict.fromkeys(PARTITIONS, "north does not answer")
    assert (asked, written) == (["north"], [])

    target = TargetInMemory({p: a_log(number + 5) for number, p in enumerate(PARTITIONS)})

    def refuses(
        records: Sequence[Record], entries: Mapping[TopicPartition, FetchEntry]
    ) -> Mapping[TopicPartition, int]:
        if FIRST in entries:
            raise ClusterError("the record is too large")
        written.extend(p for p, entry in entries.items() if entry.reached)
        return {}

    fetch = Fetch(wanted, read=target.read, write=refuses, in_time=lambda: True)
    fetch.run()
    assert fetch.left == {FIRST: "the record is too large"}
    assert written == [SECOND, THIRD]


def test_small_partitions_are_read_together_and_first() -> None:
    wanted = {FIRST: a_log(12).wanted(), SECOND: a_log(3).wanted(), THIRD: a_log(5).wanted()}
    assert list(parts_of(wanted)) == [("north", [SECOND, THIRD]), ("north", [FIRST])]


def test_an_entry_of_another_donor_says_nothing_of_this_ones_log() -> None:
    part = a_log(4, by_flow=1).wanted()
    other = FetchEntry("south", 900, 1, 1)
    assert part.continued(other) == part
    mine = FetchEntry("north", 3, 1, 1, reached=4, records=2)
    assert part.continued(mine).entry == mine
    assert part.continued(FetchEntry("north", 3, 1, 1, reached=3)).entry.reached is None


def test_what_is_journaled_of_a_copy_is_read_back() -> None:
    ledger = {FIRST: FetchEntry("north", 9, 5, 7, reached=8), SECOND: FetchEntry("north", 3, 2, 4)}
    reached = CopyReached.of({FIRST: 5, SECOND: 2, THIRD: 1}, ledger, {FIRST: 12, SECOND: 9, THIRD: 3})
    assert reached.points(FIRST, 12) == ((5, 7), (8, 12))
    assert reached.points(SECOND, 9) == ((2, 4), (2, 4))
    assert reached.points(THIRD, 3) == ((1, 3),)
    assert CopyReached.from_json(reached.to_json()) == reached
    pair = CopyReached.of({THIRD: 1}, {}, {THIRD: 3})
    assert pair.to_json() == {"copied": [["orders.payments", 2, 1]]}
    assert pair.points(FIRST, 3) == ()


def ledger_cluster(records: Sequence[tuple[str, FetchEntry | bytes]]) -> MemoryCluster:
    lines = [
        Record(LEDGER.topic, 0, at, 1, key.encode(), entry if isinstance(entry, bytes) else entry.encoded())
        for at, (key, entry) in enumerate(records)
    ]
    return MemoryCluster("west", "w", {LEDGER.topic: [lines]})


def test_the_ledger_has_one_copys_entries_alone_and_the_newest_of_each_partition() -> None:
    name = LedgerName("orders", "east", 1003)
    assert name.key(FIRST) == b"orders/east/1003/orders.payments/0"
    old, new = FetchEntry("north", 3, 2, 4, records=1), FetchEntry("north", 9, 2, 4, reached=8, records=4)
    cluster = ledger_cluster(
        [
            ("orders/east/1003/orders.payments/0", old),
            ("orders/east/3/orders.payments/1", old),
            ("other/east/1003/orders.payments/1", old),
            ("orders/east/1003/orders.payments/0", new),
        ]
    )
    assert read_ledger(cluster.as_kafka, name, ManualClock()) == {FIRST: new}
    damaged = ledger_cluster([("orders/east/1003/orders.payments/0", b"{")])
    with pytest.raises(NeedsPerson, match=r"_kafka_dr\.fetched holds a record that cannot be read"):
        read_ledger(damaged.as_kafka, name, ManualClock())


def test_what_an_open_transaction_of_another_group_hides_is_never_taken_for_nothing() -> None:
    name, entry = LedgerName("orders", "east", 1003), FetchEntry("north", 3, 2, 4)
    cluster = ledger_cluster([("other/east/1/t/0", entry), ("orders/east/1003/orders.payments/0", entry)])
    cluster.open_from = {LEDGER: 0}
    with pytest.raises(TryAgain, match=r"an open transaction of another group hides what _kafka_dr\.fetched says"):
        read_ledger(cluster.as_kafka, name, ManualClock())
