"""A standby's fence in fewer DENYs: one of every operation replaces those of single operations.

Brokers look at each DENY on a prefix for each topic of a request, so fewer of them let a switch be faster. Nothing
depends on it, so it is done only where nothing is in doubt: no run holds the group, every register answers and holds
the same record, and the fence has just been proven. The register's record first says that such DENYs may be there.
From then on a version of this project that does not know them refuses to do anything with the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import closing, whole
from kafka_dr.health.registers import RegisterAnswers, guard_by_answering
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.register.transitions import denying_all
from kafka_dr.runs import background
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import Unchanged

NAME = "closing"
#: How many DENYs of every operation a look adds at most; the next look continues.
MOST_IN_A_LOOK = 1000

Checks: TypeAlias = tuple[Check, ...]


def close_standby(
    context: GroupContext,
    state: RegisterState,
    standby: str,
    registers: RegisterAnswers,
    proofs: Sequence[Check],
    *,
    seconds: float,
) -> Checks:
    """Do the next part of it, if the topology wants it; nothing to say is an empty answer.

    :param proofs: what this look found of the standby's fence
    :param seconds: the timeout
    """
    if not _may_close(context, state, standby, registers) or not _is_whole(proofs):
        return ()
    step = _close if state.denies_all else _announce
    found = background.answers_within({NAME: lambda: step(context, state, standby, registers)}, seconds=seconds)[NAME]
    if isinstance(found, KafkaDrError):
        said = f"the fence of {standby} keeps its DENYs of single operations, and is whole: {found}"
        return (Check(NAME, "excused", said),)
    return found


def _may_close(context: GroupContext, state: RegisterState, standby: str, registers: RegisterAnswers) -> bool:
    # What the fence is made of is changed while no run holds the group, whichever standby it concerns.
    is_copy = not state.is_held and standby in state.steady_copies
    agree = all(registers.states.get(name) == state for name in context.declared.clusters)
    return context.may_deny_all(standby) and is_copy and agree


def _is_whole(proofs: Sequence[Check]) -> bool:
    """Return whether the fence is proven, and this look had to add nothing to it."""
    return bool(proofs) and all(check.passes and check.name != "fence" for check in proofs)


def _announce(context: GroupContext, state: RegisterState, standby: str, registers: RegisterAnswers) -> Checks:
    """Let the record say that such DENYs may be there, in the register that decides first."""
    new = denying_all(state)
    guard_by_answering(context, registers, Unchanged(state)).require()
    context.clients.register(state.active).compare_and_set(state, new)
    for name in state.standbys:
        context.clients.register(name).copy(new)
    said = (
        f"from the next look on, one DENY of every operation replaces those of single operations on {standby}: "
        f"only versions of this project that know such DENYs can change {state.group} from here on"
    )
    return (Check(NAME, "excused", said),)


def _close(context: GroupContext, state: RegisterState, standby: str, registers: RegisterAnswers) -> Checks:
    changes = context.acl_changes(standby, guard_by_answering(context, registers, Unchanged(state)))
    group = context.group.on(standby)
    listed = plan.application_denies(group) | plan.change_fence(group)
    left = listed & changes.kept.known().current
    chosen = frozenset(sorted(whole(left))[:MOST_IN_A_LOOK])
    replaced = changes.close([deny for deny in left if closing(deny) in chosen]) if chosen else ()
    if not replaced:
        return ()
    said = f"on {standby} {len(replaced)} DENYs of single operations were replaced by {len(chosen)} of all"
    return (Check(NAME, "excused", said, {"denies_replaced": len(replaced)}),)
