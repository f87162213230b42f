"""A claim that more than half of a group's registers have to hold, because no register alone can decide.

The active cluster of a group with several standbys may be lost, and two runs that do not see each other may each take
the group to another standby. Any two majorities share a register, and each register is set by compare-and-set: so one
of both learns there that it has lost, before it has fenced or opened anything, and takes back what it has set. The
order is that of the record, the source first. So in most cases it has set nothing.

A run that has won says so in the register of its target, which decides from then on: its process takes the run there.
Until then the claim is *unproven*, and a process that dies leaves registers that all readers judge by one rule
(:func:`~kafka_dr.register.state.highest`). The same run continues the claim; another run may replace it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from kafka_dr.errors import KafkaDrError, Refused, TryAgain
from kafka_dr.register.port import Register, RegisterConflict
from kafka_dr.register.state import RegisterState, highest, is_on_majority

#: What each register that answered holds, by cluster.
States = Mapping[str, RegisterState | None]


class Ask(Protocol):
    """Asks the register of a cluster, with a deadline."""

    def __call__(self, cluster: str, question: Callable[[Register], Any]) -> Any:
        """Return the answer.

        :raises KafkaDrError: there is none
        """


def win(claim: RegisterState, known: RegisterState, seen: States, ask: Ask, *, off: str) -> dict[str, str]:
    """Set a claim in the register of the source, then in those of all other clusters, and see that it has won.

    The record of a pair is set last in the register of the target, which decides alone.

    :param known: what the registers said when the run decided
    :param seen: what each of them held then
    :param off: names the clusters that a person knows to be off, in words
    :returns: why a register does not hold the claim, by cluster
    :raises RegisterConflict: another run was first; what this one has set is taken back
    :raises Refused: too few registers hold it, and not all others are known to be off; it is taken back, too
    :raises KafkaDrError: the target's register does not answer
    """
    source, target, several = claim.active, claim.standby, claim.has_several
    missing: dict[str, str] = {}
    try:
        for cluster in sorted((name for name, _ in claim.roles.each), key=lambda name: name != source):
            try:
                ask(cluster, partial(_set, claim=claim, known=known, seen=seen.get(cluster)))
            except KafkaDrError as error:
                if cluster == target or isinstance(error, RegisterConflict):
                    raise
                missing[cluster] = str(error)
        if several:
            # Each still held it when the last one was set, so all of them held it at one moment.
            held: dict[str, RegisterState | None] = {}
            for cluster in (name for name, _ in claim.roles.each if name not in missing):
                with suppress(KafkaDrError):
                    held[cluster] = ask(cluster, lambda register: register.read(claim.group))
            require_most(claim, held, off=off)
    except KafkaDrError:
        if several:
            with suppress(KafkaDrError):
                withdraw(claim, seen, ask)
        raise
    return missing


def withdraw(claim: RegisterState, seen: States, ask: Ask) -> bool:
    """Take a claim back that has not won: each register gets the newest record that is not the claim.

    The target's register is the first one. If a process of the run has taken the run there, the claim has won, and no
    other register is changed.

    :param seen: what each register holds, or held before the claim
    :returns: whether it was taken back; else it has won
    :raises TryAgain: none of those that answered holds another record
    :raises KafkaDrError: the target's register does not answer
    """
    if is_on_majority(claim, seen) and _is(claim, seen.get(claim.standby)):
        return False
    before = highest({name: None if _is(claim, state) else state for name, state in seen.items()})
    if before is None or not claim.is_known_to(before):
        raise TryAgain(f"no register that answers says what {claim.group} was before the claim of run {claim.run}")

    def take_back(register: Register) -> bool:
        held = register.read(claim.group)
        if held is not None and _is(claim, held):
            if not held.is_unproven:
                return False
            register.compare_and_set(held, before)
        return True

    if not ask(claim.standby, take_back):
        return False
    for cluster in (name for name, _ in claim.roles.each if name != claim.standby):
        # A register that does not answer keeps it: it is one of too few, so it does not count.
        with suppress(KafkaDrError):
            ask(cluster, take_back)
    return True


def require_most(state: RegisterState, held: States, *, off: str) -> None:
    """Require that more than half of a group's registers hold what a run has written, or that the others are off.

    :param held: what the registers hold, by cluster that answered
    :param off: names the clusters that a person knows to be off, in words
    :raises Refused: neither is so
    """
    wanted = (state.run, state.epoch, state.phase)
    without = [
        name
        for name, _ in state.roles.each
        if (found := held.get(name)) is None or (found.run, found.epoch, found.phase) != wanted
    ]
    others = [name for name in without if held.get(name) is not None]
    if is_on_majority(state, held) or (not others and named(without, off)):
        return
    raise Refused(
        f"only {len(state.roles.each) - len(without)} of the {len(state.roles.each)} registers of {state.group} hold "
        f"run {state.run}, and more than half have to, so that no other run can open another standby. "
        f"{' and '.join(without)} {'does' if len(without) == 1 else 'do'} not: bring them back, or, if you know that "
        "they are off, trigger a new run with an override that names each of them"
    )


def named(clusters: Collection[str], words: str) -> bool:
    """Return whether a text names each of these clusters, as a word of its own."""
    return {*clusters} <= {word.strip(".-") for word in re.split(r"[^\w.-]+", words)}


def _set(register: Register, *, claim: RegisterState, known: RegisterState, seen: RegisterState | None) -> None:
    """Compare and set a register; its record may be older than what the run knows, and must not be newer."""
    held = register.read(claim.group)
    # What it saw it has judged: a claim that has lost may have a higher epoch.
    judged = held is None or held in (claim, seen, known)
    newest = claim.based_on if claim.is_unproven else known.order
    if held is not None and not judged and (held.order > newest or held.order == known.order):
        raise RegisterConflict(known, held)
    register.compare_and_set(held, claim)


def _is(claim: RegisterState, state: RegisterState | None) -> bool:
    return state is not None and (state.run, state.epoch) == (claim.run, claim.epoch)
