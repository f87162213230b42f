"""The roll back and what is still alive: a step that wakes up too late, a step at the same time, a dead target."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

import pytest
from confluent_kafka.admin import AdminClient

from kafka_dr.clusters import AclPermission
from kafka_dr.clusters.acls import Acls
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.register import KafkaRegister, Phase
from kafka_dr.replication.mirrormaker import Mm2Replicator
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import ResumeRequest, RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.protection import STEPS_AFTER_APPROVAL
from support.short_timeouts import ShortTimeoutClients
from support.switched_group import Killed, SwitchedGroup, dying, failed

pytestmark = pytest.mark.kafka


@dataclass
class Sleeper:
    """A thread that is held at one call until it is woken, like a process that the system had stopped."""

    work: Callable[[], object]
    arrived: threading.Event = field(default_factory=threading.Event)
    woken: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._work)
        #: A step does some of its work in threads that it starts, and those start others.
        self.threads = {self.thread}

    def _work(self) -> None:
        try:
            self.work()
        except KafkaDrError as error:
            self.error = error

    def wake(self) -> None:
        """Let the thread continue, and wait until it is done."""
        self.woken.set()
        self.thread.join(60)
        assert not self.thread.is_alive()


@contextmanager
def held(at: object, method: str, work: Callable[[], object]) -> Iterator[Sleeper]:
    """Start work in a thread, and return when that thread, or one that it started, is about to call a method."""
    sleeper, real, start_thread = Sleeper(work), getattr(at, method), threading.Thread.start

    def call(*arguments: object, **named: object) -> object:
        if threading.current_thread() in sleeper.threads and not sleeper.arrived.is_set():
            sleeper.arrived.set()
            assert sleeper.woken.wait(120)
        return real(*arguments, **named)

    def start(thread: threading.Thread) -> None:
        if threading.current_thread() in sleeper.threads:
            sleeper.threads.add(thread)
        start_thread(thread)

    with mock.patch.object(at, method, call), mock.patch.object(threading.Thread, "start", start):
        sleeper.thread.start()
        assert sleeper.arrived.wait(60), f"it never called {method}: {sleeper.error}"
        try:
            yield sleeper
        finally:
            sleeper.woken.set()
            sleeper.thread.join(60)


def _running(group: SwitchedGroup, step: StepName, request: RunRequest) -> Callable[[], object]:
    def work() -> object:
        with group.protection.clients() as clients:
            return run_step(step, request, clients)

    return work


@pytest.mark.parametrize(
    "step",
    [
        StepName.FENCE_SOURCE,
        pytest.param(StepName.DRAIN, marks=pytest.mark.long),
        StepName.STOP_FLOW,
        pytest.param(StepName.CUT_OVER_GROUPS, marks=pytest.mark.long),
        StepName.OPEN_TARGET,
    ],
)
def test_a_step_that_wakes_up_after_the_roll_back_changes_nothing(group: SwitchedGroup, step: StepName) -> None:
    source = group.active
    request = group.go(STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(step) - 1])
    opens = step is StepName.OPEN_TARGET
    at, method = (KafkaRegister, "compare_and_set") if opens else (Run, "guard")
    with held(at, method, _running(group, step, request)) as zombie:
        group.roll_back(request)
        before = outside_view.look(group.protection)
        # The grounds of the permission were read before; the permission itself is asked after waking up.
        zombie.wake()

    assert isinstance(zombie.error, StepFailed)
    assert outside_view.look(group.protection) == before
    group.assert_at_rest(source)


def _woken_in_the_next_run(group: SwitchedGroup, at: type, method: str) -> str:
    """Hold a roll back up at a call, let it wake up when the next run has fenced the source, and finish that run.

    :returns: what the roll back ended with
    """
    source, target = group.active, group.standby
    request = group.go(StepName.FENCE_SOURCE)

    def work() -> None:
        group.roll_back(request)

    with held(at, method, work) as zombie:
        group.roll_back(request)
        following = group.go(StepName.FENCE_SOURCE)
        before = outside_view.look(group.protection)
        zombie.wake()

    assert isinstance(zombie.error, StepFailed)
    assert outside_view.look(group.protection) == before
    assert group.protection.refuses_writes(source)
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=following.run, confirmed=True), clients)
    group.assert_at_rest(target)
    return str(zombie.error)


def test_a_roll_back_that_wakes_up_in_the_next_run_does_not_lift_that_runs_fence(group: SwitchedGroup) -> None:
    said = _woken_in_the_next_run(group, KafkaRegister, "added_acls")
    assert "Nothing more is changed" in said


def test_denies_that_are_sent_after_the_roll_back_are_taken_back(group: SwitchedGroup) -> None:
    """The step is held up between the permission and the request."""
    source = group.active
    request = group.go(StepName.CLAIM)
    with held(AdminClient, "create_acls", _running(group, StepName.FENCE_SOURCE, request)) as zombie:
        group.roll_back(request)
        before = outside_view.look(group.protection)
        zombie.wake()

    assert isinstance(zombie.error, StepFailed)
    assert outside_view.look(group.protection) == before
    group.assert_at_rest(source)


def test_a_lift_of_a_roll_back_that_is_sent_in_the_next_run_is_made_good(group: SwitchedGroup) -> None:
    _woken_in_the_next_run(group, AdminClient, "delete_acls")


def test_a_roll_back_that_comes_after_the_hand_over_is_refused(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.CUT_OVER_GROUPS)

    def work() -> None:
        group.roll_back(request)

    with held(KafkaRegister, "compare_and_set", work) as late:
        with group.protection.clients() as clients:
            run_step(StepName.OPEN_TARGET, request, clients)
        before = outside_view.look(group.protection)
        late.wake()

    assert isinstance(late.error, StepFailed)
    assert late.error.record.outcome == "refused"
    assert f"is handed_over with {target} active: the point of no return is passed" in str(late.error)
    assert outside_view.look(group.protection) == before
    assert group.protection.refuses_writes(source)
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)
    group.assert_at_rest(target)


def test_of_a_hand_over_and_a_roll_back_at_the_same_moment_exactly_one_wins(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.CUT_OVER_GROUPS)
    start, real = threading.Barrier(2, timeout=60), KafkaRegister.compare_and_set
    raced: set[int] = set()

    def together(*arguments: object) -> None:
        if threading.get_ident() not in raced:
            raced.add(threading.get_ident())
            start.wait()
        real(*arguments)  # type: ignore[arg-type]

    opening, undoing = (
        Sleeper(_running(group, StepName.OPEN_TARGET, request)),
        Sleeper(lambda: group.roll_back(request)),
    )
    with mock.patch.object(KafkaRegister, "compare_and_set", together):
        for racer in (opening, undoing):
            racer.thread.start()
        for racer in (opening, undoing):
            racer.thread.join(120)

    assert (opening.error is None) != (undoing.error is None), (opening.error, undoing.error)
    if opening.error is None:
        assert group.protection.takes_writes(target)
        assert group.protection.refuses_writes(source)
        with group.protection.clients() as clients:
            resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)
        group.assert_at_rest(target)
    else:
        group.assert_at_rest(source)


def test_a_dead_target_does_not_keep_the_source_fenced(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.STOP_FLOW)
    assert group.protection.refuses_writes(source)

    group.protection.lab.pause(outside_view.broker_of(target))
    try:
        with group.protection.clients(ShortTimeoutClients) as clients, pytest.raises(StepFailed) as told:
            roll_back(request, clients)
        assert group.protection.takes_writes(source)
    finally:
        group.protection.lab.resume(outside_view.broker_of(target))

    record = told.value.record
    assert record.outcome == "unknown"
    assert f"{target} did not answer, and dr_health fences it when it does" in record.facts["target"]
    assert {check.name: check.outcome for check in record.proofs}["source_takes_writes"] == "ok"
    assert f"{target} did not answer" in record.detail
    state = group.protection.state(source)
    assert state is not None
    assert (state.phase, state.active) == (Phase.STABLE, source)

    group.wait_answering()
    group.roll_back(request)
    group.assert_at_rest(source)


def test_a_flow_that_does_not_run_again_is_named_and_the_target_is_not_called_silent(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.STOP_FLOW)
    away = mock.Mock(side_effect=TryAgain("Connect does not answer"))
    with mock.patch.multiple(Mm2Replicator, resume=away, wait_running=away), pytest.raises(StepFailed) as told:
        group.roll_back(request)

    record = told.value.record
    assert {check.name: check.outcome for check in record.proofs} == {
        "source_takes_writes": "ok",
        "groups_readable": "ok",
        "target_refuses": "ok",
        "flow_runs": "unknown",
    }
    assert "Connect does not answer" in record.facts["flow"]
    assert "target" not in record.facts
    assert f"{source}-to-{target} was not seen running" in record.detail

    group.roll_back(request)
    group.assert_at_rest(source)


@pytest.mark.parametrize(
    ("at", "method"),
    [(KafkaRegister, "compare_and_set"), pytest.param(Acls, "remove", marks=pytest.mark.long)],
)
def test_a_roll_back_that_died_is_finished_by_the_next_one(group: SwitchedGroup, at: type, method: str) -> None:
    source = group.active
    request = group.go(StepName.STOP_FLOW)
    with dying(at, method), pytest.raises(Killed):
        group.roll_back(request)

    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "abandon", run=request.run, confirmed=True), clients)

    group.assert_at_rest(source)


def test_rolling_back_twice_changes_nothing_the_second_time(group: SwitchedGroup) -> None:
    source = group.active
    request = group.go(StepName.DRAIN)
    group.roll_back(request)
    before = outside_view.look(group.protection)

    assert group.roll_back(request).outcome == "done"

    after = outside_view.look(group.protection)
    # The second roll back takes the run from the first, and nothing else.
    assert dataclasses.replace(after, registers=before.registers) == before
    assert [state and state.attempt for state in after.registers.values()] == [3, 3]
    assert not [a for a in before.acls[source] if a.permission is AclPermission.DENY and "app" in a.principal]
    with group.protection.clients() as clients:
        assert f"run {request.run} was rolled back" in failed(StepName.FENCE_SOURCE, request, clients).detail
