"""A failback driven by a test: each step, with the approvals and the audit that come between."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.approvals.who_may_answer import needs_second
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import FAILBACK, RunRequest, StepName
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.runner import run_step
from support.dying_process import DyingProcess
from support.protection import Protection
from support.switched_group import Killed

_RUNS = itertools.count(1)
PEOPLE = (StepName.APPROVAL, StepName.SECOND_APPROVAL)
STEPS = tuple(step.name for step in FAILBACK if step.name not in PEOPLE)


@dataclass(slots=True)
class FailbackRun:
    """One failback.

    :param audit: audits the whole flow back
    :param target: the cluster that becomes a copy again; the only one where ``None``
    """

    protection: Protection
    audit: Callable[[], None]
    mode: str = "quarantine"
    rescue: str = "keep"
    late: str = "declared"
    dry_run: bool = False
    target: str | None = None
    run: str = field(default_factory=lambda: f"home-{next(_RUNS)}")

    @property
    def request(self) -> RunRequest:
        return RunRequest(
            self.protection.name,
            self.run,
            target=self.target,
            reason="a test",
            dry_run=self.dry_run,
            verb="failback",
            mode=self.mode,  # type: ignore[arg-type]
            rescue=self.rescue,  # type: ignore[arg-type]
            late=self.late,  # type: ignore[arg-type]
        )

    def step(self, step: StepName) -> StepRecord:
        """Run a step in a world of its own, as a new worker does."""
        with self.protection.clients() as clients:
            return run_step(step, self.request, clients)

    def failed(self, step: StepName) -> StepRecord:
        """Run a step that must not come through, and return what it left in the evidence."""
        try:
            record = self.step(step)
        except StepFailed as failure:
            return failure.record
        raise AssertionError(f"{step} went through: {record.summary()}")

    def wherever_it_dies(self, step: StepName) -> str:
        """Run a step that dies after each of its changes, then once more for nothing, and return where it died."""
        mortal = DyingProcess()
        for outcome in (mortal.until_through(partial(self.step, step)).outcome, self.step(step).outcome):
            assert outcome == "done", (step, outcome, mortal.died)
        return "\n".join(mortal.died)

    def killed(self, step: StepName, place: AbstractContextManager[None]) -> None:
        """Run a step that does not live to see its end."""
        with self.protection.clients() as clients, place:
            try:
                run_step(step, self.request, clients)
            except Killed:
                return
        raise AssertionError(f"{step} came through: it never reached the point where it was to die")

    def approve(self, responder: str = "alice", step: StepName = StepName.APPROVAL) -> bool:
        """Ask for an approval and answer it; whether anybody was asked."""
        with self.protection.clients() as clients:
            if step is StepName.SECOND_APPROVAL and not needs_second(self.request, clients):
                return False
            question = ask_approval(self.request, clients, step)
            record_answer(self.request, clients, Answer(True, responder, datetime.now(UTC), question.digest), step)
            return True

    def begin(self) -> None:
        """Run through the claim."""
        self.step(StepName.PREFLIGHT)
        self.approve()
        if self.mode == "rebuild":
            self.approve("bob", StepName.SECOND_APPROVAL)
        self.step(StepName.CLAIM)

    def run_all(self) -> None:
        """Run the whole failback."""
        self.begin()
        self.finish()

    def finish(self, first: StepName = StepName.RESCUE) -> None:
        """Run from a step to the end, the audit included."""
        for step in STEPS[STEPS.index(first) :]:
            if step is StepName.SETTLE:
                self.audit()
            self.step(step)
