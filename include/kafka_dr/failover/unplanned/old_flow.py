"""The old flow: it cannot write any more, but it exists until what runs it has stopped it.

With a dead source that takes a minute, and with a hanging worker longer, so no step waits for that. The report of the
run says whether the flow was seen stopped.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_dr.codec import StoredDocument
from kafka_dr.errors import KafkaDrError
from kafka_dr.runs import background
from kafka_dr.runs.run import Run

#: How long each request to what runs the flow may take, in seconds.
_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class OldFlow(StoredDocument):
    """The state of the old flow.

    :param stopped: it was seen stopped, or it does not exist
    :param detail: one sentence
    """

    stopped: bool
    detail: str


def ask_to_stop(run: Run) -> background.BackgroundCall[None]:
    """Ask the flow in the background to stop."""
    return background.BackgroundCall(f"the request to stop {run.flow.name}", run.clients.replicator(run.flow).stop)


def stop_old_flow(run: Run) -> OldFlow:
    """Ask the flow once more to stop, and return its state."""
    try:
        run.guard(run.record().phase).require()
        ask_to_stop(run).within(_SECONDS)
    except KafkaDrError as error:
        return OldFlow(False, f"{run.flow.name} was asked to stop, without an answer: {error}")
    return look_at_old_flow(run)


def look_at_old_flow(run: Run) -> OldFlow:
    """Return the state of the old flow as it is now, without another request to stop it."""
    name = run.flow.name
    try:
        status = background.ask(f"the state of {name}", run.clients.replicator(run.flow).status, seconds=_SECONDS)
    except KafkaDrError as error:
        return OldFlow(False, f"{name} was asked to stop, and it is unknown whether it has stopped: {error}")
    if status.at_rest:
        return OldFlow(True, f"{name} is {status.state}")
    return OldFlow(False, f"{name} was asked to stop and is {status.state} with {status.tasks} tasks, expected stopped")
