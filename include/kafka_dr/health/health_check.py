"""One look at a group's health, in the order of urgency: registers, fences, then everything that can wait."""

from __future__ import annotations

from collections.abc import Callable

from kafka_dr.checks.cluster_checks import wrong_cluster_id
from kafka_dr.errors import KafkaDrError, NeedsPerson
from kafka_dr.health import report_only
from kafka_dr.health.connectors import check_connectors
from kafka_dr.health.desired_state import denies_of, old_cluster_is_closed
from kafka_dr.health.fence_on_return import record_return
from kafka_dr.health.registers import REGISTER_SECONDS, RegisterAnswers, as_long_as, newest_now, read_registers
from kafka_dr.health.restore_fence import FenceRepair, restore_flow_fence, restore_standby_fence
from kafka_dr.health.stale_registers import update_stale_registers
from kafka_dr.health.stalled_runs import check_run
from kafka_dr.health.time_left import TimeBudget
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs import background
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import Check, Outcome, worst

#: A look begins every minute, and never beside another one: the whole of it, fences first, has to be over by then.
LOOK_SECONDS = 45.0
#: To shut a cluster and prove it takes a second; one that dies meanwhile is waited for no longer than this.
FENCE_SECONDS = 25.0
#: For each question that can wait.
QUESTION_SECONDS = 15.0


def check_health(group: str, clients: Clients) -> WatchResult:
    """Look at a group's clusters, close what has to be closed, and name everything that does not follow the register.

    A cluster that does not answer is named, and unknown is what it makes of the look.
    """
    context, left = GroupContext(group, clients), TimeBudget(clients.clock, LOOK_SECONDS)
    registers = read_registers(context)
    try:
        state = registers.newest
    except NeedsPerson as conflict:
        return WatchResult(group, "failed", (str(conflict),))
    if state is None:
        return _without_record(group, registers)
    if _is_being_adopted(context, state, registers):
        return WatchResult(group, "left_alone", ("its adoption is under way, or died: then run dr_adopt again",))
    checks = [_standing(state), *_fences(context, state, registers, left)]
    moved = _see_to_the_rest(context, state, registers, left, checks)
    checks += [_silent(state, name, error) for name, error in registers.silent.items()]
    checks += [_stranger(context, name, found) for name, found in registers.strangers.items()]
    told = tuple(check.detail for check in checks if check.outcome != "ok" or check.name == "register")
    if moved:
        return WatchResult(group, "left_alone", (*told, "it began to move meanwhile: what was seen counts for nothing"))
    return WatchResult(group, worst(checks), told)


def _see_to_the_rest(
    context: GroupContext, state: RegisterState, registers: RegisterAnswers, left: TimeBudget, checks: list[Check]
) -> bool:
    """Look at what can wait, add to the checks what was found, and return whether the group began to move meanwhile."""

    def newest() -> RegisterState | None:
        return background.ask(
            "the registers", lambda: newest_now(context, registers), seconds=left.at_most(QUESTION_SECONDS)
        )

    try:
        reached = newest()
        if reached is None or not _is_ours(state, reached):
            return True
        checks += update_stale_registers(context, reached, registers, seconds=left.at_most(QUESTION_SECONDS))
        checks += _followers(context, reached, registers, seconds=left.at_most(QUESTION_SECONDS))
        return newest() != reached
    except KafkaDrError as error:
        outcome: Outcome = "failed" if isinstance(error, NeedsPerson) else "unknown"
        checks.append(Check("registers", outcome, f"the registers could not be read once more: {error}"))
        return False


def _is_being_adopted(context: GroupContext, state: RegisterState, registers: RegisterAnswers) -> bool:
    """Return whether the first fence is still being made, which only one may do: the seed is journaled behind it."""
    if state.verb != "adopt" or state.active not in registers.states:
        return False
    register = context.clients.register(state.active)
    facts = background.ask("its adoption", lambda: register.facts(state.group, state.run), seconds=REGISTER_SECONDS)
    return "flow_seed" not in facts


def _is_ours(before: RegisterState, now: RegisterState) -> bool:
    """Return whether a record stands still, or moved only as the fence on return moves it."""
    returned = before.phase is Phase.UNFENCED and now.phase is Phase.DIVERGED
    return now == before or (returned and (now.epoch, now.revision) == (before.epoch, before.revision + 1))


def _standing(state: RegisterState) -> Check:
    said = f"{state.group} is {state.phase} on {state.active} (epoch {state.epoch}, run {state.run})"
    if state.phase is Phase.DIVERGED and old_cluster_is_closed(state):
        return Check("register", "failed", f"{said}: bring {state.standby} home with dr_failback")
    if state.phase is Phase.DIVERGED:
        way = f"that run brings {state.standby} home; if it is dead, finish or abandon it with dr_resume"
        return Check("register", "failed", f"{said}: there is no standby. {way}")
    if state.phase is Phase.UNFENCED:
        return Check("register", "failed", f"{said}: {state.standby} is fenced as soon as it answers")
    return Check("register", "ok", said)


def _without_record(group: str, registers: RegisterAnswers) -> WatchResult:
    if registers.silent:
        told = tuple(f"{name} is silent: {error}" for name, error in registers.silent.items())
        return WatchResult(group, "unknown", ("no register that answers has a record of it", *told))
    return WatchResult(group, "left_alone", ("no register has a record of it: it is not adopted, nothing is touched",))


def _silent(state: RegisterState, cluster: str, error: KafkaDrError) -> Check:
    role = "is active and" if cluster == state.active else "is not active and"
    return Check("silent", "unknown", f"{cluster} {role} does not answer ({error})")


def _fences(context: GroupContext, state: RegisterState, registers: RegisterAnswers, left: TimeBudget) -> list[Check]:
    """Close every cluster that answers, side by side; one that was left unfenced may be welcomed back then."""

    def closing(cluster: str) -> Callable[[], list[Check]]:
        return lambda: _closed(context, cluster, state, registers)

    closings = {name: closing(name) for name in registers.states}
    answers = background.ask_all(closings, seconds=dict.fromkeys(closings, left.at_most(FENCE_SECONDS)))
    checks: list[Check] = []
    for cluster, answer in answers.items():
        failed = [Check("fence", "unknown", f"the fence of {cluster} could not be proven: {answer}")]
        checks += failed if isinstance(answer, KafkaDrError) else answer
    return checks


def _closed(context: GroupContext, cluster: str, state: RegisterState, registers: RegisterAnswers) -> list[Check]:
    wanted = denies_of(context.group, state, cluster)
    still = as_long_as(context, registers, lambda now: wanted <= denies_of(context.group, now, cluster))
    close = restore_flow_fence if cluster == state.active else restore_standby_fence
    fenced = close(context, cluster, state, still)
    checks = _told(fenced, state)
    if state.phase is Phase.UNFENCED and cluster == state.standby and fenced.proven:
        unchanged = as_long_as(context, registers, lambda now: now == state)
        checks.append(record_return(context, state, fenced, unchanged))
    return checks


def _told(fenced: FenceRepair, state: RegisterState) -> list[Check]:
    checks = list(fenced.proofs)
    if fenced.completed:
        said = f"{fenced.cluster} was fenced by a version that let applications change topics and delete groups there"
        checks.append(Check("fence", "excused", f"{said}: {fenced.added} DENYs were added, and are there now"))
    elif fenced.added:
        role = "active" if fenced.cluster == state.active else "not active"
        said = f"{fenced.cluster}, which is {role}, lacked {fenced.added} DENYs: they are there now"
        checks.append(Check("fence", "failed", said))
    if fenced.ended:
        ended = ", ".join(fenced.ended)
        checks.append(Check("fence", "failed", f"open transactions were aborted on {fenced.cluster}: {ended}"))
    return checks


def _stranger(context: GroupContext, cluster: str, found: str) -> Check:
    said = wrong_cluster_id(context.clients, cluster, found)
    return Check("cluster_id", "failed", f"{said}: it is not touched, and what it holds counts for nothing")


def _followers(
    context: GroupContext, state: RegisterState, registers: RegisterAnswers, *, seconds: float
) -> list[Check]:
    """Look at everything else that should follow the record; what nobody can be asked about is unknown."""
    questions: dict[str, Callable[[], tuple[Check, ...]]] = {
        "the connectors": lambda: check_connectors(context, state, lambda holds: as_long_as(context, registers, holds)),
        "the route": lambda: (report_only.check_route(context, state),),
        "the lag": lambda: (report_only.check_lag(context, state),),
        "the run": lambda: (check_run(context, state),),
    }
    if state.active in registers.states:
        questions[state.active] = lambda: (report_only.check_active(context, state),)
    if state.standby in registers.states:
        questions[state.standby] = lambda: (report_only.check_standby(context, state),)
    checks: list[Check] = []
    for what, answer in background.ask_all(questions, seconds=dict.fromkeys(questions, seconds)).items():
        asked = Check("followers", "unknown", f"{what} could not be looked at: {answer}")
        checks += (asked,) if isinstance(answer, KafkaDrError) else answer
    return checks
