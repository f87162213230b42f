"""The step with which every verb takes a group for a run.

The answers are judged against the facts of now, the grounds of the claim are journaled, then the registers are set. So
a run that dies right after the compare-and-set can be finished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_dr.approvals import approval, signed
from kafka_dr.approvals.decision import digest_of, unchanged
from kafka_dr.approvals.journaled import Answer, journal_of
from kafka_dr.approvals.who_may_answer import deletes_data, needs_second
from kafka_dr.checks.cluster_checks import registers_name_this_run
from kafka_dr.errors import Refused
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.runs.record import claimed_facts
from kafka_dr.runs.request import VERBS, StepName
from kafka_dr.runs.run import Run

#: The fact that holds the grounds of a claim.
GROUNDS = "claim"
Facts = Mapping[str, Any]


def set_both(run: Run, before: RegisterState | None, state: RegisterState) -> Facts:
    """Compare and set the source's register, which decides, then copy the record to the target."""
    run.clients.register(run.source).compare_and_set(before, state)
    run.clients.register(run.target).copy(state)
    return {}


@dataclass(frozen=True, slots=True)
class ClaimStep:
    """The claim of a verb: what is the same for all of them is here.

    :param says: what acting means, in sentences
    :param decided: the decision facts of now; not asked before there are answers
    :param begun: the record that the run writes, from what every claim puts into it
    :param facts: what the run journals before it sets a register, by the name of the fact; under :data:`GROUNDS` what
        it adds to the grounds
    :param ahead: looks once more right before the run takes the group, and returns facts of the step
    :param dry: what a dry run checks
    :param write: journals a fact
    :param win: sets the registers, and returns facts of the step
    :param proves: asks the registers which run they name
    """

    says: Callable[[Run], Sequence[str]]
    decided: Callable[[Run], Facts]
    begun: Callable[[Run, dict[str, Any]], RegisterState]
    facts: Callable[[Run, Sequence[Answer]], Mapping[str, Facts]]
    ahead: Callable[[Run], Facts] = lambda _: {}
    dry: Callable[[Run], Sequence[Check]] = lambda _: ()
    write: Callable[[Run, str, Facts], None] = Run.write_fact
    win: Callable[[Run, RegisterState | None, RegisterState], Facts] = set_both
    proves: Callable[[Run], Sequence[Check]] = registers_name_this_run

    def check(self, run: Run) -> Sequence[Check]:
        """The answers are fresh, are given by different approvers, and are about the facts that hold now."""
        if run.request.dry_run:
            return self.dry(run)
        return () if is_claimed(run) else _permitted(run, self.decided)

    def intent(self, run: Run) -> Sequence[str]:
        """Say what acting means."""
        return self.says(run)

    def act(self, run: Run) -> Facts:
        """Journal the grounds, then set the register that decides and the other one."""
        before = run.register_state
        if before is not None and is_claimed(run):
            if before.is_unproven or run.request.leaves:
                return {**claimed_facts(before), **self.win(run, before, before)}
            run.clients.register(run.target).copy(before)
            return claimed_facts(before)
        found = _answers(run)
        answers = [answer for answer in found.values() if answer is not None]
        if len(answers) < len(found):
            raise approval.grounds_gone(run.group.name, run.request.run)
        ahead = self.ahead(run)
        # That may have taken a while, and the approval counts for a time only.
        if late := [each.detail for answer in answers for each in approval.judge(run, answer) if not each.passes]:
            raise Refused(f"{late[0]}. Nothing was changed")
        facts = self.facts(run, answers)
        state = self.begun(run, _signed(run, answers))
        grounds = {**_grounds(run, state, answers), **facts.get(GROUNDS, {})}
        for name, fact in {**facts, GROUNDS: grounds}.items():
            self.write(run, name, fact)
        return {**claimed_facts(state), **ahead, **self.win(run, before, state)}

    def prove(self, run: Run) -> Sequence[Check]:
        """The registers name this run."""
        return self.proves(run)


def is_claimed(run: Run) -> bool:
    """Return whether this run holds the group already, and has not come further than its claim."""
    state, verb = run.register_state, run.request.verb
    return state is not None and (state.run, state.verb, state.run_phase) == (
        run.request.run,
        verb,
        VERBS[verb].claimed,
    )


def approved_facts(run: Run, digest: str) -> Facts | None:
    """Return the decision facts that were approved; ``None`` if the evidence of the preflight is not what was approved.

    :param digest: that the answer is about
    """
    kept = run.clients.evidence.newest(run.group.name, run.request.run, StepName.PREFLIGHT.value)
    decided: Facts = (kept or {}).get("facts", {}).get("decision", {})
    return decided if digest_of(decided) == digest else None


def _answers(run: Run) -> dict[StepName, Answer | None]:
    """Return what the register holds for each approval that is needed."""
    second = (StepName.SECOND_APPROVAL,) if needs_second(run.request, run.clients) else ()
    journal = journal_of(run)
    return {step: journal.answered(step) for step in (StepName.APPROVAL, *second)}


def _permitted(run: Run, decided: Callable[[Run], Facts]) -> Sequence[Check]:
    found = _answers(run)
    answers = [answer for answer in found.values() if answer is not None]
    if missing := [step for step, answer in found.items() if answer is None]:
        return (approval.not_answered(journal_of(run), missing),)
    now = decided(run)
    glass = not deletes_data(run.request)
    return (
        *(each for answer in answers for each in approval.judge(run, answer)),
        *(signed.verified(answer, run.group, run.request.run, glass=glass) for answer in answers),
        approval.not_used(run),
        *_by_two_people(answers),
        unchanged(run, now, approved={answer.digest for answer in answers}),
    )


def _by_two_people(answers: Sequence[Answer]) -> Sequence[Check]:
    if len(answers) < 2:
        return ()
    people = {answer.person: answer.responder for answer in answers}
    differ, said = len(people) == len(answers), f"approved by {', '.join(sorted(people.values()))}"
    if not differ:
        said = f"both approvals are by {', '.join(people.values())}, expected two different people: trigger a new run"
    return (Check.that("approvers_differ", differ, said),)


def _signed(run: Run, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return what every claim puts into its record."""
    return {
        "run": run.request.run,
        "evidence_sha256": answers[0].digest,
        "approved_by": ", ".join(answer.responder for answer in answers),
        "at": run.clock.now(),
    }


def _grounds(run: Run, state: RegisterState, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return what every claim journals of its grounds.

    :param state: the record that the claim writes
    """
    return {
        "verb": run.request.verb,
        "source": run.source,
        "target": run.target,
        "epoch": state.epoch,
        "reason": run.request.reason,
        "requested_by": run.request.requester,
        "approved_by": state.approved_by,
        "approved_at": max(answer.responded_at for answer in answers).isoformat(),
        "digest": state.evidence_sha256,
        "answers": [answer.own_digest for answer in answers],
        "claimed_at": state.at.isoformat(),
    }
