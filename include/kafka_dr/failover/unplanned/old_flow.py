"""The connector of the flow that was left: it can write nothing, but it is not gone before it is stopped.

With a dead source Connect takes a minute, and a worker that hangs takes longer: nobody waits for it. Until it is seen
stopped, the run's report says that it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafka_dr.errors import KafkaDrError
from kafka_dr.runs import background
from kafka_dr.runs.run import Run

#: How long Connect is given, to be told and to be asked.
_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class OldFlow:
    """What became of it.

    :param stopped: it was seen to be stopped, or not to be there
    """

    stopped: bool
    detail: str

    def to_json(self) -> dict[str, Any]:
        """Return it as it is journaled, and kept as evidence."""
        return {"stopped": self.stopped, "detail": self.detail}


def ask_to_stop(run: Run) -> background.BackgroundCall[None]:
    """Ask Connect to stop the flow, beside everything else."""
    return background.BackgroundCall("Connect", run.clients.replicator(run.flow).stop)


def stop_old_flow(run: Run) -> OldFlow:
    """Ask Connect once more to stop the flow, and say what became of it."""
    try:
        ask_to_stop(run).within(_SECONDS)
    except KafkaDrError as error:
        return OldFlow(False, f"{run.flow.connector} was asked to stop, and Connect has not answered: {error}")
    return look_at_old_flow(run)


def look_at_old_flow(run: Run) -> OldFlow:
    """Say what became of the flow by now; nothing is asked of it."""
    name = run.flow.connector
    try:
        status = background.ask("Connect", run.clients.replicator(run.flow).status, seconds=_SECONDS)
    except KafkaDrError as error:
        return OldFlow(False, f"{name} was asked to stop, and whether it has is not known: {error}")
    if status.at_rest:
        return OldFlow(True, f"{name} is {status.state}")
    return OldFlow(False, f"{name} was asked to stop and is {status.state} with {status.tasks} tasks")
