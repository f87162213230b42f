"""What is known about a protection group without Airflow: registers, route, flows, and what to do next."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import permutations
from typing import Any, Literal

from kafka_dr.causes import cause
from kafka_dr.checks import pattern_topics
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.health.half_moved import HALF_MOVED
from kafka_dr.health.registers import RegisterAnswers, read_registers
from kafka_dr.health.report_only import check_route
from kafka_dr.health.stalled_runs import half_moved_group
from kafka_dr.outcomes import Check, Outcome, worst
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.roles import Role
from kafka_dr.register.transitions import copy_again
from kafka_dr.replication.flow import Flow
from kafka_dr.runs import background
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.signs_of_life import beating
from kafka_dr.watch_results import RunningStep, RunningSteps

_RUNNING = "running"
#: How long route, flows and journal may take, all at the same time.
QUESTION_SECONDS = 8.0

#: ``silent``: no answer in time. ``other_cluster``: its id is not the declared one, so its record is ignored.
RegisterWord = Literal["record", "no_record", "silent", "other_cluster"]


@dataclass(frozen=True, slots=True)
class RegisterStatus:
    """What the register of one cluster says.

    :param detail: why there is no record
    """

    cluster: str
    answer: RegisterWord
    phase: str = ""
    active: str = ""
    epoch: int | None = None
    revision: int | None = None
    run: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """Everything about one group; ``as_json`` has stable keys.

    :param outcome: ``failed``: somebody has to do something; ``unknown``: something did not answer
    :param can_be_abandoned: whether the run that holds the group can still be rolled back; ``None`` if no run holds it
    :param facts: the names of what the run of the record has journaled, which shows how far it came
    :param next_steps: sentences for the person who reads this
    :param patterns: which topics the group's patterns match; ``None`` if it has none
    :param half_moved: why no program continues a run that holds the group; ``None`` if none has to
    :param running: what runs of the group execute, by their own words and by the register
    :param at: the time of the answer, UTC
    """

    group: str
    outcome: Outcome
    registers: tuple[RegisterStatus, ...]
    route: Check
    flows: tuple[Check, ...]
    state: RegisterState | None = None
    can_be_abandoned: bool | None = None
    facts: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    patterns: Check | None = None
    half_moved: Check | None = None
    running: tuple[RunningStep, ...] = ()
    at: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the status for a program. Keys are only ever added."""
        state = self.state
        record = None if state is None else json.loads(state.to_json())
        return {
            "group": self.group,
            "outcome": self.outcome,
            "record": record,
            "can_be_abandoned": self.can_be_abandoned,
            "registers": [asdict(each) for each in self.registers],
            "route": _row(self.route),
            "flows": [_row(flow) for flow in self.flows],
            "facts": list(self.facts),
            "next_steps": list(self.next_steps),
            "half_moved": "" if self.half_moved is None else self.half_moved.detail,
            "running": [each.to_json() for each in self.running],
            **({} if self.patterns is None else {"patterns": _row(self.patterns) | dict(self.patterns.facts)}),
        }


def _row(check: Check) -> dict[str, str]:
    return {"name": check.name, "outcome": check.outcome, "detail": check.detail}


def status_of(group: str, clients: Clients) -> GroupStatus:
    """Ask everything about a group, each cluster with a deadline; nothing is changed.

    :raises UnknownName: the topology declares no such group
    """
    context = GroupContext(group, clients)
    answers = read_registers(context)
    registers = tuple(_register(context, name, answers) for name in context.group.clusters)
    try:
        state = answers.newest
    except NeedsPerson as conflict:
        not_asked = Check("route", "unknown", "not asked: the registers contradict each other")
        return GroupStatus(group, "failed", registers, not_asked, (), next_steps=(str(conflict),))
    checks = _asked(_questions(context, state))
    patterns = _asked(_of_patterns(context, answers)).get(pattern_topics.NAME)
    half_moved = checks.pop(HALF_MOVED, None)
    half_moved = half_moved if half_moved is not None and half_moved.outcome != "ok" else None
    flows = tuple(check for name, check in checks.items() if name not in ("route", "journal", _RUNNING))
    journal = checks["journal"]
    running: tuple[RunningStep, ...] = checks[_RUNNING].facts.get("steps", ())
    said = _next_steps(group, state, answers)
    return GroupStatus(
        group,
        _outcome(state, answers, (*checks.values(), *filter(None, (patterns, half_moved)))),
        registers,
        checks["route"],
        flows,
        state,
        _can_be_abandoned(state),
        tuple(journal.facts.get("names", ())),
        said if journal.outcome == "ok" else (*said, journal.detail),
        patterns,
        half_moved,
        running,
        clients.clock.now(),
    )


def _of_patterns(context: GroupContext, answers: RegisterAnswers) -> Mapping[str, Callable[[], Check]]:
    if not context.declared.topic_patterns:
        return {}
    clusters = tuple(answers.states)
    return {pattern_topics.NAME: lambda: pattern_topics.topics_of_patterns(context, clusters, dated=True)[0]}


def _register(context: GroupContext, cluster: str, answers: RegisterAnswers) -> RegisterStatus:
    if cluster in answers.silent:
        return RegisterStatus(cluster, "silent", detail=str(answers.silent[cluster]))
    if cluster in answers.wrong_ids:
        declared = context.clients.topology.cluster(cluster).cluster_id
        seen = f"the cluster at its address has the id {answers.wrong_ids[cluster]}, expected {declared}"
        return RegisterStatus(cluster, "other_cluster", detail=f"{seen}: fix the connection or the topology")
    state = answers.states[cluster]
    if state is None:
        return RegisterStatus(cluster, "no_record", detail="its register has no record of the group")
    return RegisterStatus(cluster, "record", state.phase, state.active, state.epoch, state.revision, state.run)


def _questions(context: GroupContext, state: RegisterState | None) -> Mapping[str, Callable[[], Check]]:
    asked: dict[str, Callable[[], Check]] = {"route": lambda: _route(context, state)}
    for ends in permutations(context.group.clusters, 2):
        flow = context.flow_between(*ends)
        asked[flow.name] = lambda flow=flow: _flow(context, flow)  # type: ignore[misc]
    asked["journal"] = lambda: _journal(context, state)
    asked[_RUNNING] = lambda: _running(context, state)
    if state is not None:
        asked[HALF_MOVED] = lambda: half_moved_group(context, state) or Check(HALF_MOVED, "ok", "")
    return asked


def _route(context: GroupContext, state: RegisterState | None) -> Check:
    if state is not None:
        return check_route(context, state)
    route = context.clients.router(context.group).read()
    return Check("route", "ok", f"the route leads to {route.active if route else 'no cluster'}")


def _flow(context: GroupContext, flow: Flow) -> Check:
    status = context.clients.replicator(flow).status()
    return Check(flow.name, "ok", str(status), {"state": status.state})


def _journal(context: GroupContext, state: RegisterState | None) -> Check:
    if state is None:
        return Check("journal", "ok", "no run", {"names": ()})
    names = {name for facts in context.journals(state.run) for name in facts}
    return Check("journal", "ok", "read", {"names": tuple(sorted(names))})


def _running(context: GroupContext, state: RegisterState | None) -> Check:
    """Return what runs of the group execute: before the claim files say it, from then on the register as well."""
    now = context.clock.now()
    try:
        kept, _ = RunningSteps(context.clients.evidence_root).read(now)
    except OSError as error:
        return Check(_RUNNING, "unknown", f"which runs a process executes is unknown: {cause(error)}")
    found = {each.run: each for each in kept if each.group == context.group.name and not each.result}
    if state is not None and state.is_held and state.run not in found:
        found |= {each.run: each for each in _by_register(state, context.journals(state.run))}
    return Check(_RUNNING, "ok", "", {"steps": tuple(found.values())})


def _by_register(state: RegisterState, journals: Sequence[Mapping[str, Any]]) -> Iterable[RunningStep]:
    """Yield what the run that holds the group executes, as the registers know it."""
    if (beat := beating(state, journals)) is not None:
        began, seen = (datetime.fromisoformat(beat[name]) for name in ("began_at", "at"))
        attempt, by = state.attempt, state.executor
        yield RunningStep(
            state.group, state.run, state.verb, beat["step"], began, seen, by, holds=True, attempt=attempt
        )


def _asked(questions: Mapping[str, Callable[[], Check]]) -> dict[str, Check]:
    found = background.answers_within(questions, seconds=QUESTION_SECONDS)
    return {
        name: answer if isinstance(answer, Check) else Check(name, "unknown", str(answer))
        for name, answer in found.items()
    }


def _outcome(state: RegisterState | None, answers: RegisterAnswers, checks: tuple[Check, ...]) -> Outcome:
    half_moved = any(check.name == HALF_MOVED and check.outcome == "failed" for check in checks)
    if half_moved or answers.wrong_ids or (state is not None and state.phase is not Phase.STABLE):
        return "failed"
    if answers.silent:
        return "unknown"
    return "failed" if state is None else worst(checks)


def _can_be_abandoned(state: RegisterState | None) -> bool | None:
    if state is None or not state.is_held:
        return None
    return state.is_failing_back or state.phase in (Phase.SWITCHING, Phase.ADOPTING, Phase.RELEASING)


def _next_steps(group: str, state: RegisterState | None, answers: RegisterAnswers) -> tuple[str, ...]:
    said = [
        f"{name} was not asked: see the sentence about its register"
        if isinstance(error, Refused)
        else f"{name} does not answer: check the cluster and the network"
        for name, error in answers.silent.items()
    ]
    if state is None:
        whole = not answers.silent
        said.append(
            "no register has a record of it: adopt it with dr_adopt"
            if whole
            else "no register that answers has a record"
        )
        return tuple(said)
    command = f"--group {group} --run {state.run} --reason WHY"
    finish, abandon = f"resume {command}", f"abandon {command}"
    match state.phase:
        case Phase.SWITCHING:
            said.append(f"if run {state.run} is dead, finish it ({finish}) or roll it back ({abandon})")
        case Phase.ADOPTING:
            said.append(f"run {state.run} takes it over; if it is dead, finish it ({finish}) or give back ({abandon})")
        case Phase.RELEASING:
            said.append(f"run {state.run} releases it; if it is dead, finish it ({finish}) or end it ({abandon})")
        case Phase.RELEASED:
            said.append("it was released, and nothing protects it: adopt it with dr_adopt")
        case Phase.HANDED_OVER:
            said.append(f"run {state.run} is past its point of no return; if it is dead, finish it ({finish})")
        case Phase.UNFENCED:
            away = [name for name in state.standbys if state.roles.of(name) is Role.UNFENCED]
            each = "it as soon as it answers" if len(away) == 1 else "each as soon as it answers"
            said.append(f"{' and '.join(away)} may take writes: dr_health fences {each}")
        case Phase.DIVERGED if state.is_failing_back:
            said.append(f"a failback holds it; if it is dead, finish it ({finish}) or end it ({abandon})")
        case Phase.DIVERGED:
            others = f"{' and '.join(state.followers)} can take over" if state.followers else "there is no standby"
            said.append(f"{others}: {copy_again(state)}")
        case _:
            pass
    return tuple(said)
