"""Copies the newest record to registers that missed it, for a settled group only, never for one that a run moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafka_dr.errors import KafkaDrError
from kafka_dr.health.desired_state import stale_registers
from kafka_dr.health.registers import RegisterAnswers, guard_by_answering
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.runs import background
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import Unchanged


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

    stale = stale_registers(state, registers.states)
    answers = background.answers_within({name: copying(name) for name in stale}, seconds=seconds)
    return [_check_of(name, answer) for name, answer in answers.items()]


def _copied(context: GroupContext, cluster: str, state: RegisterState, registers: RegisterAnswers) -> Check:
    guard_by_answering(context, registers, Unchanged(state)).require()
    if context.clients.register(cluster).read(state.group) == state:
        return Check("register_copy", "ok", f"the register of {cluster} has received the record in the meantime")
    context.clients.register(cluster).copy(state)
    now = f"{state.group} is {state.phase} on {state.active} (epoch {state.epoch})"
    said = f"the register of {cluster} held an older record and was updated: {now}; find out why it missed the record"
    return Check("register_copy", "failed", said)


def _check_of(cluster: str, answer: Check | KafkaDrError) -> Check:
    if isinstance(answer, Check):
        return answer
    said = f"the register of {cluster} holds an older record and could not be updated: {answer}"
    return Check("register_copy", "failed", said)
