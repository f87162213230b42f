"""A group on two clusters in memory: its registers, the access rules of its standby, and who changes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from kafka_dr.clusters import Acl
from kafka_dr.fencing import plan
from kafka_dr.fencing.change import AclChanges
from kafka_dr.fencing.closure import closing
from kafka_dr.register import RegisterState
from kafka_dr.register.transitions import claimed, handed_over, rolled_back, settled
from kafka_dr.runs.executor import Executor
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import Unchanged
from kafka_dr.topology.access_rules import AccessRulesSpec
from kafka_dr.topology.model import ProtectionGroup
from support.late_rules import LateRules
from support.manual_clock import ManualClock
from support.memory_register import MemoryRegister
from support.pattern_group import pattern_group
from support.register_states import AT, a_state

GROUP = pattern_group()
LISTED = plan.application_denies(GROUP) | plan.change_fence(GROUP)
WHOLE = frozenset(map(closing, LISTED))
PROBE = plan.probe_fence(GROUP) | plan.probe_freeze(GROUP)


class GroupInMemory:
    """A group on east and west: its registers, and the access rules of west, its standby."""

    def __init__(self, group: ProtectionGroup) -> None:
        self.group = group
        self.registers = {name: MemoryRegister() for name in ("east", "west")}
        self.rules = LateRules()

    @property
    def state(self) -> RegisterState:
        states = [found for each in self.registers.values() if (found := each.read("orders")) is not None]
        return max(states, key=lambda state: state.order)

    @property
    def recorded(self) -> frozenset[Acl]:
        return self.registers["west"].added_acls("orders", "west").current

    def context(self, group: ProtectionGroup | None = None, rules: AccessRulesSpec | None = None) -> GroupContext:
        """Return what a process of its own knows.

        :param group: how the group is declared; ``None``: as it was at the beginning
        :param rules: where west's access rules are kept; ``None``: on its brokers
        """
        declared, spec = group or self.group, SimpleNamespace(access_rules=rules or AccessRulesSpec())
        reached = {
            "executor": Executor("a process"),
            "topology": SimpleNamespace(group=lambda _: declared, cluster=lambda _: spec),
            "clock": ManualClock(),
            "register": lambda cluster: self.registers[cluster],
            "access_rules": lambda *_, **__: self.rules,
            "require_declared": lambda _: None,
        }
        return GroupContext("orders", cast("Any", SimpleNamespace(**reached)))

    def moves_to(self, state: RegisterState) -> None:
        for register in self.registers.values():
            register.compare_and_set(register.read("orders"), state)


class Pair(GroupInMemory):
    """A group whose standby is fenced, and who changes it."""

    def __init__(self) -> None:
        super().__init__(GROUP)
        self.seen: list[frozenset[Acl]] = []
        self.moves_to(a_state())
        self.changes().add(*plan.standby_in_order(GROUP))

    def changes(self) -> AclChanges:
        """Return what a process of its own changes west by, as long as the record stays what it is."""
        context = self.context()
        return context.acl_changes("west", context.guard_by_all(Unchanged(self.state)))

    def claims(self) -> None:
        now = self.state
        self.moves_to(
            claimed(
                now, run=f"run {now.epoch}", verb="planned_failover", source=now.active, target=now.standby,
                highest_epoch=now.epoch, evidence_sha256="", approved_by="alice", at=AT,
            )
        )  # fmt: skip

    def rolls_back(self) -> None:
        self.claims()
        self.moves_to(rolled_back(self.state, run=self.state.run, at=AT))
        self.changes().add(*plan.standby_in_order(GROUP))

    def opens_west(self) -> None:
        self.claims()
        self.moves_to(handed_over(self.state, run=self.state.run, at=AT))
        assert not self.changes().foreign(plan.work_denies(GROUP))
        self.changes().lift(plan.work_denies(GROUP))
        self.changes().lift(plan.change_fence(GROUP))

    def opens_west_and_comes_home(self) -> None:
        self.opens_west()
        self.changes().add(plan.flow_fence(GROUP))
        self.moves_to(settled(self.state, run=self.state.run, at=AT))
        self.claims()
        self.changes().add(*plan.standby_in_order(GROUP))
        self.moves_to(handed_over(self.state, run=self.state.run, at=AT))
        self.moves_to(settled(self.state, run=self.state.run, at=AT))

    def is_closed_by_another(self) -> None:
        self.changes().close(LISTED)

    def is_closed_by_another_that_is_rolled_back(self) -> None:
        self.is_closed_by_another()
        self.rolls_back()

    def health_looks(self) -> None:
        """The next look of dr_health, on a standby."""
        if self.state.active == "east":
            self.changes().add(*plan.standby_in_order(GROUP))
