"""Running one step: may I, act, did it work. Whatever happens, the evidence of it is kept first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from kafka_dr.errors import KafkaDrError, NeedsPerson, OutcomeUnknown
from kafka_dr.failover.position import position
from kafka_dr.failover.record import Check, StepFailed, StepOutcome, StepRecord, worst
from kafka_dr.failover.request import PLANNED_FAILOVER, RunRequest, StepName
from kafka_dr.failover.run import Run
from kafka_dr.failover.steps import STEPS
from kafka_dr.failover.world import World


class Step(Protocol):
    """A step is a module with these functions, which read in order.

    Each can be run again at any time: it looks at the world, does what is missing, and proves again.
    """

    @staticmethod
    def check(run: Run) -> Sequence[Check]:
        """May I? Changes nothing."""
        ...

    @staticmethod
    def intent(run: Run) -> Sequence[str]:
        """Say what acting means, in sentences."""
        ...

    @staticmethod
    def act(run: Run) -> Mapping[str, Any]:
        """Do what is missing, and return the facts of it."""
        ...

    @staticmethod
    def prove(run: Run) -> Sequence[Check]:
        """Did it work? Asked of the world, not concluded from what was sent."""
        ...


@dataclass(slots=True)
class Attempt:
    """A step record in the making."""

    group: str
    run: str
    step: str
    number: int
    started_at: datetime
    started: float
    intent: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    proofs: tuple[Check, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def start(cls, request: RunRequest, world: World, step: str, number: int) -> Attempt:
        """Begin an attempt now."""
        clock = world.clock
        return cls(request.protection_group, request.run, step, number, clock.now(), clock.monotonic())

    def end(self, world: World, outcome: StepOutcome, detail: str) -> StepRecord:
        """End the attempt: write its evidence and return the record, which knows where that lies.

        :raises StepFailed: the outcome is not a good one
        """
        record = StepRecord(
            group=self.group,
            run=self.run,
            step=self.step,
            number=self.number,
            outcome=outcome,
            started_at=self.started_at,
            finished_at=world.clock.now(),
            seconds=round(world.clock.monotonic() - self.started, 3),
            detail=detail,
            intent=self.intent,
            checks=self.checks,
            proofs=self.proofs,
            facts=self.facts,
        )
        kept = world.evidence.write(self.group, self.run, self.number, self.step, record.payload())
        record = replace(record, evidence=str(kept.path), evidence_sha256=kept.sha256)
        if not record.good:
            raise StepFailed(record)
        return record


def run_step(step: StepName, request: RunRequest, world: World) -> StepRecord:
    """Run one step of the planned failover.

    :raises StepFailed: it was refused, failed, or its outcome is unknown; the record says which, and why
    """
    number = next(found.number for found in PLANNED_FAILOVER if found.name is step)
    attempt = Attempt.start(request, world, step, number)
    try:
        outcome, detail = _go(STEPS[step], step, Run(request, world), attempt)
    except (OutcomeUnknown, NeedsPerson) as error:
        return attempt.end(world, "unknown", str(error))
    except KafkaDrError as error:
        return attempt.end(world, "failed", str(error))
    except Exception as error:  # noqa: BLE001 - a mistake of this program stops the run as well, and is kept
        try:
            return attempt.end(world, "failed", f"unforeseen {type(error).__name__}: {error}")
        except StepFailed as failed:
            raise failed from error
    record = attempt.end(world, outcome, detail)
    if step is StepName.REPORT:
        world.evidence.seal(request.protection_group, request.run)
    return record


def _go(module: Step, step: StepName, run: Run, attempt: Attempt) -> tuple[StepOutcome, str]:
    where = position(step, run.request.run, run.standing)
    dry = run.request.dry_run
    if where.verdict == "passed":
        return "passed", where.detail
    if where.verdict == "refused" and not (dry and _at_rest(run)):
        return "refused", where.detail
    run.checks = attempt.checks = tuple(module.check(run))
    attempt.intent = tuple(module.intent(run))
    if (found := worst(attempt.checks)) != "ok":
        return ("refused" if found == "failed" else "unknown"), _reasons(attempt.checks)
    if dry:
        return "would_do", "dry run: nothing was changed"
    attempt.facts = module.act(run)
    attempt.proofs = tuple(module.prove(run))
    if (found := worst(attempt.proofs)) != "ok":
        return ("failed" if found == "failed" else "unknown"), _reasons(attempt.proofs)
    return "done", where.detail


def _at_rest(run: Run) -> bool:
    """Whether a later step is refused only because a dry run claims nothing."""
    return position(StepName.CLAIM, run.request.run, run.standing).verdict == "here"


def _reasons(checks: Sequence[Check]) -> str:
    return " ".join(f"{check.name}: {check.detail}." for check in checks if check.outcome != "ok").replace("..", ".")
