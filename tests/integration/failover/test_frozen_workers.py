"""A worker is stopped in the middle of a step, another process continues the run, and the worker is woken."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_dr.errors import Refused
from kafka_dr.runs.request import ResumeRequest, RunRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.frozen_worker import FrozenWorker
from support.protection import STEPS_AFTER_APPROVAL
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka

Freezer = Callable[..., FrozenWorker]
_REGISTER = "kafka_dr.register:KafkaRegister"
_TAKE_OVER = "kafka_dr.clusters.transactions:Transactions.take_over"
_ACLS = "kafka_dr.clusters.acls:Acls"
_MIRROR = "kafka_dr.replication.mirrormaker:Mm2Replicator"
_ADVANCE = "kafka_dr.runs.run:Run.advance"
_ROUTE = "kafka_dr.routing.file:FileRouter.switch"
_LOST = "failed: .*Nothing more is changed"

#: Where a worker sleeps in each step: before it asks whether it may change something, or after that, right before the
#: change; and what it says when it wakes up.
_SLEEPS = [
    (StepName.FENCE_SOURCE, f"{_ACLS}.list", _LOST),
    (StepName.FENCE_SOURCE, f"{_ACLS}.add", "failed: "),
    (StepName.DRAIN, f"{_ACLS}.list", _LOST),
    (StepName.DRAIN, f"{_ACLS}.add", "failed: "),
    (StepName.STOP_FLOW, f"{_REGISTER}.write_fact", _LOST),
    (StepName.STOP_FLOW, f"{_MIRROR}.stop", _LOST),
    (StepName.STOP_FLOW, _TAKE_OVER, _LOST),
    (StepName.CUT_OVER_GROUPS, f"{_REGISTER}.write_fact", _LOST),
    (StepName.OPEN_TARGET, _ADVANCE, "failed: "),
    (StepName.OPEN_TARGET, f"{_ACLS}.remove", "failed: "),
    # The route says already what it was going to write: nothing has to be refused.
    (StepName.FLIP_ROUTE, _ROUTE, "done: "),
    (StepName.VERIFY, f"{_REGISTER}.write_fact", _LOST),
    (StepName.VERIFY, f"{_ACLS}.remove", "failed: "),
    (StepName.START_REVERSE_FLOW, f"{_REGISTER}.write_fact", _LOST),
    (StepName.START_REVERSE_FLOW, f"{_MIRROR}.seed", "failed: "),
    (StepName.START_REVERSE_FLOW, _ADVANCE, "failed: "),
]


@pytest.fixture
def frozen(group: SwitchedGroup) -> Iterator[Freezer]:
    """Return what runs a step in a process of its own, which stops in the middle; all of them end with the test."""
    workers: list[FrozenWorker] = []

    def freeze(request: RunRequest, step: StepName, place: str, *, when: str = "before") -> FrozenWorker:
        workers.append(FrozenWorker(group.protection, request, step, place, when=when))
        return workers[-1]

    yield freeze
    for worker in workers:
        worker.end()


def _before(step: StepName) -> StepName:
    return STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(step) - 1]


def _journal(group: SwitchedGroup, request: RunRequest) -> dict[str, Any]:
    with group.protection.clients() as clients:
        return {name: clients.register(name).facts(group.name, request.run) for name in ("east", "west")}


def _woken_in_vain(group: SwitchedGroup, request: RunRequest, worker: FrozenWorker) -> str:
    """Wake a worker, see that it changes nothing, and return what it said."""
    before, journal = outside_view.look(group.protection), _journal(group, request)

    said = worker.wake()

    assert _journal(group, request) == journal, said
    assert outside_view.look(group.protection) == before, said
    return said


def test_a_worker_that_sleeps_in_stop_flow_does_not_move_the_seed_of_the_reverse_flow(
    group: SwitchedGroup, frozen: Freezer
) -> None:
    """It would journal the log ends of now: the records written since then would never be copied back."""
    target = group.standby
    request = group.go(_before(StepName.STOP_FLOW))
    worker = frozen(request, StepName.STOP_FLOW, _TAKE_OVER, when="after")
    with group.protection.clients() as clients:
        with pytest.raises(Refused, match=r"showed life \S+ s ago, .* Wait until then to finish it;"):
            resume(ResumeRequest(group.name, "finish", run=request.run), clients)
        for step in STEPS_AFTER_APPROVAL[3 : STEPS_AFTER_APPROVAL.index(StepName.START_REVERSE_FLOW)]:
            run_step(step, request, clients)
    group.protection.produce(target, 30)
    assert "may not journal target_ends" in _woken_in_vain(group, request, worker)
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)
    group.assert_at_rest(target)


@pytest.mark.parametrize(
    ("step", "place", "says"),
    [
        (StepName.OPEN_TARGET, f"{_ACLS}.list", _LOST),
        *(pytest.param(*sleeps, marks=pytest.mark.long) for sleeps in _SLEEPS),
    ],
)
def test_a_worker_that_sleeps_in_any_step_changes_nothing_after_another_process_has_continued(
    group: SwitchedGroup, frozen: Freezer, step: StepName, place: str, says: str
) -> None:
    target = group.standby
    request = group.go(_before(step))
    worker = frozen(request, step, place)
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)
    group.protection.produce(target, 10)
    group.wait_equal()
    assert re.match(says, _woken_in_vain(group, request, worker))
    group.assert_at_rest(target)


@pytest.mark.long
def test_a_worker_that_sleeps_between_the_offsets_of_two_groups_does_not_take_a_group_back(
    group: SwitchedGroup, frozen: Freezer
) -> None:
    """The group has read on since then, and has no member at the moment: the broker would take any offset."""
    target, slow = group.standby, f"{group.name}-slow"
    request = group.go(_before(StepName.CUT_OVER_GROUPS))
    worker = frozen(request, StepName.CUT_OVER_GROUPS, "kafka_dr.clusters.groups:Groups.set_offsets")
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)
    group.protection.produce(target, 10)
    group.wait_equal()
    with group.protection.cluster(target, "admin") as admin:
        read = {p: offset + 3 for p, offset in group.committed(target, slow).items()}
        admin.groups.set_offsets({slow: read})
    assert re.match(_LOST, _woken_in_vain(group, request, worker))
    assert group.committed(target, slow) == read


@pytest.mark.long
def test_a_worker_that_sleeps_right_before_it_sets_the_route_does_not_set_it_after_the_next_run(
    group: SwitchedGroup, frozen: Freezer
) -> None:
    source, request = group.active, group.go(_before(StepName.FLIP_ROUTE))
    worker = frozen(request, StepName.FLIP_ROUTE, _ROUTE)
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)
    group.go(StepName.REPORT)
    assert re.match("failed: .*another run switched it", _woken_in_vain(group, request, worker))
    group.assert_at_rest(source)


@pytest.mark.long
def test_a_report_that_wakes_up_after_another_one_only_seals_again(group: SwitchedGroup, frozen: Freezer) -> None:
    """The group is settled: nobody holds it, and a report changes nothing but its own figures."""
    target = group.standby
    request = group.go(_before(StepName.REPORT))
    worker = frozen(request, StepName.REPORT, f"{_REGISTER}.write_fact")
    with group.protection.clients() as clients:
        run_step(StepName.REPORT, request, clients)
    group.protection.produce(target, 10)
    group.wait_equal()
    before, journal = outside_view.look(group.protection), _journal(group, request)
    assert worker.wake().startswith("done: ")
    found = _journal(group, request)
    assert found[target].pop("sealed")["sequence"] == journal[target].pop("sealed")["sequence"] + 1
    assert found[target] == journal[target]
    assert outside_view.look(group.protection) == before
    with group.protection.clients() as clients:
        seal = clients.evidence.newest_seal(group.name, request.run)
        assert seal is not None
        assert clients.evidence.verify(seal).intact
    group.assert_at_rest(target)


def test_of_two_processes_that_execute_one_run_at_once_only_the_last_one_continues(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.FENCE_SOURCE)
    with group.protection.clients() as first, group.protection.clients() as second:
        run_step(StepName.DRAIN, request, first)
        run_step(StepName.DRAIN, request, second)
        before = outside_view.look(group.protection)
        refused = failed(StepName.STOP_FLOW, request, first)
        assert "another one continues it" in refused.detail
        assert outside_view.look(group.protection) == before
        resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), second)
    group.assert_at_rest(target)
    assert group.protection.refuses_writes(source)
