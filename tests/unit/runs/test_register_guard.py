"""Who may still change a group: each part of each condition, and which register every caller asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.adoption.adopt import adoption_guard
from kafka_dr.config_sync.lock import HeldLock
from kafka_dr.config_sync.plan import Plan
from kafka_dr.errors import NeedsPerson, Refused, TryAgain
from kafka_dr.failback.context import FailbackContext
from kafka_dr.health.registers import RegisterAnswers, guard_by_answering
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.holding import HeldBy
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import FlowStatus
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import AsksFor, Condition, LastingPermission, RegisterGuard, Unchanged
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.verbs.roll_back import roll_back_guard
from kafka_dr.watch.apply_config import config_guard
from kafka_dr.watch.config_plan import ConfigSyncRun
from kafka_dr.watch.reconcile_flows import reconcile_flows
from support.fake_registers import FakeRegisters
from support.manual_clock import ManualClock
from support.register_states import a_state

PLANNED = a_state(epoch=4, phase=Phase.SWITCHING, verb="planned_failover", run="run-1")
UNPLANNED = a_state(epoch=1000, phase=Phase.SWITCHING, verb="unplanned_failover", run="run-1")
FAILBACK = a_state(epoch=1003, phase=Phase.DIVERGED, verb="failback", run="run-1")
STABLE = a_state(epoch=4, run="run-0", verb="planned_failover")

TURNED = {"active": "west", "standby": "east"}

#: What may have become of a record that run-1 held since epoch 4 or 1000: each differs in one field.
NO_LONGER = [
    pytest.param({"run": "run-2"}, id="another run"),
    pytest.param({"epoch": 2000}, id="another epoch"),
    pytest.param({"phase": Phase.STABLE}, id="another phase"),
    pytest.param({"attempt": 1, "executor": "another"}, id="another attempt"),
]


def refused(guard: RegisterGuard) -> str:
    with pytest.raises(Refused) as refusal:
        guard.require()
    return str(refusal.value)


def changed(state: RegisterState, changes: dict[str, Any]) -> RegisterState:
    kept = {name: getattr(state, name) for name in state.__dataclass_fields__ if name != "roles"}
    return a_state(**{"active": state.active, "standby": state.standby, **kept, **changes})


def guard_of(found: RegisterState | None, condition: Condition, **more: Any) -> RegisterGuard:
    return RegisterGuard("orders", "the register of east", lambda: found, condition, **more)


# The guard itself.


def test_it_reads_again_each_time_it_is_asked() -> None:
    registers = FakeRegisters(east=PLANNED)
    guard = GroupContext("orders", registers.clients()).guard_by("east", Unchanged(PLANNED))
    guard.require()
    registers.set(east=changed(PLANNED, {"epoch": 5}))
    refused(guard)
    assert registers.asked == ["east", "east"]


@pytest.mark.parametrize("condition", [HeldBy("run-1", 4, Phase.SWITCHING, 0), Unchanged(PLANNED), AsksFor(bool, "it")])
def test_no_record_permits_nothing(condition: Condition) -> None:
    assert "in no record" in refused(guard_of(None, condition))


def test_a_register_that_does_not_answer_permits_nothing() -> None:
    registers = FakeRegisters(east=PLANNED)
    registers.silent.add("east")
    with pytest.raises(TryAgain):
        GroupContext("orders", registers.clients()).guard_by("east", Unchanged(PLANNED)).require()


def test_what_else_has_to_hold_is_asked_first_and_the_register_last() -> None:
    asked: list[str] = []

    def read() -> RegisterState:
        asked.append("register")
        return PLANNED

    first = (lambda: asked.append("lock"), lambda: asked.append("ids"))
    RegisterGuard("orders", "the register", read, Unchanged(PLANNED), first).require()
    assert asked == ["lock", "ids", "register"]


def test_what_else_has_to_hold_can_refuse() -> None:
    def lost() -> None:
        raise Refused("another run has the lock")

    assert refused(guard_of(PLANNED, Unchanged(PLANNED), first=(lost,))) == "another run has the lock"


def test_a_refusal_says_what_was_seen_and_what_was_expected() -> None:
    other = changed(PLANNED, {"run": "run-2", "epoch": 7})
    assert refused(guard_of(other, HeldBy("run-1", 4, Phase.SWITCHING, 0))) == (
        "the register of east says that orders is switching on east by planned_failover run-2 (epoch 7); expected: "
        "switching by run run-1 (epoch 4, attempt 0). Nothing more is changed. See which run holds the group now"
    )


@pytest.mark.parametrize("changes", NO_LONGER)
def test_held_by_compares_run_epoch_phase_and_attempt(changes: dict[str, Any]) -> None:
    held = HeldBy("run-1", 4, Phase.SWITCHING, 0)
    guard_of(PLANNED, held).require()
    refused(guard_of(changed(PLANNED, changes), held))


def test_held_by_compares_the_verb_where_one_is_named() -> None:
    guard_of(FAILBACK, HeldBy("run-1", 1003, Phase.DIVERGED, 0, "failback")).require()
    other = changed(FAILBACK, {"verb": "unplanned_failover"})
    guard_of(other, HeldBy("run-1", 1003, Phase.DIVERGED, 0)).require()
    refused(guard_of(other, HeldBy("run-1", 1003, Phase.DIVERGED, 0, "failback")))


@pytest.mark.parametrize(
    "changes",
    [{"epoch": 5}, {"revision": 1}, {"phase": Phase.SWITCHING}, {"run": "x"}, {"verb": "failback"}, TURNED],
    ids=str,
)
def test_unchanged_compares_every_field(changes: dict[str, Any]) -> None:
    guard_of(STABLE, Unchanged(STABLE)).require()
    refused(guard_of(changed(STABLE, changes), Unchanged(STABLE)))


def test_asks_for_lets_the_rule_decide_about_the_record_that_was_found() -> None:
    rule = AsksFor(lambda state: state.active == "east", "a fence on west")
    guard_of(changed(STABLE, {"epoch": 9}), rule).require()
    assert "a record that asks for a fence on west" in refused(guard_of(changed(STABLE, TURNED), rule))


# Who asks which register, and for what.


def a_run(registers: FakeRegisters, verb: str, **fields: Any) -> Run:
    return Run(RunRequest("orders", "run-1", "east", "west", verb=cast("Any", verb), **fields), registers.clients())


@pytest.mark.parametrize("changes", NO_LONGER)
def test_a_planned_failover_asks_the_source_until_it_hands_over(changes: dict[str, Any]) -> None:
    registers = FakeRegisters(east=PLANNED, west=PLANNED)
    guard = a_run(registers, "planned_failover").guard(Phase.SWITCHING)
    registers.set(west=None)
    guard.require()
    registers.set(east=changed(PLANNED, changes), west=PLANNED)
    assert "the register of east says" in refused(guard)


@pytest.mark.parametrize("changes", NO_LONGER)
@pytest.mark.parametrize("phase", [Phase.HANDED_OVER, Phase.STABLE])
def test_a_planned_failover_asks_the_target_once_it_has_handed_over(phase: Phase, changes: dict[str, Any]) -> None:
    held = changed(PLANNED, {"phase": phase, **TURNED})
    registers = FakeRegisters(east=held, west=held)
    guard = a_run(registers, "planned_failover").guard(phase)
    registers.set(east=None)
    guard.require()
    registers.set(
        east=held, west=changed(held, {**changes, **({"phase": Phase.UNFENCED} if "phase" in changes else {})})
    )
    assert "the register of west says" in refused(guard)


@pytest.mark.parametrize("changes", NO_LONGER)
def test_an_unplanned_failover_asks_the_target_from_the_beginning(changes: dict[str, Any]) -> None:
    registers = FakeRegisters(east=UNPLANNED, west=UNPLANNED)
    guard = a_run(registers, "unplanned_failover").guard(Phase.SWITCHING)
    registers.set(east=None)
    guard.require()
    registers.set(east=UNPLANNED, west=changed(UNPLANNED, changes))
    assert "the register of west says" in refused(guard)


def test_a_run_without_a_record_may_change_nothing() -> None:
    registers = FakeRegisters()
    run = a_run(registers, "planned_failover")
    run.source, run.target = "east", "west"
    guard = run.guard(Phase.SWITCHING)
    registers.set(east=changed(PLANNED, {"epoch": 0}))
    refused(guard)


@pytest.mark.parametrize("changes", [*NO_LONGER, pytest.param({"verb": "roll_back"}, id="another verb")])
def test_a_failback_asks_the_active_cluster(changes: dict[str, Any]) -> None:
    registers = FakeRegisters(east=FAILBACK, west=FAILBACK)
    guard = FailbackContext(a_run(registers, "failback")).guard()
    registers.set(west=None)
    guard.require()
    registers.set(east=changed(FAILBACK, changes), west=FAILBACK)
    assert "the register of east says" in refused(guard)


@pytest.mark.parametrize(
    ("verb", "decides", "other"), [("planned_failover", "east", "west"), ("unplanned_failover", "west", "east")]
)
def test_a_roll_back_asks_the_deciding_register_for_its_own_record(verb: str, decides: str, other: str) -> None:
    undone = a_state(epoch=5, verb="roll_back", run="run-1")
    registers = FakeRegisters(east=undone, west=undone)
    guard = roll_back_guard(a_run(registers, verb), undone)
    registers.set(**{other: None})
    guard.require()
    registers.set(**{decides: changed(undone, {"epoch": 6}), other: undone})
    assert f"the register of {decides} says" in refused(guard)


def test_an_adoption_asks_the_active_cluster_for_its_own_record() -> None:
    adopted = a_state()
    registers = FakeRegisters(east=adopted, west=None)
    guard = adoption_guard(GroupContext("orders", registers.clients()), adopted)
    guard.require()
    registers.set(east=changed(adopted, {"run": "another adoption"}), west=adopted)
    assert "the register of east says" in refused(guard)


def answers(*clusters: str) -> RegisterAnswers:
    return RegisterAnswers(dict.fromkeys(clusters, STABLE), {}, {})


def test_health_asks_only_the_registers_that_answered_and_believes_the_newest() -> None:
    registers = FakeRegisters(east=STABLE, west=STABLE)
    registers.silent.add("east")
    context = GroupContext("orders", registers.clients())
    west_alone = guard_by_answering(context, answers("west"), Unchanged(STABLE))
    west_alone.require()
    registers.silent.clear()
    both = guard_by_answering(context, answers("east", "west"), AsksFor(lambda now: now.active == "east", "it"))
    both.require()
    registers.set(west=changed(STABLE, {"epoch": 5, **TURNED}))
    assert "the newest record of east, west says" in refused(both)
    refused(west_alone)


def test_flows_and_config_sync_ask_all_registers_and_need_the_one_that_decides() -> None:
    registers = FakeRegisters(east=STABLE, west=STABLE)
    guard = GroupContext("orders", registers.clients()).guard_by_all(Unchanged(STABLE))
    guard.require()
    assert sorted(registers.asked) == ["east", "west"]
    registers.silent.add("east")
    with pytest.raises(NeedsPerson, match="cannot be read"):
        guard.require()
    registers.silent.clear()
    registers.set(west=changed(STABLE, {"epoch": 5, "phase": Phase.SWITCHING}))
    refused(guard)


def test_flows_are_left_alone_once_the_group_has_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    registers, done = FakeRegisters(east=STABLE, west=STABLE), list[str]()
    seed = {"epoch": 4, "source": "east", "target": "west", "source_positions": [], "target_positions": []}
    registers.by_cluster["east"].write_fact("orders", STABLE.run, "flow_seed", seed)
    moved = changed(STABLE, {"epoch": 5, "phase": Phase.SWITCHING, "run": "run-1"})

    def status() -> FlowStatus:
        registers.set(east=moved, west=moved)
        return cast("FlowStatus", SimpleNamespace(state="absent", at_rest=True, detail=""))

    def replicator(_: Flow) -> Any:
        return SimpleNamespace(status=status, ensure=lambda **_: done.append("created"))

    def access_rules(*_: object, **__: object) -> Any:
        return SimpleNamespace(list=frozenset)

    def router(_: object) -> Any:
        return SimpleNamespace(read=lambda: None)

    clients = registers.clients(replicator=replicator, access_rules=access_rules, router=router)
    monkeypatch.setattr("kafka_dr.fencing.plan.flow_fence", lambda _: frozenset())
    monkeypatch.setattr("kafka_dr.fencing.plan.copy_flow_fence", lambda *_: frozenset())
    with pytest.raises(Refused, match="Nothing more is changed"):
        reconcile_flows("orders", clients)
    assert not done


def test_the_config_sync_asks_for_its_lock_and_the_clusters_ids_before_the_register() -> None:
    registers, asked = FakeRegisters(east=STABLE, west=STABLE), list[str]()
    ids = {"east": "id-of-east", "west": "id-of-west"}

    def operator(cluster: str, _: str) -> Any:
        def identity() -> Any:
            asked.append(f"id of {cluster}")
            return SimpleNamespace(cluster_id=ids[cluster])

        return SimpleNamespace(topics=SimpleNamespace(identity=identity))

    clients = registers.clients(cluster=operator)
    cast("Any", clients.topology).cluster = lambda name: SimpleNamespace(cluster_id=f"id-of-{name}")
    plan = cast("Plan", SimpleNamespace(active="east", standby="west"))

    def guard(renew: Callable[[], None]) -> RegisterGuard:
        lock = cast("HeldLock", SimpleNamespace(renew=renew))
        return config_guard(ConfigSyncRun("orders", clients, "run-1"), STABLE, plan, lock)

    def lost() -> None:
        raise Refused("another apply took over")

    def renew() -> None:
        assert not registers.asked, "the register is asked last"
        asked.append("lock")

    guard(renew).require()
    assert asked[0] == "lock"
    assert sorted(asked[1:]) == ["id of east", "id of west"]
    assert refused(guard(lost)) == "another apply took over"
    ids["west"] = "id-of-a-stranger"
    assert "id-of-a-stranger" in refused(guard(lambda: None))
    ids["west"] = "id-of-west"
    registers.set(east=changed(STABLE, {"epoch": 5}))
    assert "Nothing more is changed" in refused(guard(lambda: None))


def test_many_changes_of_one_kind_ask_again_when_a_second_is_over_and_none_follows_a_refusal() -> None:
    clock, held = ManualClock(), [PLANNED]
    asked = list[RegisterState]()

    def read() -> RegisterState:
        asked.append(held[0])
        return held[0]

    permission = LastingPermission(RegisterGuard("orders", "the register", read, Unchanged(PLANNED)), clock)
    for _ in range(3):
        permission.require()
    clock.advance(0.9)
    permission.require()
    assert len(asked) == 1
    held[0] = replace(PLANNED, attempt=2)
    clock.advance(0.2)
    for _ in range(2):
        with pytest.raises(Refused, match="Nothing more is changed"):
            permission.require()
    assert len(asked) == 2


def test_an_answer_that_took_too_long_permits_nothing_also_if_it_is_asked_for_many_changes() -> None:
    clock, takes = ManualClock(), [3.0, 3.0, 0.1]

    def read() -> RegisterState:
        # What is written meanwhile is not in the answer.
        clock.advance(takes.pop(0) if takes else 3.0)
        return PLANNED

    guard = RegisterGuard("orders", "the register of east", read, Unchanged(PLANNED))
    permission = LastingPermission(guard, clock)
    permission.require()
    assert takes == []
    clock.advance(1.0)
    for _ in range(2):
        with pytest.raises(TryAgain, match=r"the register of east of orders takes longer than 1 s to answer"):
            permission.require()
