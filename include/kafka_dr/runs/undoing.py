"""How every run is undone: as a numbered attempt of its own, and first in the register, so that one process wins."""

from __future__ import annotations

from collections.abc import Callable

from kafka_dr.errors import TryAgain
from kafka_dr.register import Phase, RegisterConflict, RegisterState
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed, StepOutcome, StepRecord
from kafka_dr.runs.request import ROLL_BACK_NUMBER, RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.runs.sealing import seal_or_later
from kafka_dr.runs.signs_of_life import show_end

#: How often other processes of the run may be faster.
_TRIES = 10


def carry_out_undoing(
    request: RunRequest,
    clients: Clients,
    undo: Callable[[Run, Attempt], tuple[StepOutcome, str]],
    *,
    refusal: StepOutcome = "failed",
) -> StepRecord:
    """Undo a run and seal its evidence; if that fails, say in the register that this process has ended.

    :param undo: returns how it ended, and one sentence about it
    :param refusal: the outcome if something was refused
    :raises StepFailed: it did not end well; then it is done again
    """
    attempt = Attempt.start(
        request.protection_group, request.run, clients, "roll_back", ROLL_BACK_NUMBER, goes_forward=True
    )
    group, run = request.protection_group, request.run
    with clients.shown.step(group, run, request.verb, "roll_back", holds=True):
        try:
            record = attempt.carry_out(clients, lambda: undo(Run(request, clients), attempt), refusal=refusal)
        except StepFailed:
            show_end(clients, group, run)
            raise
    seal_or_later(clients, group, run)
    return record


def take_back(
    run: Run,
    held: Phase,
    *,
    undone: Callable[[RegisterState], RegisterState],
    taken: Callable[[RegisterState], RegisterState],
    again: str,
) -> RegisterState | None:
    """Set the register so that no other process may change anything, and return the record that it holds then.

    :param held: the phase in which the run can be undone; in another one the record is returned as it is
    :param undone: returns the record that undoes the run
    :param taken: takes the run, if another process has undone it and may have died: if that only sleeps, it changes
        nothing from then on
    :param again: what to run again if other processes were always faster, for a person
    :raises TryAgain: they were
    """
    state = run.register_state
    for _ in range(_TRIES):
        if state is None or state.run != run.request.run:
            return state
        if state.verb == "roll_back":
            return taken(state)
        if state.phase is not held:
            return state
        try:
            return run.advance(undone(state))
        except RegisterConflict as lost:
            # A step of the run that is still alive, or another process that undoes it, was faster. Its record decides.
            run.register_state = state = lost.found
    raise TryAgain(
        f"{_TRIES} times another process of run {run.request.run} wrote to the register first: stop these processes, "
        f"then run {again} again"
    )
