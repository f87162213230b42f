"""Take the group for this run: the approvals are checked against the facts of now, then the registers are set.

The target's register decides. If the source's register answers, the run sets it first, so that no other run can claim
the group there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka_dr.approvals import approval, decision, signed
from kafka_dr.approvals.claiming import claim_fact
from kafka_dr.approvals.journaled import Answer, journal_of
from kafka_dr.approvals.who_may_answer import needs_second
from kafka_dr.disaster.disaster_rule import judge
from kafka_dr.disaster.probes import ask_vantages, take_probes
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned.claim import is_claimed
from kafka_dr.failover.unplanned import last_known
from kafka_dr.failover.unplanned.checks import decision_facts, unplanned_checks
from kafka_dr.outcomes import Check, Probe
from kafka_dr.register import RegisterConflict, RegisterState
from kafka_dr.register.transitions import claimed_unplanned
from kafka_dr.runs import background
from kafka_dr.runs.record import claimed_facts
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run

#: How long the last look at the source takes: every second is a second of outage, and two looks came before it.
_PROBE_SECONDS = 1.5
#: How long the register of a source that answers may take.
SOURCE_SECONDS = 5.0


def check(run: Run) -> Sequence[Check]:
    """The answers are fresh, are given by different approvers, and are about the facts that hold now."""
    if run.request.dry_run or is_claimed(run):
        return ()
    answers = _answers(run)
    given = [answer for answer in answers.values() if answer is not None]
    if missing := [step for step, answer in answers.items() if answer is None]:
        return (approval.not_answered(journal_of(run), missing),)
    run.probes = tuple(_last_look_at_source(run))
    facts = decision_facts(run, unplanned_checks(run, judge(run.source, run.probes, run.group.disaster)))
    people = {answer.person: answer.responder for answer in given}
    said = f"approved by {', '.join(sorted(people.values()))}"
    if len(people) < len(given):
        said = f"both approvals are by {', '.join(people.values())}, expected two different people: trigger a new run"
    return (
        *(found for answer in given for found in approval.judge(run, answer)),
        *(signed.verified(answer, run.group, run.request.run) for answer in given),
        approval.not_used(run),
        Check.that("approvers_differ", len(people) == len(given), said),
        decision.unchanged(run, facts, approved={answer.digest for answer in given}),
    )


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (
        f"write to the register of {run.target} that this run is switching {run.group.name}, "
        "with an epoch that is the next multiple of 1,000",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Compare and set the source's register if it answers, then the target's, which decides."""
    state = run.register_state
    if state is not None and is_claimed(run):
        run.clients.register(run.target).copy(state)
        return claimed_facts(state)
    answers = [answer for answer in _answers(run).values() if answer is not None]
    if state is None or not answers:
        raise approval.grounds_gone(run.group.name, run.request.run)
    new = _next(run, state, answers)
    run.write_fact("inputs", run.read_inputs())
    run.write_fact("claim", _fact(run, new, answers))
    if "source_ends" in last_known.taken_over(run) or "drained" in last_known.taken_over(run):
        run.write_fact("source_touched", {"by": last_known.taken_from(run)})
    source = _win_source(run, state, new)
    _win(run, run.target, state, new)
    return {**claimed_facts(new), "source_register": source}


def prove(run: Run) -> Sequence[Check]:
    """The deciding register names this run."""
    state = run.clients.register(run.target).read(run.group.name)
    held = state is not None and state.run == run.request.run
    said = f"{run.target}'s register names this run"
    if not held:
        said = (
            f"{run.target}'s register names {state.run if state else 'no run'}, expected {run.request.run}: another "
            "run has won"
        )
    return (Check.that("register_read_back", held, said),)


def _fact(run: Run, state: RegisterState, answers: Sequence[Answer]) -> dict[str, Any]:
    return {
        "verb": run.request.verb,
        **claim_fact(run, state, answers),
        "override": run.request.override,
        "taken_from": last_known.taken_from(run),
    }


def _last_look_at_source(run: Run) -> list[Probe]:
    if run.source in run.silent and "unreachable" in run.group.disaster.down_when:
        return ask_vantages(run.group, run.clients, source=run.source, seconds=_PROBE_SECONDS)
    return take_probes(run.group, run.clients, source=run.source, target=run.target, seconds=_PROBE_SECONDS)


def _next(run: Run, state: RegisterState, answers: Sequence[Answer]) -> RegisterState:
    """Return the record to write; if an earlier attempt died between the two registers, the same record again."""
    begun = run.journal.get("claim", {})
    reserved = [int(facts["claim"]["epoch"]) for facts in run.history.values() if "epoch" in facts.get("claim", {})]
    others = [epoch for epoch in reserved if epoch != begun.get("epoch")]
    return claimed_unplanned(
        state,
        run=run.request.run,
        source=run.source,
        target=run.target,
        highest_epoch=max([state.epoch, *others]),
        evidence_sha256=answers[0].digest,
        approved_by=", ".join(answer.responder for answer in answers),
        at=datetime.fromisoformat(begun["claimed_at"]) if begun else run.clock.now(),
    )


def _win(run: Run, cluster: str, state: RegisterState, new: RegisterState) -> None:
    """Compare and set a register; its record may be older than ``state``, and must not be newer."""
    register = run.clients.register(cluster)
    held = register.read(run.group.name)
    if held is not None and held.order > state.order and held != new:
        raise RegisterConflict(state, held)
    register.compare_and_set(held, new)


def _win_source(run: Run, state: RegisterState, new: RegisterState) -> str:
    """Set the source's register first if it answers, so that no other run can claim the group there."""
    if not any(probe.name == "metadata" and probe.outcome == "ok" for probe in run.probes):
        return f"{run.source} did not answer"

    def win() -> None:
        run.clients.require_declared(run.source)
        _win(run, run.source, state, new)

    try:
        background.ask(run.source, win, seconds=SOURCE_SECONDS)
    except RegisterConflict:
        raise
    except KafkaDrError as error:
        return str(error)
    return f"the register of {run.source} names this run, too"


def _answers(run: Run) -> dict[StepName, Answer | None]:
    """Return what the register holds for each approval that is needed."""
    needed = [StepName.APPROVAL]
    if needs_second(run.request, run.clients):
        needed.append(StepName.SECOND_APPROVAL)
    journal = journal_of(run)
    return {step: journal.answered(step) for step in needed}
