"""Registers that missed the newest record of a group at rest are brought up; those of a group that moves never are."""

from __future__ import annotations

from collections.abc import Callable

from kafka_dr.errors import KafkaDrError
from kafka_dr.health.desired_state import stale_registers
from kafka_dr.health.registers import RegisterAnswers, as_long_as
from kafka_dr.register import RegisterState
from kafka_dr.runs import background
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import Check


def update_stale_registers(
    context: GroupContext, state: RegisterState, registers: RegisterAnswers, *, seconds: float
) -> list[Check]:
    """Copy the newest record to each register that answers and is behind.

    :param seconds: how long each of them may take
    """

    def copying(cluster: str) -> Callable[[], Check]:
        return lambda: _copied(context, cluster, state, registers)

    behind = stale_registers(state, registers.states)
    answers = background.ask_all({name: copying(name) for name in behind}, seconds=dict.fromkeys(behind, seconds))
    return [_named(name, answer) for name, answer in answers.items()]


def _copied(context: GroupContext, cluster: str, state: RegisterState, registers: RegisterAnswers) -> Check:
    as_long_as(context, registers, lambda now: now == state)()
    if context.clients.register(cluster).read(state.group) == state:
        return Check("register_copy", "ok", f"the register of {cluster} has been told meanwhile")
    context.clients.register(cluster).copy(state)
    said = f"the register of {cluster} was behind and says now: {state.phase} on {state.active} (epoch {state.epoch})"
    return Check("register_copy", "failed", said)


def _named(cluster: str, answer: Check | KafkaDrError) -> Check:
    if isinstance(answer, Check):
        return answer
    return Check("register_copy", "failed", f"the register of {cluster} is behind and was not brought up: {answer}")
