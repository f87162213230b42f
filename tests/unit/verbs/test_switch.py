"""A switch in one process: what follows each failure at each step, and after each interrupted prefix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import get_args

import pytest

from kafka_dr.errors import ConnectionMistake, KafkaDrError
from kafka_dr.register import Phase, Verb
from kafka_dr.runs.record import StepFailed, StepOutcome, StepRecord
from kafka_dr.runs.request import StepName, definition, switch_steps
from kafka_dr.verbs.switch import PATIENCE_SECONDS, SwitchCourse, SwitchStopped
from kafka_dr.verbs.switch_rules import NextMove, RunProgress, StepFailure, after_failure, at_start, run_progress
from support.manual_clock import ManualClock
from support.register_states import a_state

AT = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
DEADLINE = 120.0
FOREVER = 10_000
VERBS: tuple[Verb, ...] = ("planned_failover", "unplanned_failover", "take_over")
#: The step after whose own compare-and-set nothing is undone.
DECIDES: dict[Verb, StepName] = {
    "planned_failover": StepName.OPEN_TARGET,
    "unplanned_failover": StepName.OPEN_TARGET,
    "take_over": StepName.SETTLE,
}
EVERY_STEP = [(verb, step) for verb in VERBS for step in switch_steps(verb)]
SWITCHING = a_state(phase=Phase.SWITCHING, run="r", executor="here", attempt=1)


@dataclass
class World:
    """The registers, and a process that runs steps which change them.

    :param fails: of a step: how it fails, how often, and whether it had done its work by then
    :param silent: how often the register does not answer when it is read after a failure
    """

    verb: Verb
    fails: dict[StepName, tuple[KafkaDrError, int, bool]] = field(default_factory=dict)
    silent: int = 0
    #: Whether the register then refuses what we connect with.
    mistaken: bool = False
    where: RunProgress = RunProgress.FREE
    ran: list[StepName] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    clock: ManualClock = field(default_factory=ManualClock)

    def execute(self, step: StepName) -> StepRecord:
        self.ran.append(step)
        failure, left, works = self.fails.get(step, (None, 0, True))
        if works:
            self.work(step)
        if failure is not None and left:
            self.fails[step] = (failure, left - 1, works)
            raise failure
        self.work(step)
        return a_record(step, "done")

    def work(self, step: StepName) -> None:
        if step is StepName.CLAIM:
            self.where = RunProgress.SWITCHING
        elif step is DECIDES[self.verb]:
            self.where = RunProgress.HANDED_OVER

    def look(self) -> RunProgress:
        if self.mistaken and self.ran:
            raise ConnectionMistake("east refuses the login of dr-operator")
        if self.silent and self.ran:
            self.silent -= 1
            return RunProgress.UNKNOWN
        return self.where

    def begins(self, step: StepName) -> None:
        pass

    def ended(self, record: StepRecord) -> None:
        pass

    def says(self, sentence: str) -> None:
        self.said.append(sentence)

    def run(self) -> NextMove:
        """Return what follows; ``CONTINUE`` if the switch is done."""
        course = SwitchCourse(
            self.verb, execute=self.execute, look=self.look, clock=self.clock, deadline_seconds=DEADLINE, watch=self
        )
        try:
            course.run()
        except SwitchStopped as stopped:
            return stopped.move
        return NextMove.CONTINUE


def a_record(step: StepName, outcome: StepOutcome) -> StepRecord:
    return StepRecord("orders", "r", str(step), 1, outcome, AT, AT, 0.1, "as it was")


def failing(step: StepName, outcome: StepOutcome, *, passing: bool = False) -> StepFailed:
    return StepFailed(a_record(step, outcome), passing=passing)


def goes_forward(verb: Verb, step: StepName) -> bool:
    return definition(step, verb).goes_forward


def after_hand_over(verb: Verb) -> Sequence[StepName]:
    return [step for step in switch_steps(verb) if goes_forward(verb, step)]


def test_a_switch_is_every_step_from_the_claim_to_the_route_or_to_the_record_that_a_group_is_adopted() -> None:
    first_and_last = [(steps[0], steps[-1]) for steps in map(switch_steps, VERBS)]
    assert first_and_last == [(StepName.CLAIM, StepName.FLIP_ROUTE)] * 2 + [(StepName.CLAIM, StepName.SETTLE)]
    assert switch_steps("failback") == switch_steps("un_adopt") == ()


@pytest.mark.parametrize("verb", VERBS)
def test_the_steps_run_in_order(verb: Verb) -> None:
    world = World(verb)
    assert world.run() is NextMove.CONTINUE
    assert tuple(world.ran) == switch_steps(verb)


@pytest.mark.parametrize(("verb", "step"), EVERY_STEP)
def test_a_process_that_finds_a_run_whose_process_was_killed_after_a_step(verb: Verb, step: StepName) -> None:
    world = World(verb)
    for done in switch_steps(verb):
        world.work(done)
        if done is step:
            break
    handed_over = world.where is RunProgress.HANDED_OVER
    move = world.run()
    if verb != "unplanned_failover" and not handed_over:
        assert (move, world.ran) == (NextMove.ROLL_BACK, [])
        return
    assert move is NextMove.CONTINUE
    # What was done before the hand-over is not asked again after it.
    assert world.ran == (after_hand_over(verb) if handed_over else list(switch_steps(verb)))


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize(("verb", "step"), EVERY_STEP)
def test_a_failure_that_passes_costs_a_moment_and_no_roll_back(verb: Verb, step: StepName, works: bool) -> None:
    world = World(verb, {step: (failing(step, "failed", passing=True), 2, works)})
    assert world.run() is NextMove.CONTINUE
    assert world.ran.count(step) == 3
    assert world.clock.monotonic() < 1
    assert len(world.said) == 2


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize(("verb", "step"), EVERY_STEP)
def test_a_failure_that_does_not_pass_ends_with_the_deadline_of_its_step(
    verb: Verb, step: StepName, works: bool
) -> None:
    world = World(verb, {step: (failing(step, "failed", passing=True), FOREVER, works)})
    move = world.run()
    assert move is (NextMove.LATER if world.where is RunProgress.HANDED_OVER else NextMove.ROLL_BACK)
    assert DEADLINE <= world.clock.monotonic() <= DEADLINE + 10
    assert 10 < world.ran.count(step) < 40


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize("outcome", ["failed", "unknown", "refused"])
@pytest.mark.parametrize(("verb", "step"), EVERY_STEP)
def test_a_failure_that_cannot_pass_is_final_before_the_hand_over(
    verb: Verb, step: StepName, outcome: StepOutcome, works: bool
) -> None:
    world = World(verb, {step: (failing(step, outcome), 1, works)})
    move = world.run()
    if world.where is not RunProgress.HANDED_OVER:
        assert (move, world.ran[-1], world.ran.count(step)) == (NextMove.ROLL_BACK, step, 1)
    else:
        assert move is (NextMove.STOP if outcome == "refused" else NextMove.CONTINUE)


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_hand_over_is_neither_rolled_back_nor_tried_again_before_the_register_answers(
    verb: Verb, works: bool
) -> None:
    step = DECIDES[verb]
    world = World(verb, {step: (failing(step, "unknown"), 1, works)}, silent=30)
    move = world.run()
    assert DEADLINE < world.clock.monotonic() < PATIENCE_SECONDS
    assert move is (NextMove.CONTINUE if works else NextMove.ROLL_BACK)

    world = World(verb, {step: (failing(step, "unknown"), 1, works)}, silent=FOREVER)
    assert world.run() is NextMove.LATER
    assert world.ran.count(step) == 1


@pytest.mark.parametrize(("verb", "step"), EVERY_STEP)
def test_a_failure_is_never_rolled_back_after_the_hand_over_and_never_left_for_later_before_it(
    verb: Verb, step: StepName
) -> None:
    outcomes = [outcome for outcome in get_args(StepOutcome) if not a_record(step, outcome).good]
    for outcome in outcomes:
        for passing in (True, False):
            for time_left in (True, False):
                failure = StepFailure(outcome, passing, goes_forward(verb, step))
                on = {found: after_failure(failure, found, time_left=time_left) for found in RunProgress}
                assert on[RunProgress.HANDED_OVER] is not NextMove.ROLL_BACK
                assert NextMove.LATER not in (on[RunProgress.FREE], on[RunProgress.SWITCHING])
                assert on[RunProgress.LOST] is NextMove.STOP
                assert NextMove.CONTINUE not in on.values()
                if failure.may_hand_over:
                    assert on[RunProgress.UNKNOWN] in (NextMove.READ_AGAIN, NextMove.LATER)


@pytest.mark.parametrize(("verb", "step"), EVERY_STEP)
def test_an_error_that_left_no_evidence_is_judged_by_the_register(verb: Verb, step: StepName) -> None:
    world = World(verb, {step: (KafkaDrError("the storage is full"), 1, False)})
    forward = step is StepName.FLIP_ROUTE
    assert world.run() is (NextMove.CONTINUE if forward else NextMove.ROLL_BACK)


@pytest.mark.parametrize("verb", VERBS)
def test_a_register_that_does_not_answer_at_the_start_is_waited_for(verb: Verb) -> None:
    world = World(verb)
    looks = iter([RunProgress.UNKNOWN] * 5)
    world.look = lambda: next(looks, world.where)  # type: ignore[method-assign]
    assert world.run() is NextMove.CONTINUE
    world = World(verb)
    world.look = lambda: RunProgress.UNKNOWN  # type: ignore[method-assign]
    assert (world.run(), world.ran) == (NextMove.LATER, [])


def test_where_a_run_is_follows_from_the_record_alone() -> None:
    other, rolled_back = replace(SWITCHING, run="other"), replace(SWITCHING, verb="roll_back", phase=Phase.STABLE)
    assert run_progress(None, "r", held=None) is run_progress(other, "r", held=None) is RunProgress.FREE
    for begun in (SWITCHING, replace(SWITCHING, phase=Phase.ADOPTING)):
        assert run_progress(begun, "r", held=None) is run_progress(begun, "r", held=begun) is RunProgress.SWITCHING
    for phase in (Phase.HANDED_OVER, Phase.UNFENCED, Phase.DIVERGED, Phase.STABLE):
        assert run_progress(replace(SWITCHING, phase=phase), "r", held=SWITCHING) is RunProgress.HANDED_OVER
    taken = replace(SWITCHING, executor="elsewhere", attempt=2)
    given_back = replace(rolled_back, phase=Phase.RELEASED)
    for lost in (None, other, rolled_back, taken, given_back):
        assert run_progress(lost, "r", held=SWITCHING) is RunProgress.LOST
    assert run_progress(rolled_back, "r", held=None) is RunProgress.LOST


@pytest.mark.parametrize("verb", VERBS)
def test_a_run_that_was_rolled_back_is_not_begun_again(verb: Verb) -> None:
    assert at_start(verb, RunProgress.LOST) is NextMove.STOP


@pytest.mark.parametrize(("verb", "step"), EVERY_STEP)
def test_a_register_that_refuses_our_login_is_not_waited_for(verb: Verb, step: StepName) -> None:
    """Before the step that hands over, the run is rolled back at once; from then on the next try continues it."""
    world = World(verb, fails={step: (failing(step, "failed", passing=True), FOREVER, False)}, mistaken=True)
    assert world.run() is (NextMove.LATER if goes_forward(verb, step) else NextMove.ROLL_BACK)
    assert world.ran.count(step) == 1
    assert world.clock.monotonic() < 1
    assert world.said == ["east refuses the login of dr-operator"]


def test_a_switch_does_not_begin_and_does_not_wait_while_the_register_refuses_our_login() -> None:
    world = World("planned_failover", mistaken=True, ran=[StepName.CLAIM])
    assert world.run() is NextMove.LATER
    assert world.clock.monotonic() < 1
