"""What a connector and its tasks are doing, in the words of Connect: its REST API and its status topic use the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from kafka_dr.causes import java_cause

#: Connect's own word for a state, in lower case; ``absent`` if there is no such connector, ``unknown`` if Connect does
#: not report a state.
ConnectorState = Literal["absent", "stopped", "running", "failed", "paused", "unassigned", "restarting", "unknown"]
_STATES = ("stopped", "running", "failed", "paused", "unassigned", "restarting")
#: In a trace of Java: where a cause begins, and where a message ends.
_CAUSE, _FRAMES = re.compile(r"^Caused by: ", re.MULTILINE), "\n\t"


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """One task of a connector.

    :param trace: what it failed with, the innermost cause first; empty otherwise
    """

    number: int
    state: ConnectorState
    worker: str
    trace: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """A connector and its tasks, as Connect sees them.

    :param tasks: those that have said something about themselves
    :param expected_tasks: how many are configured; one that has not started yet is only counted here
    """

    name: str
    state: ConnectorState
    tasks: tuple[TaskStatus, ...] = ()
    trace: str = ""
    expected_tasks: int = 0

    @property
    def settled(self) -> ConnectorState:
        """The state of connector and tasks together.

        ``stopped`` only when no task is left, ``running`` only when all configured tasks run.
        """
        states = {task.state for task in self.tasks}
        if self.state == "failed" or "failed" in states:
            return "failed"
        if self.state == "stopped":
            return "unknown" if self.tasks else "stopped"
        if self.state == "running" and (states != {"running"} or len(self.tasks) < self.expected_tasks):
            return "unassigned"
        return self.state

    @property
    def failure(self) -> str:
        """What connector and tasks failed with, in one line; tasks with the same cause are named together."""
        tasks: dict[str, list[str]] = {}
        for task in self.tasks:
            tasks.setdefault(task.trace, []).append(str(task.number))
        said = [
            f"{'task' if len(numbers) == 1 else 'tasks'} {', '.join(numbers)}: {trace}"
            for trace, numbers in tasks.items()
            if trace
        ]
        return "; ".join(filter(None, (self.trace, *said)))

    def need_not_be_waited_for(self, wanted: ConnectorState) -> bool:
        """Whether it has settled in a state, or will not do so.

        One that failed does not run by itself; but it can still be stopped, and then a task that failed is shown for a
        moment longer.
        """
        return self.settled == wanted or (self.settled == "failed" and wanted == "running")


def state_in(said: Mapping[str, Any]) -> ConnectorState:
    """Return the state in what Connect says of a connector or a task."""
    state = str(said.get("state", "")).lower()
    return cast("ConnectorState", state) if state in _STATES else "unknown"


def failure_in(said: Mapping[str, Any]) -> str:
    """Return what a connector or a task failed with, in one line; empty if it did not.

    Connect's trace begins with what the worker was doing and ends with why that failed. The reason comes first here.
    """
    trace = str(said.get("trace") or "").replace("\r", "")
    if not trace.strip():
        return ""
    messages = [java_cause(each.partition(_FRAMES)[0]) for each in _CAUSE.split(trace)]
    doing, cause = messages[0], messages[-1]
    return cause if cause == doing else f"{cause} ({doing})"
