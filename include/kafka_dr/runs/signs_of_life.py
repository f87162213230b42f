"""Does a process still execute a run? The register says it, also if Airflow is gone and the evidence cannot be read.

Taking the run is a sign of life. As long as the process executes steps, a beat follows every 20 seconds, which also
says when the present step began. So a run that continues needs no register write of its own for each step. A step that
ends without success says that its process has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from threading import Event, Thread
from typing import Any

from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing.change import FRESH_SECONDS
from kafka_dr.register import RegisterState, arbiter
from kafka_dr.register.holding import Author
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.clients import Clients

#: The name of the fact. Only a register that says that this process has the run takes it.
ALIVE = "alive"
#: How long a process may show no sign of life until another one may continue its run without a confirmation.
SILENT_AFTER = timedelta(seconds=60)
BEAT_SECONDS = 20.0
#: How long a step that has failed waits until the registers know that its process has ended.
_END_SECONDS = 2.0


def alive(state: RegisterState, facts: Mapping[str, Any], *, now: datetime) -> str:
    """Return a sentence about the process that may still execute the run of a record; empty if none does.

    :param facts: what that run journaled in the register that decides
    """
    beat = facts.get(ALIVE, {})
    seen = state.attempt_at or state.at
    if (beat.get("epoch"), beat.get("attempt")) == (state.epoch, state.attempt):
        if beat["ended"]:
            return ""
        seen = max(seen, datetime.fromisoformat(beat["at"]))
    silent = now - seen
    if silent >= SILENT_AFTER:
        return ""
    by = f"the process {state.executor}" if state.executor else "the process that claimed the group"
    return (
        f"run {state.run} of {state.group} is still being executed: {by} showed life {duration(silent)} "
        f"ago, and only after {duration(SILENT_AFTER)} it counts as dead"
    )


def last_progress(state: RegisterState, journals: Iterable[Mapping[str, Any]]) -> datetime | None:
    """Return when the run of a record last made progress: a process took it, or began a step that is long.

    :param journals: the facts of the run, of each register that answered
    :returns: ``None`` if no register knows it; the run may have left evidence all the same
    """
    began = (facts.get(ALIVE, {}).get("began_at") for facts in journals)
    times = [state.attempt_at, *(datetime.fromisoformat(at) for at in began if at)]
    return max(filter(None, times), default=None)


def last_sign(state: RegisterState, journals: Iterable[Mapping[str, Any]]) -> datetime:
    """Return when a process of the run of a record last showed in a register that it is there.

    :param journals: the facts of the run, of each register that answered
    """
    beats = (datetime.fromisoformat(beat["at"]) for beat in _beats(state, journals))
    return max(state.attempt_at or state.at, *beats, state.at)


def beating(state: RegisterState, journals: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the newest beat of the process that has the run of a record: the step, and since when.

    :returns: ``None`` if no register that answered has one, or the process has said that it ended
    """
    beats = [beat for beat in _beats(state, journals) if beat.get("attempt") == state.attempt]
    newest = max(beats, key=lambda beat: str(beat["at"]), default=None)
    return None if newest is None or newest["ended"] or not newest.get("began_at") else newest


def has_ended(state: RegisterState, journals: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether the process that took the run of a record last has said that it ended."""
    beats = list(_beats(state, journals))
    return any(beat["ended"] and beat.get("attempt") == state.attempt for beat in beats)


def _beats(state: RegisterState, journals: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return (facts[ALIVE] for facts in journals if facts.get(ALIVE, {}).get("epoch") == state.epoch)


@contextmanager
def showing_life(clients: Clients, state: RegisterState, step: str) -> Iterator[None]:
    """Show that this process executes a step of a run, as long as the block lasts.

    :param state: the record with which it took the run
    """
    over, began = Event(), clients.clock.now()

    def beat() -> None:
        wait = _until_next(clients.executor.last_sign(state.group, state.run), began)
        while not over.wait(wait):
            clients.executor.showed_life(state.group, state.run, clients.clock.now())
            BackgroundCall("a sign of life", partial(_show, clients, state, step=step, began_at=began))
            wait = BEAT_SECONDS

    Thread(target=beat, name=f"signs of life of {state.run}", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _until_next(last: datetime | None, now: datetime) -> float:
    """Return the seconds until the next beat. Short steps of one process share its beats."""
    gone = (now - last).total_seconds() if last else 0.0
    return min(max(BEAT_SECONDS - gone, 0.0), BEAT_SECONDS)


def show_end(clients: Clients, group: str, run: str) -> None:
    """Say that this process has ended, if it took the run: another one may continue at once."""
    state = clients.executor.taken(group, run)
    if state is None:
        return
    with suppress(KafkaDrError):
        BackgroundCall("a last sign of life", partial(_show, clients, state, ended=True)).within(_END_SECONDS)


def leave(clients: Clients) -> None:
    """Change nothing more in this process, and say that it has ended; its caller ends it at once.

    A change that the register has permitted may still be sent for a second. Only after that another process may
    continue.
    """
    clients.executor.leave()
    clients.clock.sleep(FRESH_SECONDS)
    for group, run in clients.executor.runs:
        show_end(clients, group, run)


def _show(
    clients: Clients, state: RegisterState, *, step: str = "", began_at: datetime | None = None, ended: bool = False
) -> None:
    """Journal a beat in both registers, in the one that decides first.

    A process that lost the run says nothing more in any of them: it would hide the beats of the one that has it. The
    register that does not decide may not know yet that it lost.
    """
    beat = {
        "epoch": state.epoch,
        "attempt": state.attempt,
        "executor": state.executor,
        "at": clients.clock.now().isoformat(),
        "step": step,
        "began_at": began_at and began_at.isoformat(),
        "ended": ended,
    }
    author = Author(state.run, state.epoch, state.attempt, holds=True)
    for cluster in sorted((state.active, state.moved_with), key=lambda name: name != arbiter(state)):
        register = clients.register(cluster)
        with suppress(KafkaDrError):
            found = register.read(state.group)
            if found is not None and (found.epoch, found.attempt) > author.order:
                return
            register.write_fact(state.group, state.run, ALIVE, beat, by=author)
