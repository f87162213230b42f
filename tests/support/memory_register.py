"""The register in memory, for tests of rules; one contract suite holds it to the real one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from kafka_dr.register import records
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.register.holding import Author
from kafka_dr.register.port import RegisterConflict, bring_up, permitted_fact
from kafka_dr.register.record_shapes import ForeignRecord
from kafka_dr.register.state import RegisterState


class MemoryRegister:
    """Behaves as :class:`~kafka_dr.register.kafka_register.KafkaRegister`, without a cluster."""

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}

    def read(self, group: str) -> RegisterState | None:
        """Return the record of a group; ``None`` if there is none."""
        value = self._values.get(records.group_key(group))
        return None if value is None else RegisterState.from_json(value)

    def compare_and_set(self, expected: RegisterState | None, new: RegisterState) -> None:
        """Write ``new`` if the record still is ``expected``; if it is ``new``, there is nothing to do."""
        found = self.read(new.group)
        if found == new:
            return
        if found != expected:
            raise RegisterConflict(expected, found)
        self._values[records.group_key(new.group)] = new.to_json()

    def copy(self, state: RegisterState) -> RegisterState:
        """Write ``state`` unless this register holds a newer record, and return the record that it holds then."""
        return bring_up(self, state)

    def facts(self, group: str, run: str) -> dict[str, Any]:
        """Return everything journaled by a run, by the name of the fact."""
        return records.facts_of(self._values, group, run)

    def history(self, group: str) -> dict[str, Mapping[str, Any]]:
        """Return everything journaled about a group, by run and fact."""
        return records.history_of(self._values, group)

    def write_fact(
        self, group: str, run: str, fact: str, payload: Mapping[str, Any], *, by: Author | None = None
    ) -> None:
        """Journal a fact; it replaces an earlier one with the same name."""
        json.dumps(payload)
        self._values |= dict(permitted_fact(self._values, group, run, fact, payload, by))

    def add_fact(self, group: str, run: str, fact: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Journal a fact unless the run has one with that name, and return the one that it has then."""
        if fact not in self.facts(group, run):
            self.write_fact(group, run, fact, payload)
        return dict(self.facts(group, run)[fact])

    def change_fact(
        self, group: str, run: str, fact: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    ) -> None:
        """Journal what a fact becomes."""
        self.write_fact(group, run, fact, change(self.facts(group, run).get(fact, {})))

    def foreign(self, group: str) -> tuple[ForeignRecord, ...]:
        """Return no record: nobody else can write here."""
        return ()

    def added_acls(self, group: str, cluster: str) -> AddedAcls:
        """Return the ACLs that this project added to a cluster for a group."""
        return records.added_acls_of(self._values, group, cluster)

    def change_added_acls(self, group: str, cluster: str, change: Callable[[AddedAcls], AddedAcls]) -> None:
        """Change the record of the ACLs that this project added to a cluster."""
        new = change(self.added_acls(group, cluster))
        self._values |= dict(records.fence_records(group, cluster, new))
