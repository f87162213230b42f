"""A drill that is under way, and a run of it: the steps of the real verb, in its order, by the real code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_dr.drill.approving import DrillApprover, approve
from kafka_dr.drill.truth import Held
from kafka_dr.quoting import line
from kafka_dr.register import Verb
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import VERBS, RunRequest, StepDefinition, StepName, first_step, switch_steps
from kafka_dr.topology.drill_group import Drill
from kafka_dr.verbs.runner import run_step
from kafka_dr.verbs.switch import switch

#: How often a step is tried again that can only go forward, and the pause before it, in seconds, as in Airflow.
_AGAIN, _PAUSE_SECONDS = 3, 5.0
_APPROVALS = (StepName.APPROVAL, StepName.SECOND_APPROVAL)


@dataclass(frozen=True, slots=True)
class Course:
    """A drill that is under way.

    :param real: clients of the real group, which has to stay stable
    :param own: clients of the drill
    """

    drill: Drill
    real: Clients
    own: Clients
    approver: DrillApprover
    say: Callable[[str], None]
    requester: str = ""

    def request(self, name: str, verb: Verb, source: str, target: str) -> RunRequest:
        """Return the request for a run of the drill."""
        return RunRequest(
            self.drill.name,
            f"{self.drill.id}-{name}",
            source=source,
            target=target,
            reason=f"a drill of {self.drill.group.name}",
            verb=verb,
            requester=self.requester,
        )


@dataclass(frozen=True, slots=True)
class Moved:
    """A run that came through.

    :param approved_at: aware
    :param report: the facts of its report
    :param held: what its target held right after it; ``None``: what it holds when everything is over counts
    """

    request: RunRequest
    approved_at: datetime
    report: Mapping[str, Any]
    held: Held | None = None


@dataclass(frozen=True, slots=True)
class _Watch:
    say: Callable[[str], None]

    def begins(self, step: StepName) -> None:
        """Show nothing: a step takes less than a second."""

    def ended(self, record: StepRecord) -> None:
        """Show the step."""
        self.say(said_of(record))

    def says(self, sentence: str) -> None:
        """Show it."""
        self.say(line(sentence))


def said_of(record: StepRecord) -> str:
    """Return a step in one line."""
    return line(f"{record.step}: {record.outcome} in {record.seconds:.2f} s. {record.detail}")


def move(
    request: RunRequest,
    clients: Clients,
    approver: DrillApprover,
    say: Callable[[str], None],
    *,
    before: Mapping[StepName, Callable[[], None]] | None = None,
) -> Moved:
    """Run a whole verb. A failure ends the drill, and nothing is rolled back: the teardown removes the group.

    :param clients: of the drill
    :param before: what is done right before a step, as a task of its own does it in Airflow
    :raises KafkaDrError: a step did not succeed
    """
    first, switched = first_step(request.verb), switch_steps(request.verb)
    say(said_of(run_step(first, request, clients)))
    approved_at = approve(request, clients, approver)
    say(f"approval: by {approver.person.name}, verified by {approver.verified}")
    if switched:
        switch(request, clients, _Watch(say))
    report: Mapping[str, Any] = {}
    for step in VERBS[request.verb].steps:
        if step.name in (first, *_APPROVALS, *switched):
            continue
        if before and (job := before.get(step.name)) is not None:
            job()
        record = _tried(step, request, clients, say)
        report = record.facts
    return Moved(request, approved_at, report)


def _tried(
    step: StepDefinition, request: RunRequest, clients: Clients, say: Callable[[str], None], left: int = _AGAIN
) -> StepRecord:
    """Run a step that can only go forward, again as in Airflow; a refusal never is.

    :param left: how often it is tried again
    """
    try:
        record = run_step(step.name, request, clients)
        say(said_of(record))
        return record
    except StepFailed as failure:
        say(said_of(failure.record))
        if failure.record.outcome == "refused" or not left:
            raise
    clients.clock.sleep(_PAUSE_SECONDS)
    return _tried(step, request, clients, say, left - 1)
