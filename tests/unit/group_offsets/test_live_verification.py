"""What is called lost while a flow copies on between any two questions: only what it really passed over."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.audit.copies import Entry
from kafka_dr.audit.finding import FindingKind, Verified
from kafka_dr.audit.walk import Walk
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.group_offsets.live_verification import NearHead, Reached, look, still_missing
from support.manual_clock import ManualClock

PARTITION = TopicPartition("orders", 0)


@dataclass
class HiddenCopies:
    """A flow that copies on whenever somebody asks something. The test alone knows what it passes over.

    :param steps: how many source offsets it passes before each question is answered
    :param hidden: how many of the records that it copied last are still hidden by its transaction, each time
    """

    records: int
    passes_over: frozenset[int]
    steps: list[int]
    hidden: list[int]
    position: int = 0
    visible: int = 0
    target: list[Entry] = field(default_factory=list)
    now: float = 0.0

    def go_on(self) -> None:
        for _ in range(self.steps.pop() if self.steps else 0):
            if self.position < self.records:
                if self.position not in self.passes_over:
                    self.target.append(Entry(len(self.target), b"%d" % self.position))
                self.position += 1
        # What was shown once is never hidden again.
        self.visible = max(self.visible, len(self.target) - (self.hidden.pop() if self.hidden else 0))

    def advance(self, until: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Verified]:
        self.go_on()
        source = [Entry(number, b"%d" % number) for number in range(self.records)]
        walk = Walk(
            PARTITION,
            until=until[PARTITION],
            point=None,
            start=None,
            source=OffsetRange(0, self.records),
            target=OffsetRange(0, self.visible),
        )
        while not walk.done:
            here, there = walk.source_window(), walk.target_window()
            walk.look(source[here.start : here.end], self.target[there.start : there.end])
        return {PARTITION: walk.verified}

    def reached(self, partitions: Collection[TopicPartition]) -> Reached:
        self.go_on()
        position = self.position
        self.go_on()
        return Reached({PARTITION: position}, dict.fromkeys(partitions, len(self.target)))

    # A clock on which each sleep takes half a second.
    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += 0.5

    def near_head(self) -> NearHead:
        return look({PARTITION: self.records}, self, self.reached, clock=self)  # type: ignore[arg-type]


FLOWS = st.builds(
    HiddenCopies,
    records=st.integers(1, 12),
    passes_over=st.frozensets(st.integers(0, 11), max_size=2),
    steps=st.lists(st.integers(0, 3), max_size=30),
    hidden=st.lists(st.integers(0, 2), max_size=30),
)


@given(FLOWS)
@settings(max_examples=400, deadline=None)
def test_only_what_the_flow_passed_over_is_a_finding(flow: HiddenCopies) -> None:
    found = flow.near_head().verified[PARTITION].finding
    if found is not None:
        assert found.source_offset in flow.passes_over


@given(FLOWS)
@settings(max_examples=200, deadline=None)
def test_what_is_lost_is_found_once_the_flow_is_past_it(flow: HiddenCopies) -> None:
    flow.steps, flow.hidden = [flow.records], []
    lost = sorted(offset for offset in flow.passes_over if offset < flow.records)
    found = flow.near_head().verified[PARTITION].finding
    assert (found.source_offset if found else None) == (lost[0] if lost else None)


@given(FLOWS)
@settings(max_examples=200, deadline=None)
def test_what_is_not_verified_is_lost_or_counted_as_not_copied_yet(flow: HiddenCopies) -> None:
    near = flow.near_head()
    found = near.verified[PARTITION]
    left = flow.records - found.source_offset
    assert near.not_copied_yet.get(PARTITION, 0) == (0 if found.finding else left)


def test_a_hidden_record_is_not_lost_although_the_flow_is_past_it() -> None:
    near = HiddenCopies(3, frozenset(), steps=[3], hidden=[1] * 30).near_head()
    assert near.verified[PARTITION].finding is None
    assert near.not_copied_yet == {PARTITION: 1}


def test_the_last_record_that_was_passed_over_is_lost() -> None:
    found = HiddenCopies(3, frozenset({2}), steps=[3], hidden=[]).near_head().verified[PARTITION].finding
    assert found is not None
    assert (found.kind, found.source_offset) == (FindingKind.MISSING, 2)


@pytest.mark.parametrize(
    ("seconds", "answers", "missing"),
    [(2.0, [["a", "b"], ["b"], []], []), (0, [["a"], []], ["a"]), (0.1, [["a", "b"], ["b"], []], ["b"])],
)
def test_what_is_missing_is_asked_again_until_the_time_is_over(
    seconds: float, answers: list[list[str]], missing: list[str]
) -> None:
    asked = iter(answers)
    assert still_missing(lambda: next(asked), clock=ManualClock(), seconds=seconds) == missing
