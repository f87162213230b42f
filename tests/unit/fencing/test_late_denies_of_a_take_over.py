"""A process of a take over that is held up, wherever, while others end that take over and continue.

The DENYs that keep the replaced replication out have to be there afterwards exactly if the group is adopted by a take
over. Nobody can stop that replication otherwise: both would copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_dr.clusters import Acl
from kafka_dr.errors import Refused
from kafka_dr.fencing import plan
from kafka_dr.fencing.change import AclChanges
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed, SeedMode
from kafka_dr.register.holding import HeldBy
from kafka_dr.register.state import roles_in
from kafka_dr.register.transitions import (
    adopted,
    claimed,
    given_back,
    handed_over,
    kept,
    released,
    releasing,
    settled,
    taken,
    taken_over,
    taking_over,
)
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import Unchanged
from kafka_dr.topology.existing import ExistingReplicationSpec
from support.pair_in_memory import GroupInMemory
from support.pattern_group import pattern_group
from support.register_states import AT

GROUP = pattern_group(existing_replication=ExistingReplicationSpec(replicator="external", principal="User:old"))
STANDBY, EXISTING = plan.standby(GROUP), plan.existing_fence(GROUP, "west") | plan.existing_change_fence(GROUP, "west")


class TakenOverGroup(GroupInMemory):
    """A group whose replication is taken over, and whoever changes it."""

    def __init__(self) -> None:
        super().__init__(GROUP)

    def changes(self, guard: Callable[[GroupContext, RegisterState], Any]) -> AclChanges:
        """Return what a process of its own changes west by, as long as the record is the one of now."""
        context = self.context()
        return context.acl_changes("west", guard(context, self.state))

    def holding(self) -> AclChanges:
        """Return the same of a process that has taken the run."""
        return self.changes(
            lambda context, now: context.guard_by_all(HeldBy(now.run, now.epoch, now.phase, now.attempt))
        )

    def unchanged(self) -> AclChanges:
        return self.changes(lambda context, now: context.guard_by_all(Unchanged(now)))

    def seeded(self, mode: SeedMode) -> None:
        now = self.state
        seed = FlowSeed(now.epoch, now.active, now.standby, {}, mode=mode)
        for register in self.registers.values():
            register.write_fact("orders", now.run, FLOW_SEED, seed.to_json())


def fence() -> tuple[frozenset[Acl], ...]:
    """Return what a take over adds, as it does."""
    applications, probe, changes = plan.standby_in_order(GROUP)
    return applications | plan.existing_fence(GROUP, "west"), probe, changes | plan.existing_change_fence(GROUP, "west")


def claims(group: TakenOverGroup, run: str = "first") -> None:
    before = group.registers["east"].read("orders")
    state = taking_over(
        "orders",
        active="east",
        standby="west",
        run=run,
        evidence_sha256="",
        approved_by="alice",
        at=AT,
        before=before,
    )
    group.moves_to(taken(state, run=run, executor="a", at=AT))


def is_held_by_another(group: TakenOverGroup) -> None:
    group.moves_to(taken(group.state, run=group.state.run, executor="b", at=AT))


def settles(group: TakenOverGroup) -> None:
    is_held_by_another(group)
    group.holding().add(*fence())
    group.seeded("take_over")
    group.moves_to(taken_over(group.state, run=group.state.run, at=AT))


def is_given_back(group: TakenOverGroup) -> None:
    is_held_by_another(group)
    group.holding().add(*fence())
    group.seeded("take_over")
    group.moves_to(given_back(group.state, run=group.state.run, at=AT))
    group.unchanged().lift(group.recorded)


def fails_over(group: TakenOverGroup) -> None:
    now, run = group.state, f"failover {group.state.epoch}"
    state = claimed(
        now,
        run=run,
        verb="planned_failover",
        source=now.active,
        target=now.standby,
        highest_epoch=now.epoch,
        evidence_sha256="",
        approved_by="alice",
        at=AT,
    )
    group.moves_to(state)
    if group.state.active == "west":
        group.holding().add(*plan.standby_in_order(GROUP))
    group.moves_to(handed_over(group.state, run=run, at=AT))
    if group.state.active == "west":
        group.holding().lift(plan.standby(GROUP))
    group.moves_to(settled(group.state, run=run, at=AT))


def is_released(group: TakenOverGroup) -> None:
    group.moves_to(releasing(group.state, run="release", evidence_sha256="", approved_by="alice", at=AT))
    group.holding().lift(group.recorded)
    group.moves_to(released(group.state, run="release", at=AT))


def is_kept(group: TakenOverGroup) -> None:
    group.moves_to(releasing(group.state, run="release", evidence_sha256="", approved_by="alice", at=AT))
    group.moves_to(kept(group.state, run="release", at=AT))


def is_adopted(group: TakenOverGroup) -> None:
    group.moves_to(adopted("orders", active="east", standbys=["west"], run="adopt", at=AT, before=group.state))
    group.unchanged().add(*plan.standby_in_order(GROUP))
    group.seeded("start")


def is_taken_over_again(group: TakenOverGroup) -> None:
    claims(group, "second")
    settles(group)


#: What others do while a process is held up; what has to be denied on west then: applications, the old replication.
Course = tuple[str, tuple[Callable[[TakenOverGroup], None], ...], bool, bool]
COURSES: tuple[Course, ...] = (
    ("it is taken over", (settles,), True, True),
    ("it is failed over", (settles, fails_over), False, True),
    ("it is failed over and back", (settles, fails_over, fails_over), True, True),
    ("its release is abandoned", (settles, is_kept), True, True),
    ("it is given back", (is_given_back,), False, False),
    ("it is released", (settles, is_released), False, False),
    ("it is given back and adopted", (is_given_back, is_adopted), True, False),
    ("it is adopted and moved there and back", (settles, is_released, is_adopted, fails_over, fails_over), True, False),
    ("it is taken over again", (is_given_back, is_taken_over_again), True, True),
)


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("course", COURSES, ids=lambda course: str(course[0]))
def test_a_late_deny_of_a_take_over_leaves_what_the_group_needs_now(course: Course, at: int) -> None:
    _, steps, applications, existing = course
    group = TakenOverGroup()
    claims(group)
    group.rules.hold_up(at, lambda: [step(group) for step in steps])
    with pytest.raises(Refused):
        group.holding().add(*fence())

    wanted = (STANDBY if applications else frozenset()) | (EXISTING if existing else frozenset())
    assert group.rules.there == wanted
    assert group.recorded == wanted, "what is recorded can be restored, and lifted later"


@pytest.mark.parametrize("at", range(6))
def test_while_another_process_holds_the_take_over_what_was_added_late_stays_and_can_be_lifted(at: int) -> None:
    group = TakenOverGroup()
    claims(group)
    group.rules.hold_up(at, lambda: is_held_by_another(group))
    with pytest.raises(Refused):
        group.holding().add(*fence())
    assert group.rules.there <= group.recorded
    group.moves_to(given_back(group.state, run="first", at=AT))
    group.unchanged().lift(group.recorded)
    assert not group.rules.there


@pytest.mark.parametrize("at", range(2))
@pytest.mark.parametrize("then", [(is_taken_over_again,), (is_taken_over_again, fails_over), (is_adopted,)])
def test_a_late_lift_of_a_give_back_opens_nothing_that_was_taken_over_since(
    then: tuple[Callable[[TakenOverGroup], None], ...], at: int
) -> None:
    group = TakenOverGroup()
    claims(group)
    group.holding().add(*fence())
    group.moves_to(given_back(group.state, run="first", at=AT))
    group.rules.hold_up(at, lambda: [group.unchanged().lift(group.recorded), *(step(group) for step in then)])
    with pytest.raises(Refused):
        group.unchanged().lift(group.recorded)

    standby = frozenset() if fails_over in then else STANDBY
    wanted = standby | (EXISTING if is_taken_over_again in then else frozenset())
    assert group.rules.there == group.recorded == wanted


@pytest.mark.parametrize("active", ["east", "west"])
def test_health_restores_them_also_where_the_record_of_added_acls_has_lost_all_of_them(active: str) -> None:
    group = TakenOverGroup()
    claims(group)
    settles(group)
    roles = roles_in(Phase.STABLE, active=active, standby="west" if active == "east" else "east")
    lost = group.registers["west"].added_acls("orders", "west")
    group.registers["west"].change_added_acls("orders", "west", lambda _: replace(lost, current=STANDBY))
    group.moves_to(replace(group.state, epoch=group.state.epoch + 1, phase=Phase.STABLE, roles=roles))
    found = group.context().required_denies(group.state, "west")
    assert found == EXISTING | (STANDBY if active == "east" else plan.flow_fence(GROUP))
    assert not EXISTING & group.context().required_denies(group.state, "east")
