"""One health check of a group, in the order of urgency: registers, fences, then everything that can wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kafka_dr.checks import topic_identity
from kafka_dr.checks.copied_once import copied_once
from kafka_dr.checks.data_residency import held_where_permitted
from kafka_dr.checks.pattern_topics import topics_of_patterns
from kafka_dr.checks.register_checks import USABLE, register_topic, register_writers, usable
from kafka_dr.clock import Clock
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError, NeedsPerson, TryAgain
from kafka_dr.health import report_only
from kafka_dr.health.break_glass import check_break_glass
from kafka_dr.health.closing import close_standby
from kafka_dr.health.copied_acls import settle_copies
from kafka_dr.health.fence_on_return import nothing_expires, record_return
from kafka_dr.health.half_moved import HALF_MOVED
from kafka_dr.health.hung_brokers import ANSWER_SECONDS, blame, hung_brokers
from kafka_dr.health.kept_facts import all_of, facts_of, heard_from, matched_by, without_fence
from kafka_dr.health.own_speed import OwnSpeed
from kafka_dr.health.registers import REGISTER_SECONDS, RegisterAnswers, guard_by_answering, newest_now, read_registers
from kafka_dr.health.restore_fence import (
    FenceRepair,
    doubt_without_its_register,
    restore_flow_fence,
    restore_standby_fence,
)
from kafka_dr.health.running_flows import check_flows
from kafka_dr.health.silence import silent, without_record, word_of
from kafka_dr.health.stale_registers import update_stale_registers
from kafka_dr.health.stalled_runs import check_evidence, check_run
from kafka_dr.health.without_fences import WITHOUT_FENCES, without_fences
from kafka_dr.outcomes import Check, Outcome, worst
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.flow_seed import FLOW_SEED
from kafka_dr.register.record_shapes import refusal
from kafka_dr.register.roles import Role
from kafka_dr.register.transitions import copy_again
from kafka_dr.runs import background
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients, wrong_cluster_id
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few
from kafka_dr.runs.register_guard import AsksFor, RegisterGuard, Unchanged
from kafka_dr.runs.register_read import require_declared

#: A check starts every minute, and two never run at the same time: all of it, fences first, has to end before that.
CHECK_SECONDS = 45.0
#: To fence a cluster and prove it takes a second. If the cluster dies in the meantime, nothing waits longer than this.
FENCE_SECONDS = 25.0
#: A change of rules that are kept elsewhere may take longer: the next check sees whether it has arrived.
RULES_SECONDS = 12.0
#: For each question that can wait.
QUESTION_SECONDS = 15.0


#: How many new topics one sentence names.
_MOST_TOPICS = 5
#: Of a group whose adoption has not journaled its seed.
_ADOPTING = "its adoption has not finished: if dr_adopt does not run any more, run it again"


class TimeBudget:
    """The time of one check: what needs longer than is left of it is done by the next check.

    :param seconds: what everything that follows may take together
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._until = clock.monotonic() + seconds

    def at_most(self, seconds: float) -> float:
        """Return this timeout, or what is left of the budget if that is less."""
        return max(0.0, min(seconds, self._until - self._clock.monotonic()))


def check_health(group: str, clients: Clients, *, speed: OwnSpeed | None = None) -> WatchResult:
    """Check a group's clusters, fence what has to be fenced, and name everything that does not match the register.

    A cluster that does not answer is named, and makes the result ``unknown``.

    :param speed: of this process, if it is measured already
    """
    if speed is not None:
        return _checked(group, clients, speed)
    with OwnSpeed() as speed:
        return _checked(group, clients, speed)


def _checked(group: str, clients: Clients, speed: OwnSpeed) -> WatchResult:
    context, left = GroupContext(group, clients), TimeBudget(clients.clock, CHECK_SECONDS)
    context.rules_seconds = RULES_SECONDS
    asked_at = clients.clock.now()
    registers = read_registers(context)
    try:
        state = registers.newest
    except NeedsPerson as conflict:
        heard = heard_from(registers, too_slow=speed.too_slow)
        return WatchResult(group, "failed", (str(conflict),), {"open_checks": {"registers": "failed"}, **heard})
    if state is None:
        return without_record(group, registers, too_slow=speed.too_slow)
    if state.phase in WITHOUT_FENCES:
        return without_fences(context, state, registers, asked_at=asked_at, too_slow=speed.too_slow)
    if _is_being_adopted(context, state, registers):
        return WatchResult(group, "left_alone", (_ADOPTING,))
    fences = _fences(context, state, registers, left)
    checks = [_phase_check(state), *all_of(fences)]
    try:
        require_declared(state, context.declared.clusters, context.declared.copies_named)
    except NeedsPerson as older_topology:
        # What this process does not know it cannot check. It fences all the same.
        checks.append(Check("topology", "failed", str(older_topology)))
        heard = heard_from(registers, too_slow=speed.too_slow)
        return WatchResult(group, "failed", said_of(checks), facts_of(state, asked_at, checks, heard))
    reached = _check_the_rest(context, state, registers, left, checks)
    moved, state = reached is None, reached or state
    # A fence on return has written a record since.
    checks[0] = _phase_check(state)
    checks += [_foreign_records(context, name) for name in registers.states]
    if not moved and all(check.passes for check in checks if check.name == "register_records"):
        for standby in state.standbys:
            proofs = fences.get(standby, ())
            checks += close_standby(context, state, standby, registers, proofs, seconds=left.at_most(QUESTION_SECONDS))
    too_slow = speed.too_slow
    checks += [silent(state, name, error, too_slow=too_slow) for name, error in registers.silent.items()]
    checks += [_wrong_cluster(context, name, found) for name, found in registers.wrong_ids.items()]
    if too_slow and not registers.silent and any(check.outcome == "unknown" for check in checks):
        hung = hung_brokers(context, registers.answering, seconds=left.at_most(ANSWER_SECONDS))
        checks.append(Check("silent" if hung else "own_speed", "unknown", blame(too_slow, hung)))
    said = said_of(checks)
    seen: dict[str, list[Any]] = matched_by(context.declared.topic_patterns, checks)
    seen |= heard_from(registers, too_slow=too_slow)
    if moved:
        ignored = "a run began to move it during the check: ignore the result"
        return WatchResult(group, "left_alone", (*said, ignored), facts_of(state, asked_at, checks, seen))
    return WatchResult(group, worst(checks), said, facts_of(state, asked_at, checks, {**seen, **without_fence(fences)}))


def said_of(checks: Sequence[Check]) -> tuple[str, ...]:
    """Return what is not ok, the worst first, and then what the register says.

    People read the first sentence first. A group that is half moved comes before everything, and a cluster that is
    silent explains what else is unknown.
    """
    found = sorted((check for check in checks if check.outcome != "ok"), key=_urgency)
    register = (check for check in checks if check.name == "register" and check.outcome == "ok")
    return tuple(check.detail for check in (*found, *register))


def _urgency(check: Check) -> tuple[int, bool]:
    return {"failed": 0, "unknown": 1}.get(check.outcome, 2), check.name not in (HALF_MOVED, "silent")


def _check_the_rest(
    context: GroupContext, state: RegisterState, registers: RegisterAnswers, left: TimeBudget, checks: list[Check]
) -> RegisterState | None:
    """Check what can wait, add the results to ``checks``, and return the record; ``None`` if a run began to move it."""

    def newest() -> RegisterState | None:
        return background.ask(
            "the registers", lambda: newest_now(context, registers), seconds=left.at_most(QUESTION_SECONDS)
        )

    try:
        reached = newest()
        if reached is None or not _is_unmoved(state, reached):
            return None
        problems = _problems(context, registers, seconds=left.at_most(REGISTER_SECONDS))
        checks += _usable(state, problems)
        refusing = {
            name: TryAgain(found) if isinstance(found, str) else found for name, found in problems.items() if found
        }
        checks += update_stale_registers(
            context, reached, registers, refusing=refusing, seconds=left.at_most(QUESTION_SECONDS)
        )
        settle_copies(context, reached, registers, refusing=refusing, seconds=left.at_most(QUESTION_SECONDS))
        checks += _other_checks(context, reached, registers, seconds=left.at_most(QUESTION_SECONDS))
        return reached if newest() == reached else None
    except KafkaDrError as error:
        outcome: Outcome = "failed" if isinstance(error, NeedsPerson) else "unknown"
        checks.append(Check("registers", outcome, f"the registers of {state.group} could not be read again: {error}"))
        return state


def _problems(context: GroupContext, registers: RegisterAnswers, *, seconds: float) -> dict[str, str | KafkaDrError]:
    """Return why each register that answers takes no record, asked once: each change would wait for its deadline."""
    asked = {name: context.clients.register(name).problem for name in registers.answering}
    return background.answers_within(asked, seconds=seconds)


def _usable(state: RegisterState, problems: Mapping[str, str | KafkaDrError]) -> Iterator[Check]:
    """Judge whether the registers take records; of one that did not say so, that is unknown."""
    said = {name: found for name, found in problems.items() if isinstance(found, str)}
    if said:
        yield usable(said)
    for name, error in problems.items():
        if name not in said:
            what = f"the register of {name}, for {state.group}, could not be asked whether it takes records: {error}"
            yield Check(USABLE, "unknown", what)


def _is_being_adopted(context: GroupContext, state: RegisterState, registers: RegisterAnswers) -> bool:
    """Return whether adoption is still adding the first fence, which only it may do: it then journals the seed."""
    if state.verb != "adopt" or state.active not in registers.states:
        return False
    register = context.clients.register(state.active)
    facts = background.ask("its adoption", lambda: register.facts(state.group, state.run), seconds=REGISTER_SECONDS)
    return FLOW_SEED not in facts


def _is_unmoved(before: RegisterState, now: RegisterState) -> bool:
    """Return whether a record is unchanged, or was changed only by this check's fence on return."""
    returned = before.phase is Phase.UNFENCED and now.phase in (before.phase, Phase.DIVERGED)
    return now == before or (returned and (now.epoch, now.revision) == (before.epoch, before.revision + 1))


def _phase_check(state: RegisterState) -> Check:
    said = f"{state.group} is {state.phase} on {state.active} (epoch {state.epoch}, run {state.run})"
    if state.is_failing_back:
        way = f"that run makes {state.moved_with} a copy again; if it is dead, finish or abandon it with dr_resume"
        left = f"{' and '.join(state.followers)} can take over" if state.followers else "there is no standby"
        return Check("register", "failed", f"{said}: {left}. {way}")
    if state.phase is Phase.DIVERGED:
        return Check("register", "failed", f"{said}: {copy_again(state)}")
    if state.phase is Phase.UNFENCED:
        away = [name for name in state.standbys if state.roles.of(name) is Role.UNFENCED]
        each = "as soon as it answers" if len(away) == 1 else "each as soon as it answers"
        return Check("register", "failed", f"{said}: {' and '.join(away)} will be fenced {each}")
    return Check("register", "ok", said)


def _fences(
    context: GroupContext, state: RegisterState, registers: RegisterAnswers, left: TimeBudget
) -> dict[str, list[Check]]:
    """Restore the fences of all clusters that answer, at the same time, and record the return of an old cluster."""

    def restoring(cluster: str) -> Callable[[], list[Check]]:
        return lambda: _restored(context, cluster, state, registers)

    repairs = {name: restoring(name) for name in _fenceable(state, registers)}
    answers = background.answers_within(repairs, seconds=left.at_most(FENCE_SECONDS))
    found: dict[str, list[Check]] = {}
    for cluster, answer in answers.items():
        unknown = [Check("fence", "unknown", f"the fence of {cluster} could not be proven: {answer}")]
        found[cluster] = unknown if isinstance(answer, KafkaDrError) else answer
    return found


def _fenceable(state: RegisterState, registers: RegisterAnswers) -> tuple[str, ...]:
    """Return the clusters whose fences can be restored: a register that can be read says what is required of each.

    Of a cluster that is not active that may be the register of the active one.
    """
    others = tuple(name for name in registers.unusable if state.roles.of(name) is not Role.ACTIVE)
    asked = (*registers.states, *(others if state.active in registers.states else ()))
    return tuple(name for name in asked if name not in state.gone)


def _restored(context: GroupContext, cluster: str, state: RegisterState, registers: RegisterAnswers) -> list[Check]:
    # It has to answer: a look that was too slow would leave topics out.
    context.look_for_topics(cluster)
    wanted = context.required_denies(state, cluster)
    without = registers.states.get(cluster) is None
    if without and (why := doubt_without_its_register(context, cluster, state)):
        return [Check("fence", "unknown", why)]
    required = AsksFor(lambda now: wanted <= context.required_denies(now, cluster), f"these DENYs on {cluster}")
    is_active = state.roles.of(cluster) is Role.ACTIVE
    restore = restore_flow_fence if is_active else restore_standby_fence
    decides = state.active if not is_active and state.active in registers.states else None
    repair = restore(context, cluster, state, guard_by_answering(context, registers, required), decides=decides)
    checks, role = _checks_of(repair, state), state.roles.of(cluster)
    # While a run holds the group the record is its own: the fence is there, and a later look says so.
    returned = role is Role.UNFENCED and repair.proven
    if state.is_held or not (returned or role is Role.DIVERGED):
        return checks
    unchanged = guard_by_answering(context, registers, Unchanged(state))
    checks.append(nothing_expires(context, state, cluster, unchanged))
    if returned:
        checks.append(record_return(context, state, repair, unchanged))
    return checks


def _checks_of(repair: FenceRepair, state: RegisterState) -> list[Check]:
    checks = list(repair.proofs)
    if repair.new_topics:
        # Not counted as added: that figure is of DENYs that somebody removed, and wakes people up.
        checks.append(Check("fence", "excused", _of_new_topics(repair)))
    elif repair.added and not repair.lost and state.roles.of(repair.cluster) is Role.UNFENCED:
        said = (
            f"{repair.cluster}, which run {state.run} could not fence, is fenced now: {repair.added} DENYs were added"
        )
        checks.append(Check("fence", "failed", said))
    elif repair.added:
        role = word_of(state, repair.cluster)
        said = (
            f"{repair.cluster}, which is {role}, lacked {repair.added} DENYs: they were added; find out who removed "
            "them, and who wrote there in the meantime"
        )
        said += f". {repair.removing[:1].upper()}{repair.removing[1:]}" if repair.removing else ""
        checks.append(Check("fence", "failed", said, {"denies_added": repair.added}))
    if repair.ended:
        ended = ", ".join(repair.ended)
        said = f"open transactions on {repair.cluster} were aborted: {ended}; stop the producers that use these ids"
        checks.append(Check("fence", "failed", said))
    return checks


def _of_new_topics(repair: FenceRepair) -> str:
    named = ", ".join(first_few(repair.new_topics, _MOST_TOPICS))
    return (
        f"{counted(len(repair.new_topics), 'topic')} that patterns match had no DENYs on {repair.cluster} until now: "
        f"{named}. dr_flows copies them from its next look on; readiness says what else they need"
    )


def _same_topics(context: GroupContext, state: RegisterState, standby: str, guard: RegisterGuard) -> Check:
    try:
        topic_identity.learn_topics(context, state, standby, guard)
    except TryAgain:
        found = topic_identity.same_topics(context, state, standby)
        if found.passes:
            raise
        # What was learned before shows it, whatever can be written now.
        return found
    return topic_identity.same_topics(context, state, standby)


def _foreign_records(context: GroupContext, cluster: str) -> Check:
    """Name records that others wrote to a register: every run is refused until they are removed."""
    found = context.clients.register(cluster).foreign(context.group.name)
    said = f"the register of {cluster} holds only records of this project"
    return Check("register_records", "failed", str(refusal(found))) if found else Check("register_records", "ok", said)


def _wrong_cluster(context: GroupContext, cluster: str, found: str) -> Check:
    said = wrong_cluster_id(context.clients, cluster, found)
    return Check(
        "cluster_id",
        "failed",
        f"{said}. Nothing was changed there, and its data is ignored: fix the connection or the topology",
    )


def _other_checks(
    context: GroupContext, state: RegisterState, registers: RegisterAnswers, *, seconds: float
) -> list[Check]:
    """Check everything else that follows from the record; what cannot be asked is unknown."""
    questions: dict[str, Callable[[], tuple[Check, ...]]] = {
        "the flows": lambda: check_flows(context, state, registers),
        "the route": lambda: (report_only.check_route(context, state),),
        "the lag": lambda: tuple(report_only.check_lag(context, state, name) for name in state.standbys),
        "the run": lambda: (check_run(context, state),),
        "the evidence": lambda: (check_evidence(context, state),),
        "the approvals": lambda: (check_break_glass(context, state, registers),),
    }
    unchanged = guard_by_answering(context, registers, Unchanged(state))
    for standby in state.steady_copies:
        if {state.active, standby} <= registers.states.keys():
            about = "the ids of topics" + (f" on {standby}" if state.has_several else "")
            questions[about] = lambda standby=standby: (  # type: ignore[misc]
                _same_topics(context, state, standby, unchanged),
            )
    answering = registers.answering
    questions["who may write the register"] = lambda: (register_writers(context, answering),)
    questions["the topics that patterns match"] = lambda: topics_of_patterns(context, answering)
    if context.declared.renames_copies:
        questions["copies of copies"] = lambda: (copied_once(context, sorted(answering)),)
    if context.clients.topology.data_residency:
        questions["data residency"] = lambda: (held_where_permitted(context, answering),)
    questions["the register's topic"] = lambda: (register_topic(context, answering),)
    if state.active in registers.states:
        questions[f"the state on {state.active}"] = lambda: (report_only.check_active(context, state),)
    for standby in filter(answering.__contains__, state.standbys):
        questions[f"the state on {standby}"] = lambda standby=standby: (  # type: ignore[misc]
            report_only.check_standby(context, state, standby),
        )
    checks: list[Check] = []
    for what, answer in background.answers_within(questions, seconds=seconds).items():
        unknown = Check("followers", "unknown", f"{what} of {state.group} could not be checked: {answer}")
        checks += (unknown,) if isinstance(answer, KafkaDrError) else answer
    return checks
