"""A source that does not answer at once: it is fenced if it answers late, and given up if it does not."""

from __future__ import annotations

import time
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import TryAgain
from kafka_dr.failover.unplanned import reachable_source
from kafka_dr.failover.unplanned.reachable_source import BackgroundFence, SourceState
from kafka_dr.runs.clients import OtherCluster
from kafka_dr.runs.silent_clusters import SilentClusters
from support.sentences import assert_sentence
from support.waiting import eventually

#: A test that fails would wait so long; none that passes does.
_LONGEST = 60.0

P = TopicPartition("a", 0)


class Source:
    """A source that begins to answer at some time, and what was done to it."""

    def __init__(self) -> None:
        self.wakes = Event()
        self.asked = Event()
        self.begun = Event()
        self.fenced = Event()

    def identity(self) -> None:
        self.asked.set()
        if not self.wakes.wait(0.05):
            raise TryAgain("east is silent")


@pytest.fixture
def east() -> Source:
    return Source()


@pytest.fixture
def run(east: Source) -> Any:
    return SimpleNamespace(
        source="east",
        clock=SimpleNamespace(monotonic=time.monotonic, sleep=time.sleep),
        clients=SimpleNamespace(
            require_declared=lambda _: east.identity(), silent_clusters=SilentClusters(SystemClock())
        ),
        group=SimpleNamespace(timing=SimpleNamespace(transaction_grace_seconds=2.0)),
        rules_need_seconds=lambda _: 0.0,
    )


def fencing(monkeypatch: pytest.MonkeyPatch, east: Source, *, passing: str = "", slowly: float = 0.0) -> None:
    def fence(_: object) -> tuple[str, str]:
        east.begun.set()
        time.sleep(slowly)
        east.fenced.set()
        return "", passing

    monkeypatch.setattr(reachable_source, "_fence", fence)


def test_a_source_that_stays_silent_is_not_waited_for_and_never_changed(
    monkeypatch: pytest.MonkeyPatch, east: Source, run: Any
) -> None:
    fencing(monkeypatch, east)
    late = BackgroundFence(run)
    assert east.asked.wait(_LONGEST)
    source_state = late.source_state()  # returns while the source is still silent
    assert (source_state.fenced, source_state.drained) == (False, False)
    assert_sentence(source_state.detail)
    east.wakes.set()
    assert not east.fenced.wait(0.3)


def test_another_cluster_at_the_address_of_the_source_is_not_touched_and_named(
    monkeypatch: pytest.MonkeyPatch, east: Source, run: Any
) -> None:
    def another(_: str) -> None:
        east.asked.set()
        raise OtherCluster("east answers with cluster id B, but the topology says A")

    fencing(monkeypatch, east)
    run.clients.require_declared = another
    assert not reachable_source.answers(run)
    late = BackgroundFence(run)
    assert east.asked.wait(_LONGEST)
    eventually(lambda: bool(late._mistake))
    source_state = late.source_state()
    assert not source_state.fenced
    assert_sentence(source_state.detail)
    assert not east.begun.is_set()


@pytest.mark.parametrize(
    ("now", "fenced", "drained"), [({P: 7}, True, True), ({P: 8}, False, False), (None, True, False)]
)
def test_a_drained_source_that_is_silent_by_now_does_not_count_as_drained(
    run: Any, now: dict[TopicPartition, int] | None, fenced: bool, drained: bool
) -> None:
    def high_watermarks(_: object) -> dict[TopicPartition, int]:
        if now is None:
            raise TryAgain("east is silent")
        return now

    run.operator = lambda _: SimpleNamespace(topics=SimpleNamespace(high_watermarks=high_watermarks))
    run.clients.require_declared = lambda _: None
    run.fact = lambda _: {"source_ends": [["a", 0, 7]]}
    found = reachable_source.seen_again(run, SourceState(True, True, "all copied"))
    assert (found.fenced, found.drained) == (fenced, drained)
    assert_sentence(found.detail)


def test_a_source_that_answers_late_is_fenced_and_not_called_drained(
    monkeypatch: pytest.MonkeyPatch, east: Source, run: Any
) -> None:
    fencing(monkeypatch, east, slowly=0.3)
    late = BackgroundFence(run)
    assert east.asked.wait(_LONGEST)
    east.wakes.set()
    assert east.begun.wait(_LONGEST)
    source_state = late.source_state()
    assert east.fenced.is_set()
    assert (source_state.fenced, source_state.drained) == (True, False)
    assert_sentence(source_state.detail)


def test_a_source_that_answers_before_it_leads_partitions_is_fenced_as_soon_as_it_does(
    monkeypatch: pytest.MonkeyPatch, east: Source, run: Any
) -> None:
    refusals = iter([TryAgain("could not write: message timed out"), TryAgain("no leader answered")])

    def fence(_: object) -> tuple[str, str]:
        if refused := next(refusals, None):
            raise refused
        east.fenced.set()
        return "", ""

    monkeypatch.setattr(reachable_source, "_fence", fence)
    east.wakes.set()
    late = BackgroundFence(run)
    assert east.fenced.wait(_LONGEST)
    assert late.source_state().fenced


def test_a_source_that_an_undeclared_principal_may_write_to_is_not_fenced(
    monkeypatch: pytest.MonkeyPatch, east: Source, run: Any
) -> None:
    fencing(monkeypatch, east, passing="User:intruder may write on east")
    east.wakes.set()
    late = BackgroundFence(run)
    assert east.fenced.wait(_LONGEST)
    source_state = late.source_state()
    assert not source_state.fenced
    assert_sentence(source_state.detail)


def test_the_grace_for_transactions_is_added_to_the_time_for_the_fence(run: Any) -> None:
    assert reachable_source.fence_seconds(run) == reachable_source.FENCE_SECONDS + 2.0
    # Where others apply the rules, the DENYs of topics and of transactional ids are waited for, one after the other.
    run.rules_need_seconds = lambda _: 30.0
    assert reachable_source.fence_seconds(run) == reachable_source.FENCE_SECONDS + 2.0 + 60.0
