"""What each verb would answer now: its own checks without their waits, and what else it needs. Nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from kafka_dr import parallel
from kafka_dr.approvals.who_may_answer import APPROVERS, enough
from kafka_dr.checks.cluster_checks import active_cluster
from kafka_dr.checks.register_checks import registers_usable
from kafka_dr.errors import KafkaDrError
from kafka_dr.failback.checks import failback_checks
from kafka_dr.failback.context import FailbackContext
from kafka_dr.failover.planned import preflight
from kafka_dr.failover.unplanned import gather_evidence
from kafka_dr.failover.unplanned.checks import target_checks
from kafka_dr.outcomes import Check
from kafka_dr.readiness.model import NOT_NEEDED, ReadinessCheck, ReadyVerb, VerbReadiness, worst_first
from kafka_dr.readiness_checks import standby, surroundings
from kafka_dr.register import Phase
from kafka_dr.register.roles import Role
from kafka_dr.register.transitions import copy_again
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.request import VERBS, RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.verbs.table import VERB_PARTS

Question = Callable[[Run], Check]

#: The name under which the checks ask; no register or evidence ever holds it.
_RUN = "readiness"
#: A failback makes its own list of stranded records before it asks for these.
_AFTER_THE_LIST = ("stranded_are_kept", "quarantine_permits")
#: A person can pass this one by acknowledging it.
_ACKNOWLEDGED = "hold_down"


def planned(group: str, clients: Clients) -> VerbReadiness:
    """Ask what the preflight asks, and whether the standby could carry the load; of several each."""
    return _to_each_standby(RunRequest(group, _RUN, dry_run=True), clients, _planned)


def _to_each_standby(request: RunRequest, clients: Clients, ask: Callable[[Run], VerbReadiness]) -> VerbReadiness:
    """Ask about a run that concerns the standby of a pair, or about one for each of several that it may concern."""
    run = Run(request, clients)
    state = run.register_state
    if state is None or not state.has_several:
        return ask(run)
    repairs = VERBS[request.verb].repairs is not None
    names = state.roles.given_up if repairs else state.followers or state.standbys
    asked = {name: ask(Run(replace(request, target=name), clients)) for name in names}
    checks = [
        replace(each, detail=f"to {name}: {each.detail}", standby=name)
        for name, found in asked.items()
        for each in found.checks
    ]
    expected = tuple(f"to {name}: {each}" for name, found in asked.items() for each in found.expected)
    return VerbReadiness(next(iter(asked.values())).verb, worst_first(checks), expected)


def _planned(run: Run) -> VerbReadiness:
    """Ask what a planned failover would ask that goes where a run goes."""
    if (held := _phase(run)).outcome != "ok":
        return _readiness("planned_failover", (held,))
    run.checks = tuple(preflight.check(run))
    more = _ask(run, {APPROVERS: enough, **standby.QUESTIONS, **surroundings.QUESTIONS})
    expected = _expected(run, lambda: preflight.measured(run)) if all(check.passes for check in run.checks) else ()
    return _readiness("planned_failover", (held, *run.checks, *more), expected)


def unplanned(group: str, clients: Clients) -> VerbReadiness:
    """Ask everything but the disaster itself that has to hold. Nothing here needs the source to answer."""
    return _to_each_standby(RunRequest(group, _RUN, dry_run=True, verb="unplanned_failover"), clients, _unplanned)


def _unplanned(run: Run) -> VerbReadiness:
    first = (_phase(run), active_cluster(run))
    if any(check.outcome != "ok" for check in first):
        return _readiness("unplanned_failover", first)
    run.checks = tuple(map(_may_be_acknowledged, target_checks(run)))
    more = _ask(run, {APPROVERS: enough, **standby.WITHOUT_SOURCE, **surroundings.WITHOUT_SOURCE})
    expected = _expected(run, lambda: gather_evidence.measured(run))
    return _readiness("unplanned_failover", (*first, *run.checks, *more), expected)


def failback(group: str, clients: Clients) -> VerbReadiness:
    """Ask what a failback would ask, if the group needs one."""
    request = RunRequest(group, _RUN, dry_run=True, verb="failback")
    state = Run(request, clients).register_state
    if state is None or not state.roles.given_up:
        said = "the standby is a copy: there is nothing to do"
        return _readiness("failback", (Check(NOT_NEEDED, "ok", said),))
    return _to_each_standby(request, clients, _failback)


def _failback(run: Run) -> VerbReadiness:
    checks = tuple(map(_before_the_list, failback_checks(FailbackContext(run))))
    return _readiness("failback", (*checks, *_ask(run, {APPROVERS: enough})))


#: How each verb is asked.
ASK: Mapping[ReadyVerb, Callable[[str, Clients], VerbReadiness]] = {
    "planned_failover": planned,
    "unplanned_failover": unplanned,
    "failback": failback,
}


def ask(verb: ReadyVerb, group: str, clients: Clients) -> VerbReadiness:
    """Ask one verb; if it cannot be asked at all, that is unknown and says why."""
    try:
        return ASK[verb](group, clients)
    except KafkaDrError as error:
        run = Run(RunRequest(group, _RUN, dry_run=True, verb=verb), clients)
        return _readiness(verb, (Check("registers", "unknown", str(error)), *_unusable_registers(run)))


def _unusable_registers(run: Run) -> tuple[Check, ...]:
    """Return which registers of clusters that answer can be neither read nor written: that stops every run."""
    answers = parallel.ask_each(lambda name: registers_usable(run, (name,)), run.declared.clusters)
    return tuple(each for each in answers.values() if isinstance(each, Check) and not each.passes)


def not_adopted(group: str) -> str:
    """Say that nobody has adopted a group."""
    return f"no register has a record of {group}: run dr_adopt"


def with_checks(found: VerbReadiness, more: tuple[Check, ...]) -> VerbReadiness:
    """Add checks to what a verb answers, if it has anything to do."""
    if found.answer == "not_needed":
        return found
    return replace(found, checks=worst_first((*found.checks, *map(_row, more))))


def _phase(run: Run) -> Check:
    """Return whether the verb may take the group from the phase that it is in."""
    state, name = run.register_state, "phase"
    if state is None:
        return Check(name, "failed", not_adopted(run.group.name))
    said = f"{run.group.name} is {state.phase.value} by run {state.run} (epoch {state.epoch})"
    if VERBS[run.request.verb].may_take(state):
        return Check(name, "ok", said)
    if state.is_held:
        return Check(name, "failed", f"{said}: wait until that run ends; if it died, use dr_resume")
    if state.phase is Phase.RELEASED:
        return Check(name, "failed", f"{said}: it is not adopted, run dr_adopt")
    away = [name for name in state.standbys if state.roles.of(name) is Role.UNFENCED]
    first = f"dr_health has to fence {' and '.join(away)} first; then " if away else ""
    return Check(name, "failed", f"{said}: {first}{copy_again(state)}")


def _ask(run: Run, questions: Mapping[str, Question]) -> tuple[Check, ...]:
    answers = parallel.ask_each(lambda name: questions[name](run), questions)
    return tuple(
        answer if isinstance(answer, Check) else Check(name, "unknown", str(answer)) for name, answer in answers.items()
    )


def _expected(run: Run, measure: Callable[[], Mapping[str, object]]) -> tuple[str, ...]:
    try:
        return tuple(VERB_PARTS[run.request.verb].question.costs(run, {"measurements": measure()}))
    except KafkaDrError as error:
        return (f"what a run would lose and cost is not known: {error}",)


def _may_be_acknowledged(check: Check) -> Check:
    passes = check.name == _ACKNOWLEDGED and check.outcome == "failed"
    return replace(check, outcome="warning") if passes else check


def _before_the_list(check: Check) -> Check:
    waits = check.name in _AFTER_THE_LIST and check.outcome == "unknown"
    return replace(check, outcome="excused") if waits else check


def _readiness(verb: ReadyVerb, checks: tuple[Check, ...], expected: tuple[str, ...] = ()) -> VerbReadiness:
    return VerbReadiness(verb, worst_first(map(_row, checks)), expected)


def _row(check: Check) -> ReadinessCheck:
    return ReadinessCheck(check.name, check.outcome, check.detail)
