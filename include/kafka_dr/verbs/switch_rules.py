"""When a switch continues, tries a step again, waits or ends: pure rules over the register and how a step failed.

Before the hand-over, a failure that passes is tried again in the same process, as long as the step's deadline permits.
Every other failure ends the switch, and the roll back undoes it. After the hand-over nothing is undone: the step is
tried again, first by this process and then by whatever started it. If it is unknown whether the hand-over is passed,
the register is read until it answers: a roll back and a retry would both be a guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kafka_dr.register import Phase, RegisterState, Verb
from kafka_dr.runs.record import StepOutcome

#: The phases of a run whose point of no return is not passed.
_BEFORE = (Phase.SWITCHING, Phase.ADOPTING)


class RunProgress(Enum):
    """Where the register says that a run is.

    ``FREE``: it holds nothing yet. ``LOST``: it was rolled back, or another run or another process of it holds the
    group. ``UNKNOWN``: the register that decides does not answer.
    """

    FREE = "free"
    SWITCHING = "switching"
    HANDED_OVER = "handed over"
    LOST = "lost"
    UNKNOWN = "unknown"


class NextMove(Enum):
    """What a switch does next.

    ``ROLL_BACK``: it ends, and what it changed is undone. ``LATER``: it ends, and another try continues from the
    register. ``STOP``: it ends, and neither a roll back nor another try of the same kind helps.
    """

    CONTINUE = "continue"
    TRY_AGAIN = "try again"
    READ_AGAIN = "read again"
    ROLL_BACK = "roll back"
    LATER = "later"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class StepFailure:
    """How a step failed.

    :param passing: whether it may succeed a moment later
    :param may_hand_over: whether the step contains the hand-over, or comes after it
    """

    outcome: StepOutcome
    passing: bool
    may_hand_over: bool


def run_progress(state: RegisterState | None, run: str, *, held: RegisterState | None) -> RunProgress:
    """Return where a run is.

    :param state: the record that counts now
    :param held: the record with which this process took the run; ``None`` if it has not taken it
    """
    if state is None or state.run != run:
        return RunProgress.FREE if held is None else RunProgress.LOST
    if state.verb == "roll_back" or (held is not None and state.executor != held.executor):
        return RunProgress.LOST
    return RunProgress.SWITCHING if state.phase in _BEFORE else RunProgress.HANDED_OVER


def at_start(verb: Verb, found: RunProgress) -> NextMove:
    """Return what a process does that begins a switch.

    A run that is switching already had another process, which stopped without recording a result. With a healthy
    source the run is rolled back, as applications wait and nobody knows why it ended. With a dead source there is
    nothing to go back to.
    """
    if found is RunProgress.SWITCHING and verb != "unplanned_failover":
        return NextMove.ROLL_BACK
    return _AT_START.get(found, NextMove.CONTINUE)


_AT_START = {RunProgress.UNKNOWN: NextMove.READ_AGAIN, RunProgress.LOST: NextMove.STOP}


def after_failure(failure: StepFailure, found: RunProgress, *, time_left: bool) -> NextMove:
    """Return what a switch does after one of its steps failed.

    :param found: where the register says that the run is, read after the failure
    :param time_left: whether the step's deadline permits another try
    """
    if found is RunProgress.UNKNOWN:
        return _while_unknown(failure, time_left=time_left)
    if found is RunProgress.LOST:
        return NextMove.STOP
    again = time_left and failure.outcome != "refused"
    if found is RunProgress.HANDED_OVER:
        # A refusal is final: the record itself says that the step may not run.
        return NextMove.TRY_AGAIN if again else NextMove.STOP if failure.outcome == "refused" else NextMove.LATER
    return NextMove.TRY_AGAIN if again and failure.passing else NextMove.ROLL_BACK


def _while_unknown(failure: StepFailure, *, time_left: bool) -> NextMove:
    if time_left:
        return NextMove.READ_AGAIN
    # Only a step that could hand over leaves it unknown whether the run can still be rolled back.
    return NextMove.LATER if failure.may_hand_over else NextMove.ROLL_BACK
