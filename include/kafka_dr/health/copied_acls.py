"""Keeps two records of what was added to each cluster: its own register's, and the copy in the other register.

If a cluster's register is lost, it gets its record back from the copy: without it nobody would know which DENYs this
project may lift. What a run could only record in the copy is written to the cluster's own register.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from itertools import permutations

from kafka_dr.health.registers import RegisterAnswers, guard_by_answering
from kafka_dr.register import RegisterState
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.runs import background
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import Unchanged


def settle_copies(
    context: GroupContext,
    state: RegisterState,
    registers: RegisterAnswers,
    *,
    refusing: Collection[str],
    seconds: float,
) -> None:
    """Bring the records and the copies of a group that no run holds up to date, where both registers answer.

    What does not succeed is done by the next look; another check says what is wrong with a register.

    :param refusing: clusters whose registers take no record; nothing is waited for there
    :param seconds: the timeout
    """
    if state.is_held or not state.is_adopted:
        return
    pairs = permutations(registers.states, 2)
    background.answers_within(
        {pair: partial(_settle, context, state, registers, *pair, refusing) for pair in pairs}, seconds=seconds
    )


def _settle(
    context: GroupContext,
    state: RegisterState,
    registers: RegisterAnswers,
    cluster: str,
    other: str,
    refusing: Collection[str],
) -> None:
    group = context.group.name
    own, kept = context.clients.register(cluster), context.clients.register(other)
    listed, copy = own.added_acls(group, cluster), kept.added_acls(group, cluster)
    whole = listed.with_copy(copy)
    if (whole == listed and _is_copy(copy, listed)) or (whole != listed and cluster in refusing):
        return
    guard = guard_by_answering(context, registers, Unchanged(state))

    def settled(found: AddedAcls) -> AddedAcls:
        guard.require()
        return found.with_copy(copy)

    if whole != listed:
        own.change_added_acls(group, cluster, settled)
        whole = own.added_acls(group, cluster)
    # What somebody else has added to the copy meanwhile is settled by the next look.
    if other not in refusing:
        kept.change_added_acls(group, cluster, lambda found: whole if found == copy else found)


def _is_copy(copy: AddedAcls, of: AddedAcls) -> bool:
    return copy == replace(of, ahead=frozenset()) and copy.revision <= of.revision
