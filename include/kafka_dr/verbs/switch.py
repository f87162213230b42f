"""From the claim to the flipped route in one process, which keeps its connections.

Between the approval and the flipped route a person can only wait, and so do applications. So one process runs these
steps in order. Each step is what it is elsewhere: it reads the registers again, leaves its own evidence, and can be
interrupted anywhere and run again. What is different is who tries again: this process does, within the deadline of the
step, so that a lost connection does not cost a roll back and a new approval. See
:mod:`kafka_dr.verbs.switch_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from kafka_dr.causes import cause
from kafka_dr.clock import Clock
from kafka_dr.durations import duration
from kafka_dr.errors import ConnectionMistake, KafkaDrError
from kafka_dr.rare_collection import garbage_collected_rarely
from kafka_dr.register import Verb
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import RunRequest, StepName, definition, switch_steps
from kafka_dr.runs.run import Run
from kafka_dr.runs.signs_of_life import show_end
from kafka_dr.verbs.runner import show_step, try_step
from kafka_dr.verbs.switch_rules import NextMove, RunProgress, StepFailure, after_failure, at_start, run_progress

#: How long the register is read until it says whether the hand-over is passed, in seconds.
PATIENCE_SECONDS = 600.0
#: The pause before the first of the next tries, in seconds; each pause is twice as long as the one before it.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0


class SwitchWatch(Protocol):
    """Shows what a switch does while it runs."""

    def begins(self, step: StepName) -> None:
        """A step begins; it may have been tried before."""
        ...

    def ended(self, record: StepRecord) -> None:
        """A step has ended, well or not, and its evidence is kept."""
        ...

    def says(self, sentence: str) -> None:
        """Something is tried again, or waited for."""
        ...


class SwitchStopped(KafkaDrError):
    """A switch ended before the route was flipped.

    :param step: the one that failed, or that would have been next
    :param move: what has to follow: ``ROLL_BACK``, ``LATER`` or ``STOP``
    """

    def __init__(self, step: StepName, move: NextMove, sentence: str) -> None:
        self.step = step
        self.move = move
        super().__init__(sentence)


def switch(request: RunRequest, clients: Clients, watch: SwitchWatch) -> tuple[StepRecord, ...]:
    """Run the steps from the claim to the flipped route, and return their records.

    :raises SwitchStopped: a step did not succeed; its ``move`` says what has to follow
    """
    run = Run(request, clients)
    watch = _ShownToo(watch, request, clients)
    show_step(StepName.CLAIM, request, clients, named="switch")
    # Its errors are those of the steps, which say so.
    BackgroundCall("the clusters", partial(connect_ahead, run))
    course = SwitchCourse(
        request.verb,
        execute=lambda step: try_step(step, request, clients),
        look=partial(where_is, request, clients),
        clock=clients.clock,
        deadline_seconds=run.group.timing.step_deadline_seconds,
        watch=watch,
    )
    try:
        # Between two steps applications wait, too.
        with garbage_collected_rarely():
            return course.run()
    except BaseException as stopped:
        clients.shown.ended(request.protection_group, request.run, cause(stopped), good=False)
        if isinstance(stopped, SwitchStopped):
            show_end(clients, request.protection_group, request.run)
        raise
    finally:
        clients.shown.last_words()


@dataclass(frozen=True, slots=True)
class _ShownToo:
    """Shows on the pages, too, what a switch tries again, or waits for."""

    watch: SwitchWatch
    request: RunRequest
    clients: Clients

    def begins(self, step: StepName) -> None:
        """Show it."""
        self.watch.begins(step)

    def ended(self, record: StepRecord) -> None:
        """Show it, and what follows a bad end: it may take a minute until a register answers."""
        self.watch.ended(record)
        if not record.good:
            self._shows("the register that decides is asked what follows")

    def says(self, sentence: str) -> None:
        """Show it."""
        self._shows(sentence)
        self.watch.says(sentence)

    def _shows(self, sentence: str) -> None:
        self.clients.shown.says(self.request.protection_group, self.request.run, sentence)


def connect_ahead(run: Run) -> None:
    """Begin to connect what the steps need after the claim. Nothing is asked that they rely on.

    :raises KafkaDrError: the registers cannot be read
    """
    run.register_state = run.read_register_state(others_seconds=0)

    def connect_source() -> None:
        run.connect_readers()
        run.probe(run.source).write_permission.connect_ahead()

    run.source_policy.connect_ahead(connect_source)
    for role in ("probe", "replicator"):
        run.clients.cluster(run.target, role).write_permission.connect_ahead()


def where_is(request: RunRequest, clients: Clients) -> RunProgress:
    """Read the registers, and return where a run is.

    The register that decides is enough: a claim counts only when that register holds it, and ``claim`` waits for the
    others.

    :raises ConnectionMistake: it cannot be read, because what we connect with is wrong
    """
    held = clients.executor.taken(request.protection_group, request.run)
    try:
        return run_progress(Run(request, clients).read_register_state(others_seconds=0), request.run, held=held)
    except ConnectionMistake:
        raise
    except KafkaDrError:
        return RunProgress.UNKNOWN


class SwitchCourse:
    """The order of a switch, and what follows a failure; knows clusters only through what it is given.

    :param execute: tries a step once; raises :class:`StepFailed`, or another error if even that could not be kept
    :param look: reads the registers and returns where the run is; a mistake in a connection ends the wait for it
    :param deadline_seconds: how long a step is tried again
    """

    def __init__(
        self,
        verb: Verb,
        *,
        execute: Callable[[StepName], StepRecord],
        look: Callable[[], RunProgress],
        clock: Clock,
        deadline_seconds: float,
        watch: SwitchWatch,
    ) -> None:
        self._verb = verb
        self._execute = execute
        self._look = look
        self._clock = clock
        self._deadline_seconds = deadline_seconds
        self._watch = watch

    def run(self) -> tuple[StepRecord, ...]:
        """Run what is left of the switch.

        :raises SwitchStopped: see :func:`switch`
        """
        steps = switch_steps(self._verb)
        return tuple(self._step(step) for step in self._left(steps))

    def _left(self, steps: Sequence[StepName]) -> Sequence[StepName]:
        """Return the steps that a process that begins now has to run."""
        began = self._clock.monotonic()
        pauses = _Pauses(self._clock)
        while (move := at_start(self._verb, found := self._look_at_start(steps[0]))) is NextMove.READ_AGAIN:
            if self._clock.monotonic() - began >= PATIENCE_SECONDS:
                raise SwitchStopped(
                    steps[0],
                    NextMove.LATER,
                    f"the register that decides did not answer for {duration(PATIENCE_SECONDS)}, and only it knows "
                    "whether this run holds the group: this process changed nothing",
                )
            self._watch.says("the register that decides does not answer: it is read again")
            pauses.next()
        if move is NextMove.ROLL_BACK:
            raise SwitchStopped(
                steps[0],
                move,
                "another process of this run began the switch and stopped without recording a result; the run is "
                "rolled back",
            )
        if move is NextMove.STOP:
            raise SwitchStopped(steps[0], move, "this run was rolled back: trigger a new run")
        if found is RunProgress.HANDED_OVER:
            return [step for step in steps if definition(step, self._verb).goes_forward]
        return steps

    def _look_at_start(self, first: StepName) -> RunProgress:
        try:
            return self._look()
        except ConnectionMistake as mistake:
            raise SwitchStopped(first, NextMove.LATER, str(mistake)) from mistake

    def _step(self, step: StepName) -> StepRecord:
        """Run one step, again while that may help."""
        spent = _StepTime(self._clock.monotonic())
        pauses = _Pauses(self._clock)
        while True:
            self._watch.begins(step)
            try:
                record = self._execute(step)
            except StepFailed as failed:
                self._watch.ended(failed.record)
                failure = self._failure(step, failed)
                said = str(failed)
            except KafkaDrError as error:
                failure = self._failure(step, None)
                said = f"{step}: {error}"
            else:
                self._watch.ended(record)
                return record
            if (move := self._after(failure, spent)) is not NextMove.TRY_AGAIN:
                raise SwitchStopped(step, move, said)
            self._watch.says(f"{said}: {step} is tried again")
            pauses.next()

    def _failure(self, step: StepName, failed: StepFailed | None) -> StepFailure:
        may_hand_over = definition(step, self._verb).goes_forward
        if failed is None:
            return StepFailure("unknown", passing=False, may_hand_over=may_hand_over)
        return StepFailure(failed.record.outcome, passing=failed.passing, may_hand_over=may_hand_over)

    def _after(self, failure: StepFailure, spent: _StepTime) -> NextMove:
        """Read the register until it says what follows."""
        pauses = _Pauses(self._clock)
        asked = self._clock.monotonic()
        while True:
            try:
                found = self._look()
            except ConnectionMistake as mistake:
                self._watch.says(str(mistake))
                return after_failure(failure, RunProgress.UNKNOWN, time_left=False)
            now = self._clock.monotonic()
            if found is not RunProgress.UNKNOWN:
                spent.unknown += now - asked
            move = after_failure(failure, found, time_left=self._has_time(failure, found, spent, now))
            if move is not NextMove.READ_AGAIN:
                return move
            self._watch.says("the register that decides does not answer: it is read again")
            pauses.next()

    def _has_time(self, failure: StepFailure, found: RunProgress, spent: _StepTime, now: float) -> bool:
        """Return whether a step may be tried again, or the register read again."""
        if found is RunProgress.UNKNOWN and failure.may_hand_over:
            return now - spent.began < PATIENCE_SECONDS
        # After the hand-over, what was spent on a silent register is no reason to stop.
        pardoned = spent.unknown if found is RunProgress.HANDED_OVER else 0.0
        return now - spent.began - pardoned < self._deadline_seconds


@dataclass(slots=True)
class _StepTime:
    """Since when a step is tried, and for how many seconds of that the register was read; on the monotonic clock."""

    began: float
    unknown: float = 0.0


class _Pauses:
    """Pauses that grow: short at first, as applications wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seconds = _FIRST_PAUSE

    def next(self) -> None:
        """Pause, and let the next pause be longer."""
        self._clock.sleep(self._seconds)
        self._seconds = min(2 * self._seconds, _LONGEST_PAUSE)
