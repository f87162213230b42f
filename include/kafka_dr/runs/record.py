"""What a step saw and did, as it is kept in the evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import Check, worst
from kafka_dr.quoting import line
from kafka_dr.register import RegisterState

#: ``done``: acted and proved. ``passed``: a later step of this run is done already, nothing was changed.
#: ``would_do``: a dry run. ``refused``: a check forbade it. ``failed``: it was tried. ``unknown``: see the detail.
#: ``unproven``: acted past the point of no return, and a proof got no answer that the run need not wait for; never
#: shown as good, and asked again by the report.
StepOutcome = Literal["done", "passed", "would_do", "unproven", "refused", "failed", "unknown"]


def first_few(sentences: Sequence[str], most: int) -> list[str]:
    """Return the first of some sentences, and how many more there are; the facts hold all of them."""
    more = len(sentences) - most
    return [*sentences[:most], *([f"and {more} more"] if more > 0 else [])]


def standing_facts(state: RegisterState) -> dict[str, Any]:
    """Return the facts of a step that sets the register: how its run has left the group, and the epoch from then on."""
    return {"phase": str(state.run_phase), "epoch": state.epoch}


def claimed_facts(state: RegisterState) -> dict[str, Any]:
    """Return the facts of a claim: the group's phase and epoch from then on, who approved it, and when."""
    return {**standing_facts(state), "approved_by": state.approved_by, "claimed_at": state.at}


def shortfall(checks: Collection[Check], *, failed: StepOutcome) -> tuple[StepOutcome, str] | None:
    """Return how a step ends because of these checks, and why; ``None`` where all of them are ok.

    :param failed: what it means that one of them failed: it forbids acting, or says that acting did not work
    """
    if (found := worst(checks)) == "ok":
        return None
    said = " ".join(f"{check.name}: {check.detail}." for check in checks if not check.passes).replace("..", ".")
    return (failed if found == "failed" else "unknown"), said


def ended(proofs: Collection[Check], *, may_be_unknown: Collection[str], detail: str) -> tuple[StepOutcome, str]:
    """Return how a step ends that has acted, and why.

    :param may_be_unknown: the proofs that a run past the point of no return does not wait for: it cannot go back, and
        stopping would only keep applications out
    :param detail: the sentence of a step that is done
    """
    unproven = [proof for proof in proofs if proof.outcome == "unknown" and proof.name in may_be_unknown]
    if unproven and worst(proof for proof in proofs if proof not in unproven) == "ok":
        said = "; ".join(f"{proof.name}: {proof.detail}" for proof in unproven)
        return "unproven", f"{detail}. It is not known whether applications are let in, and the run continues: {said}"
    return shortfall(proofs, failed="failed") or ("done", detail)


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One line about a step.

    :param good: whether it names no reason for the step to stop
    """

    text: str
    good: bool


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One attempt of one step.

    :param intent: what acting means, in sentences; what a dry run prints
    :param seconds: from the start of the checks to the end of the proofs
    """

    group: str
    run: str
    step: str
    number: int
    outcome: StepOutcome
    started_at: datetime
    finished_at: datetime
    seconds: float
    detail: str
    intent: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    proofs: tuple[Check, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    evidence: str = ""
    evidence_sha256: str = ""
    schema_version: int = 1

    @property
    def good(self) -> bool:
        """Whether the run may continue."""
        return self.outcome in ("done", "passed", "would_do", "unproven")

    def payload(self) -> dict[str, Any]:
        """Return what is written to the evidence."""
        names = ("schema_version", "group", "run", "step", "outcome", "started_at", "finished_at", "seconds", "detail")
        head: dict[str, Any] = {name: getattr(self, name) for name in names}
        return head | {
            "intent": list(self.intent),
            "checks": [_payload(check) for check in self.checks],
            "proofs": [_payload(proof) for proof in self.proofs],
            "facts": dict(self.facts),
        }

    def summary(self) -> str:
        """Return the outcome as Markdown lines."""
        return "\n".join(each.text for each in self.lines())

    def lines(self) -> Iterator[SummaryLine]:
        """Return the outcome a line at a time, for a task's log."""
        head = f"{self.step}: {self.outcome} in {self.seconds:.2f} s. {self.detail}".rstrip()
        yield SummaryLine(line(head), good=self.good)
        if self.outcome == "would_do":
            yield from (SummaryLine(line(f"  would: {sentence}"), good=True) for sentence in self.intent)
        for kind, asked in (("check", self.checks), ("proof", self.proofs)):
            for each in asked:
                said = line(f"  {kind} {each.name}: {each.outcome}. {each.detail}")
                yield SummaryLine(said, good=each.passes)
        yield SummaryLine(f"  evidence: {self.evidence}", good=True)


#: The proof that says what an incomplete record lacks.
EVIDENCE_IS_WHOLE = "evidence_is_whole"
_NOT_KEPT = "not kept"


def without_what_was_refused(record: StepRecord, reason: str, *, goes_forward: bool) -> StepRecord:
    """Return what may be kept of a record whose evidence was refused: who did what, when, and how each proof ended.

    A step after which the run can only be finished keeps what it did. Before that, a run whose evidence is refused
    ends and is rolled back.

    :param reason: why it was refused, naming the field and never the value
    """
    outcome: StepOutcome = record.outcome
    if record.good and not goes_forward:
        outcome = "failed"
    gap = Check(EVIDENCE_IS_WHOLE, "excused" if goes_forward else "failed", reason)
    return replace(
        record,
        outcome=outcome,
        detail=f"the evidence of this step was refused, this record holds no more than how it ended. {reason}",
        intent=(),
        checks=tuple(replace(check, detail=_NOT_KEPT, facts={}) for check in record.checks),
        proofs=(*(replace(proof, detail=_NOT_KEPT, facts={}) for proof in record.proofs), gap),
        facts={},
    )


class StepFailed(KafkaDrError):
    """A step did not succeed; its record says why.

    :param passing: whether the same step may succeed a moment later: something did not answer, or too late
    """

    def __init__(self, record: StepRecord, *, passing: bool = False) -> None:
        self.record = record
        self.passing = passing
        super().__init__(f"{record.step} {record.outcome}: {record.detail}")


def _payload(check: Check) -> dict[str, Any]:
    return {"name": check.name, "outcome": check.outcome, "detail": check.detail, "facts": dict(check.facts)}
