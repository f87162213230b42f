"""One cluster's register, as the rest of the project sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from kafka_dr.clusters.model import Acl
from kafka_dr.errors import Refused
from kafka_dr.register.state import RegisterState, highest


class RegisterConflict(Refused):
    """The record was not what the writer expected: somebody else wrote first. Nothing was changed."""

    def __init__(self, expected: RegisterState | None, found: RegisterState | None) -> None:
        self.found = found
        super().__init__(f"the register was expected to say {_said(expected)}, but says {_said(found)}")


class Register(Protocol):
    """What one cluster's register can be asked and told.

    Facts are JSON objects about a run; fence records name the ACLs that this project added to a cluster.
    """

    def read(self, group: str) -> RegisterState | None:
        """Return the committed record of a group, ``None`` where there is none."""

    def compare_and_set(self, expected: RegisterState | None, new: RegisterState) -> None:
        """Write ``new`` if the record still is ``expected``; done already if it is ``new``.

        :raises RegisterConflict: the record is another one
        :raises OutcomeUnknown: it could not be found out before the deadline whether it was written
        """

    def copy(self, state: RegisterState) -> RegisterState:
        """Bring this register up to ``state`` unless it holds a newer record, and return what it holds then.

        :raises NeedsPerson: it holds another record with the same epoch and revision
        """

    def facts(self, group: str, run: str) -> dict[str, Any]:
        """Return everything journaled by a run, by the name of the fact."""

    def history(self, group: str) -> dict[str, dict[str, Any]]:
        """Return everything journaled about a group, by run and fact."""

    def write_fact(self, group: str, run: str, fact: str, payload: Mapping[str, Any]) -> None:
        """Journal a fact, in place of an earlier one with the same name."""

    def added_acls(self, group: str, cluster: str) -> frozenset[Acl]:
        """Return the ACLs that this project added to a cluster for a group."""

    def record_added_acls(self, group: str, cluster: str, acls: Collection[Acl]) -> None:
        """Keep which ACLs this project added to a cluster for a group, in place of what was kept before."""


def bring_up(register: Register, state: RegisterState) -> RegisterState:
    """Do what :meth:`Register.copy` promises, with the other calls of a register.

    A record that somebody else writes meanwhile is looked at anew: it may be older than ``state`` or newer.
    """
    while True:
        found = register.read(state.group)
        if found is not None and found.order >= state.order:
            newest = highest({"this register": found, "the record to be copied": state})
            return found if newest is None else newest
        try:
            register.compare_and_set(found, state)
            return state
        except RegisterConflict:
            continue


def _said(state: RegisterState | None) -> str:
    if state is None:
        return "nothing"
    return (
        f"epoch {state.epoch} revision {state.revision}: {state.phase}, {state.active} active, "
        f"by run {state.run} since {state.at:%Y-%m-%d %H:%M:%S} UTC"
    )
