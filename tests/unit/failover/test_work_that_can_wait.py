"""Work that can wait does not delay applications, and does not end a run between the fence and the flipped route."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.checks.topic_layout import GroupLayout, old_cluster_unchanged
from kafka_dr.clusters import Acl
from kafka_dr.errors import TryAgain
from kafka_dr.failover.planned import drain, open_target, stop_flow
from kafka_dr.failover.unplanned import reachable_source
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import lacking, whole
from kafka_dr.group_offsets import other_topics
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.executor import Executor
from kafka_dr.topology.loading import load
from lab.layout import PROJECT
from support.sentences import assert_sentence

AT = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)


class Changes:
    """What was added and lifted, in order."""

    def __init__(self) -> None:
        self.lifted: list[frozenset[Acl]] = []
        self.added: list[frozenset[Acl]] = []

    def foreign(self, _: Collection[Acl]) -> frozenset[Acl]:
        return frozenset()

    def lift(self, *stages: Collection[Acl]) -> None:
        self.lifted += map(frozenset, stages)

    def add(self, *stages: Collection[Acl]) -> None:
        self.added += map(frozenset, stages)


@pytest.fixture
def changes() -> Changes:
    return Changes()


@pytest.fixture
def run(changes: Changes) -> Any:
    environ = {
        "KAFKA_DR_LAB_HOME": "/lab",
        "KAFKA_DR_LAB_EAST": "localhost:1",
        "KAFKA_DR_LAB_WEST": "localhost:2",
        "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
    }
    group = load(PROJECT / "include" / "topology.yaml", environ).group("orders")
    return SimpleNamespace(
        source="east",
        target="west",
        group=group,
        journal={"opened": {"at": AT.isoformat()}},
        guard=lambda _: lambda: None,
        acl_changes=lambda *_: changes,
        changes_at_source=lambda _: changes,
        rules_need_seconds=lambda _: 0.0,
        look_for_topics=lambda *_: frozenset(),
        closes_source=False,
        opens_copy=True,
    )


def answered(layout: dict[str, Any]) -> BackgroundCall[GroupLayout]:
    return BackgroundCall("east", lambda: cast("GroupLayout", SimpleNamespace(to_json=lambda: layout)))


def layout_journaled(
    monkeypatch: pytest.MonkeyPatch,
    run: Any,
    looking: BackgroundCall[GroupLayout] | None,
    *,
    freezing: Callable[[], object] = lambda: None,
    seconds: float = 5.0,
    deny_reads: Callable[[Any], None] = lambda _: None,
) -> Any:
    """Journal what is frozen, and return what that says about the topics."""
    written: dict[str, Any] = {}
    run.write_fact = lambda fact, payload: written.update({fact: payload})
    run.group = SimpleNamespace(
        owns_topic=lambda _: True,
        moves_positions_in=lambda _, cluster: cluster == "east",
        groups_policy=SimpleNamespace(not_moved=()),
    )
    monkeypatch.setattr(drain, "_deny_reads", deny_reads)
    monkeypatch.setattr(drain, "_frozen_offsets", lambda _: freezing() or {})
    monkeypatch.setattr(other_topics, "of_frozen", lambda *_: ())
    drain.journal_frozen(run, {}, looking, layout_seconds=seconds)
    return written["drained"]["layout"]


def test_the_route_does_not_wait_for_the_right_to_change_topics(run: Any, changes: Changes) -> None:
    assert open_target.lift_fence(run) == AT
    assert changes.lifted == [plan.work_denies(run.group)]
    open_target.allow_changes(run)
    assert changes.lifted[1:] == [plan.change_fence(run.group)]


def test_a_source_whose_topics_cannot_be_read_is_drained_all_the_same(
    monkeypatch: pytest.MonkeyPatch, run: Any, changes: Changes
) -> None:
    def silent(*_: object) -> GroupLayout:
        raise TryAgain("east does not say since when its records are there")

    monkeypatch.setattr(GroupLayout, "seen", silent)
    looking = drain._deny_changes_and_look(run)
    assert changes.added == [plan.change_fence(run.group)]
    assert layout_journaled(monkeypatch, run, looking) is None

    run.journal = {"drained": {"layout": None}}
    said = old_cluster_unchanged(run)
    assert said.outcome == "excused"
    assert_sentence(said.detail)


def test_a_freeze_that_denies_every_operation_is_added_before_the_look_at_the_topics_and_without_their_change_fence(
    monkeypatch: pytest.MonkeyPatch, run: Any, changes: Changes
) -> None:
    run.closes_source = True
    looking = drain._deny_changes_and_look(run)
    assert (looking, changes.added) == (None, [])
    order: list[str] = []
    group, deny_reads = run.group, drain._deny_reads

    def closed(denies: frozenset[Acl]) -> frozenset[Acl]:
        order.append("denied")
        return whole(denies)

    run.closed = closed

    def seen(*_: object) -> Any:
        order.append("looked")
        return SimpleNamespace(to_json=lambda: {"topics": []})

    monkeypatch.setattr(GroupLayout, "seen", seen)
    frozen = SimpleNamespace(**vars(run))
    layout = layout_journaled(monkeypatch, run, looking, deny_reads=lambda _: deny_reads(cast("Any", frozen)))
    assert layout == {"topics": []}
    assert order == ["denied", "looked"]
    added, probe = changes.added
    assert lacking(plan.group_freeze(group) | plan.change_fence(group), added) == frozenset()
    assert probe == plan.probe_freeze(group)


def test_groups_are_frozen_while_the_source_still_says_which_topics_it_has(
    monkeypatch: pytest.MonkeyPatch, run: Any
) -> None:
    frozen = Event()

    def seen(*_: object) -> Any:
        assert frozen.wait(2), "the groups are frozen only after this answer"
        return SimpleNamespace(to_json=lambda: {"topics": []})

    monkeypatch.setattr(GroupLayout, "seen", seen)
    assert layout_journaled(monkeypatch, run, drain._deny_changes_and_look(run), freezing=frozen.set) == {"topics": []}


def test_what_the_source_says_of_its_topics_too_late_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, run: Any
) -> None:
    late = Event()
    looking: BackgroundCall[Any] = BackgroundCall("east", lambda: late.wait(10))
    assert layout_journaled(monkeypatch, run, looking, seconds=0.05) is None
    late.set()


@pytest.mark.parametrize("silent", [False, True])
def test_a_source_that_woke_up_counts_as_fenced_before_the_right_to_change_topics_is_denied(
    monkeypatch: pytest.MonkeyPatch, run: Any, changes: Changes, silent: bool
) -> None:
    """Tens of thousands of DENYs that no proof needs would use up the time for the fence."""
    done: list[object] = []

    def add(*stages: Collection[Acl]) -> None:
        done.extend(map(frozenset, stages))
        if silent and plan.change_fence(run.group) in done:
            raise TryAgain("east has not taken them in time")

    def refused(_: str) -> Check:
        done.append("asked")
        return Check("writes_refused", "ok", "every write refused")

    changes.add = add  # type: ignore[method-assign]
    run.writes_refused = refused
    monkeypatch.setattr(reachable_source, "end_transactions", lambda *_, **__: done.append("ended"))
    monkeypatch.setattr(reachable_source, "writers_declared", lambda *_: Check("writers_declared", "ok", ""))

    assert reachable_source.fence_once_more(run, Phase.HANDED_OVER).outcome == "ok"
    work, probe, last = plan.standby_in_order(run.group)
    assert done == [work, probe, "ended", "asked", last]


def test_nobody_waits_for_what_live_members_read(monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    def silent(*_: object) -> list[str]:
        raise TryAgain("east does not name its groups")

    run.operator = lambda _: SimpleNamespace(group_reading=SimpleNamespace(live=None))
    monkeypatch.setattr(other_topics, "groups_to_move", silent)
    assert other_topics.read_live(run, "east") == ()


def test_a_drain_that_is_run_again_keeps_the_first_look_at_the_topics(
    monkeypatch: pytest.MonkeyPatch, run: Any
) -> None:
    """A later one would hide what was changed between the two."""
    run.journal = {"drained": {"layout": {"first": True}}}
    assert layout_journaled(monkeypatch, run, answered({"first": False})) == {"first": True}
    run.journal = {}
    assert layout_journaled(monkeypatch, run, answered({"first": False})) == {"first": False}


def test_connect_is_asked_once_by_each_process_to_stop_a_flow(run: Any) -> None:
    asked: list[str] = []
    answers = [TryAgain("Connect is rebalancing"), None, None]

    def stop() -> None:
        asked.append("stop")
        if (error := answers.pop(0)) is not None:
            raise error

    run.request, run.flow = SimpleNamespace(run="run-1"), SimpleNamespace(name="dr.orders")
    run.guard = lambda _: SimpleNamespace(require=lambda: None)

    def clients() -> Any:
        return SimpleNamespace(executor=Executor.here(), replicator=lambda _: SimpleNamespace(stop=stop))

    run.clients = clients()
    drain._ask_flow_to_stop(run)
    stop_flow.ask_to_stop(run)
    stop_flow.ask_to_stop(run)
    assert len(asked) == 2, "what Connect did not take is asked again, and what it took is not waited for twice"
    run.clients = clients()
    stop_flow.ask_to_stop(run)
    assert len(asked) == 3, "a process that continues the run knows nothing of it"
