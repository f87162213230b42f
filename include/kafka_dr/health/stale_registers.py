"""Copies the newest record to registers that missed it, for a settled group only, never for one that a run moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafka_dr.errors import KafkaDrError
from kafka_dr.health.desired_state import SETTLED, stale_registers
from kafka_dr.health.registers import RegisterAnswers, guard_by_answering
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs import background
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import Unchanged

#: How long a run may need to set its claim in all registers, or to take it back.
_CLAIM_SECONDS = 120.0


def update_stale_registers(
    context: GroupContext,
    state: RegisterState,
    registers: RegisterAnswers,
    *,
    refusing: Mapping[str, KafkaDrError],
    seconds: float,
) -> list[Check]:
    """Copy the newest record to each register that answers and holds an older one.

    :param refusing: why a register takes no record, by its cluster; nothing is waited for there
    :param seconds: the timeout of each copy
    """

    def copying(cluster: str) -> Callable[[], Check]:
        def copy() -> Check:
            if cluster in refusing:
                raise refusing[cluster]
            return _copied(context, cluster, state, registers)

        return copy

    dead = [name for name, found in registers.states.items() if _is_dead(context, found, state, registers)]
    stale = {*stale_registers(state, registers.states), *dead}
    answers = background.answers_within({name: copying(name) for name in stale}, seconds=seconds)
    return [_check_of(name, answer) for name, answer in answers.items()]


def _copied(context: GroupContext, cluster: str, state: RegisterState, registers: RegisterAnswers) -> Check:
    guard_by_answering(context, registers, Unchanged(state)).require()
    register = context.clients.register(cluster)
    if (held := register.read(state.group)) == state:
        return Check("register_copy", "ok", f"the register of {cluster} has received the record in the meantime")
    if _is_dead(context, held, state, registers):
        register.compare_and_set(held, state)
        said = f"the register of {cluster} held a claim that has lost, and its run left it: it was replaced"
        return Check("register_copy", "failed", said)
    register.copy(state)
    now = f"{state.group} is {state.phase} on {state.active} (epoch {state.epoch})"
    said = f"the register of {cluster} held an older record and was updated: {now}; find out why it missed the record"
    return Check("register_copy", "failed", said)


def _is_dead(
    context: GroupContext, held: RegisterState | None, state: RegisterState, registers: RegisterAnswers
) -> bool:
    """Return whether a register holds a claim that has lost, and whose run had time to take it back itself.

    It also keeps a run from handing over there. So it is replaced then, too, if it cannot win any more.
    """
    if held is None or not held.is_unproven or held.order < state.order:
        return False
    newer = sum(each is not None and each.news > held.based_on for each in registers.states.values())
    cannot_win = state.phase is Phase.HANDED_OVER and 2 * newer >= len(held.roles.each)
    if state.phase not in SETTLED and not cannot_win:
        return False
    return (context.clock.now() - held.at).total_seconds() > _CLAIM_SECONDS


def _check_of(cluster: str, answer: Check | KafkaDrError) -> Check:
    if isinstance(answer, Check):
        return answer
    said = f"the register of {cluster} holds an older record and could not be updated: {answer}"
    return Check("register_copy", "failed", said)
