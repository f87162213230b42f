"""The interface of one cluster's register."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.register import records
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.register.holding import Author
from kafka_dr.register.record_shapes import ForeignRecord
from kafka_dr.register.state import UNPLANNED_EPOCHS, Phase, RegisterState, highest

#: Everything journaled about a group, by run and fact.
History = Mapping[str, Mapping[str, Any]]


class RegisterConflict(Refused):
    """The record is not what the writer expected: another writer was first. Nothing was changed."""

    def __init__(self, expected: RegisterState | None, found: RegisterState | None) -> None:
        self.found = found
        super().__init__(
            f"the register was expected to hold {_summary(expected)}, but holds {_summary(found)}; nothing was changed"
        )


class RegisterUnusable(TryAgain):
    """The cluster answers, and its register does not."""


class Register(Protocol):
    """One cluster's register.

    Facts are JSON objects about a run; fence records list the ACLs that this project added to a cluster.
    """

    def read(self, group: str) -> RegisterState | None:
        """Return the committed record of a group; ``None`` if there is none."""

    def compare_and_set(self, expected: RegisterState | None, new: RegisterState) -> None:
        """Write ``new`` if the record still is ``expected``; if it is ``new``, there is nothing to do.

        :raises RegisterConflict: the register holds another record
        :raises OutcomeUnknown: it was not found out before the deadline whether the record was written
        """

    def copy(self, state: RegisterState) -> RegisterState:
        """Write ``state`` unless this register holds a newer record, and return the record that it holds then.

        :raises NeedsPerson: it holds another record with the same epoch and revision
        """

    def facts(self, group: str, run: str) -> dict[str, Any]:
        """Return everything journaled by a run, by the name of the fact."""

    def history(self, group: str) -> dict[str, Mapping[str, Any]]:
        """Return everything journaled about a group, by run and fact."""

    def write_fact(
        self, group: str, run: str, fact: str, payload: Mapping[str, Any], *, by: Author | None = None
    ) -> None:
        """Journal a fact; it replaces an earlier one with the same name.

        :param by: the process of the run that journals it, if what it says licenses a later act. It is asked whether it
            may, and the fact is written in the same transaction
        :raises Refused: it may not, see :class:`~kafka_dr.register.holding.Author`; nothing was changed
        """

    def add_fact(self, group: str, run: str, fact: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Journal a fact unless the run has one with that name, and return the one that it has then.

        Of two writers at the same time only one is first, and both learn which.

        :raises OutcomeUnknown: it was not found out before the deadline whether the fact was written
        """

    def change_fact(
        self, group: str, run: str, fact: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    ) -> None:
        """Journal what a fact becomes, by compare-and-set: of two writers at the same time none undoes the other.

        :param change: gets the fact of this moment, empty if there is none, and returns the new one; it is called again
            if another writer was faster
        :raises OutcomeUnknown: it was not found out before the deadline whether the fact was written
        """

    def foreign(self, group: str) -> tuple[ForeignRecord, ...]:
        """Return the records that are not of this project's shape and concern a group, as the last read found them.

        Every other method refuses to read a register that holds one, unless it ignores them for a reason.
        """

    def added_acls(self, group: str, cluster: str) -> AddedAcls:
        """Return the ACLs that this project added to a cluster for a group."""

    def change_added_acls(self, group: str, cluster: str, change: Callable[[AddedAcls], AddedAcls]) -> None:
        """Change the record of the ACLs that this project added to a cluster, by compare-and-set.

        :param change: gets the record of this moment and returns the new one; it is called again if another writer was
            faster, and an error that it raises ends the change before anything is written
        :raises OutcomeUnknown: it was not found out before the deadline whether the record was written
        """


def bring_up(register: Register, state: RegisterState) -> RegisterState:
    """Implement :meth:`Register.copy` with the other methods of a register.

    If another writer changes the record meanwhile, it is read again: it may be older or newer than ``state``.
    """
    while True:
        found = register.read(state.group)
        if found is not None and (_is_promised(found, state) or _is_unknown(found, state)):
            return found
        newest = highest({"this register": found, "the record to be copied": state})
        # A claim that has lost is replaced, although its epoch is higher.
        if found is not None and found == newest:
            return found
        try:
            register.compare_and_set(found, state)
            return state
        except RegisterConflict:
            continue


def _is_promised(found: RegisterState, state: RegisterState) -> bool:
    """Return whether a register holds a claim that is made later than a record: no earlier hand-over gets in there.

    Whoever claims in a thousand of epochs knows the claims of earlier ones. In one thousand one claim at most wins.
    """
    return found.is_unproven and found.epoch // UNPLANNED_EPOCHS > state.epoch // UNPLANNED_EPOCHS


def _is_unknown(found: RegisterState, moved: RegisterState) -> bool:
    """Return whether a register knows of a move that an unplanned run did not know of when it claimed.

    Then the run does not hand over there. So of two that have won, as a claim was taken for dead, one opens its target.
    """
    hands_over = moved.phase is Phase.HANDED_OVER and moved.verb == "unplanned_failover" and moved.partner
    another = (found.run, found.epoch) != (moved.run, moved.epoch) and found.active != moved.partner
    return bool(hands_over) and another and found.news > moved.based_on


def permitted_fact(
    held: Mapping[bytes, bytes],
    group: str,
    run: str,
    fact: str,
    payload: Mapping[str, Any],
    by: Author | None,
    *,
    where: str = "the register",
) -> list[tuple[bytes, bytes]]:
    """Return the records of a fact that may be journaled.

    :param held: what the register holds: newest value by key
    :param where: whose register it is, for the message
    :raises Refused: its author may not journal it
    """
    if by is None:
        return records.fact_records(group, run, fact, payload)
    value = held.get(records.group_key(group))
    state = None if value is None else RegisterState.from_json(value)
    if why := by.refusal(fact, state, records.order_of_fact(held, group, run, fact)):
        raise Refused(
            f"{by} may not journal {fact} of {group} in {where}: {why}. Nothing more is changed. See which process "
            "holds the run now"
        )
    return records.fact_records(group, run, fact, payload, order=by.order)


def _summary(state: RegisterState | None) -> str:
    if state is None:
        return "no record"
    return (
        f"epoch {state.epoch} revision {state.revision}: {state.phase}, {state.active} active, "
        f"by run {state.run} since {state.at:%Y-%m-%d %H:%M:%S} UTC"
        + (f", attempt {state.attempt} by {state.executor}" if state.attempt else "")
    )
