"""What the register record requires of clusters and flows, in every phase."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from kafka_dr.clusters import Acl
from kafka_dr.errors import Refused
from kafka_dr.fencing import plan
from kafka_dr.fencing.required import denies_of, required_now
from kafka_dr.health.desired_state import stale_registers
from kafka_dr.register import Phase, RegisterState, transitions
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.flows_of_standby import may_run, must_run
from kafka_dr.topology.existing import ExistingReplicationSpec
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup
from lab.layout import PROJECT
from support.register_states import AT, a_state

FORWARD, REVERSE = Flow("orders", "east", "west"), Flow("orders", "west", "east")
OLD_CLUSTER_CLOSED = [
    a_state(phase=Phase.UNFENCED, active="west", standby="east", verb="unplanned_failover"),
    a_state(phase=Phase.DIVERGED, active="west", standby="east", verb="unplanned_failover"),
]
FAILING_BACK = a_state(phase=Phase.DIVERGED, active="west", standby="east", verb="failback")


@pytest.fixture(scope="module")
def group() -> ProtectionGroup:
    environ = {
        "KAFKA_DR_LAB_HOME": "/lab",
        "KAFKA_DR_LAB_EAST": "localhost:1",
        "KAFKA_DR_LAB_WEST": "localhost:2",
        "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
    }
    return load(Path(PROJECT / "include" / "topology.yaml"), environ).group("orders")


#: The record of a group that is being adopted or released, or that was released, requires no fence.
WITHOUT_FENCES = (Phase.ADOPTING, Phase.RELEASING, Phase.RELEASED)
FENCED = [phase for phase in Phase if phase not in WITHOUT_FENCES]


@pytest.mark.parametrize("phase", WITHOUT_FENCES)
def test_a_group_that_is_not_adopted_needs_no_fence_and_health_adds_none(group: ProtectionGroup, phase: Phase) -> None:
    state = a_state(phase=phase, active="east", standby="west")
    for replaced in (False, True):
        assert not denies_of(group, state, "east", replaced=replaced) | denies_of(
            group, state, "west", replaced=replaced
        )
        # A change that was held up is taken back in a group that was released; while a run holds it, its steps decide.
        expected = frozenset[Acl]() if phase is Phase.RELEASED else None
        assert required_now(group, state, "west", replaced=replaced) == expected


@pytest.mark.parametrize("phase", FENCED)
def test_the_active_cluster_is_never_denied_to_applications(group: ProtectionGroup, phase: Phase) -> None:
    state = a_state(phase=phase, active="east", standby="west")
    assert denies_of(group, state, "east", replaced=False) == plan.flow_fence(group)


@pytest.mark.parametrize("phase", FENCED)
def test_a_cluster_that_is_not_active_refuses_in_every_phase(group: ProtectionGroup, phase: Phase) -> None:
    state = a_state(phase=phase, active="west", standby="east")
    for cluster in ("east", "a third one"):
        assert plan.standby(group) <= denies_of(group, state, cluster, replaced=False)


@pytest.mark.parametrize("phase", FENCED)
def test_replication_that_a_take_over_has_replaced_is_kept_out_in_every_phase_and_role(
    group: ProtectionGroup, phase: Phase
) -> None:
    existing = ExistingReplicationSpec(replicator="external", principal="User:old")
    group = group.model_copy(update={"existing_replication": existing})
    state = a_state(phase=phase, active="east", standby="west")
    for cluster in ("east", "west"):
        without, wanted = (denies_of(group, state, cluster, replaced=replaced) for replaced in (False, True))
        assert wanted - without == plan.existing_denies(group, "west")
        assert {acl.principal for acl in wanted - without} == {"User:old"}


@pytest.mark.parametrize("state", OLD_CLUSTER_CLOSED, ids=lambda state: str(state.phase))
def test_nothing_is_copied_to_the_old_cluster_before_a_failback(group: ProtectionGroup, state: RegisterState) -> None:
    assert plan.flow_fence(group) <= denies_of(group, state, "east", replaced=False)
    assert not may_run(state, REVERSE)
    assert not may_run(state, FORWARD)


def test_a_failback_may_copy_to_the_old_cluster_and_health_does_not_stop_it(
    group: ProtectionGroup,
) -> None:
    assert not plan.flow_fence(group) & denies_of(group, FAILING_BACK, "east", replaced=False)
    assert may_run(FAILING_BACK, REVERSE)
    assert not must_run(FAILING_BACK, REVERSE)


@pytest.mark.parametrize("state", [*OLD_CLUSTER_CLOSED, FAILING_BACK, a_state(active="west", standby="east")])
def test_the_old_direction_never_runs(state: RegisterState) -> None:
    assert not may_run(state, FORWARD)


@pytest.mark.parametrize("phase", Phase)
def test_only_a_stable_group_has_to_replicate(phase: Phase) -> None:
    assert must_run(a_state(phase=phase), FORWARD) is (phase is Phase.STABLE)


def test_stale_registers_of_a_stable_group_are_updated() -> None:
    newest = a_state(epoch=3)
    assert stale_registers(newest, {"east": newest, "west": a_state(epoch=2), "north": None}) == ("north", "west")


@pytest.mark.parametrize("phase", [Phase.SWITCHING, Phase.HANDED_OVER, Phase.UNFENCED])
def test_only_the_run_writes_the_registers_of_a_group_that_it_moves(phase: Phase) -> None:
    newest = a_state(epoch=3, phase=phase)
    assert stale_registers(newest, {"east": newest, "west": a_state(epoch=2)}) == ()


def test_the_register_of_the_old_cluster_is_updated_once_it_is_fenced() -> None:
    newest = a_state(epoch=1000, revision=3, phase=Phase.DIVERGED, active="west", standby="east")
    assert stale_registers(newest, {"west": newest, "east": a_state()}) == ("east",)


def test_a_failback_that_another_process_continues_leaves_no_register_out_of_date() -> None:
    newest = replace(FAILING_BACK, revision=2, attempt=2, executor="another", attempt_at=FAILING_BACK.at)
    assert stale_registers(newest, {"west": newest, "east": FAILING_BACK}) == ()
    assert stale_registers(replace(newest, epoch=2), {"west": newest, "east": FAILING_BACK}) == ("east", "west")


def test_which_flows_of_several_standbys_may_run_and_which_have_to() -> None:
    adopted = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
    signed = {"run": "r", "evidence_sha256": "", "approved_by": "alice", "at": AT}
    move = {"verb": "planned_failover", "source": "east", "target": "west", "highest_epoch": 1}
    switching = transitions.claimed(adopted, **move, **signed)  # type: ignore[arg-type]
    handed_over = transitions.handed_over(switching, run="r", at=AT)
    settled = transitions.settled(handed_over, run="r", at=AT)
    again = transitions.copied_again(settled, "north")

    def of(rule: Callable[[RegisterState, Flow], bool], state: RegisterState) -> set[tuple[str, str]]:
        flows = (Flow("orders", *ends) for ends in permutations(("east", "west", "north"), 2))
        return {(flow.source, flow.target) for flow in flows if rule(state, flow)}

    from_east, from_west = {("east", "west"), ("east", "north")}, {("west", "east"), ("west", "north")}
    assert of(may_run, adopted) == of(must_run, adopted) == of(may_run, switching) == from_east
    # The run has not stopped the old flow to the further standby yet.
    assert of(may_run, handed_over) == {*from_west, ("east", "north")}
    assert (of(may_run, settled), of(must_run, settled)) == (from_west, {("west", "east")})
    assert of(may_run, again) == of(must_run, again) == from_west


def test_where_copies_have_names_of_their_own_all_flows_run_but_those_of_a_lost_cluster(group: ProtectionGroup) -> None:
    three = ["east", "west", "north"]
    adopted = transitions.adopted(
        "orders", active="east", standbys=["west", "north"], run="adoption", at=AT, copies_named="."
    )
    signed = {"evidence_sha256": "", "approved_by": "alice", "run": "r", "at": AT}
    move = {"source": "east", "target": "west", "highest_epoch": 1}

    def of(state: RegisterState) -> set[tuple[str, str]]:
        ends = permutations(three, 2)
        flows = {each: Flow("orders", *each) for each in ends}
        may = {each for each, flow in flows.items() if may_run(state, flow, both_ways=True)}
        must = {each for each, flow in flows.items() if must_run(state, flow, both_ways=True)}
        assert must in (set(), may)
        return may

    planned = transitions.claimed(adopted, verb="planned_failover", **move, **signed)  # type: ignore[arg-type]
    settled = transitions.settled(transitions.handed_over(planned, run="r", at=AT), run="r", at=AT)
    assert of(adopted) == of(settled) == set(permutations(three, 2))
    assert settled.roles.copies == ("east", "north")
    claim = transitions.claimed_unplanned(adopted, **move, **signed)  # type: ignore[arg-type]
    moved = transitions.handed_over(claim, run="r", at=AT)
    lost = transitions.without_source(moved, run="r", fenced=True, at=AT)
    assert of(lost) == {("west", "north"), ("north", "west")}
    named = group.model_copy(
        update={"clusters": tuple(three), "flow": group.flow.model_copy(update={"naming": "default"})}
    )
    for cluster in ("west", "north"):
        held = plan.copy_flow_fence(named, "east", cluster)
        assert held <= denies_of(named, lost, cluster, replaced=False)
        assert not held & denies_of(named, settled, cluster, replaced=False)
    with pytest.raises(Refused, match="make east a copy again with dr_failback"):
        transitions.claimed(lost, verb="planned_failover", **{**move, "source": "west", "target": "north"}, **signed)  # type: ignore[arg-type]


def test_of_several_standbys_the_one_that_may_take_writes_gets_no_copy_of_the_record() -> None:
    adopted = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
    signed = {"evidence_sha256": "", "approved_by": "alice"}
    claim = transitions.claimed_unplanned(
        adopted, run="run-1", source="east", target="west", highest_epoch=1, at=AT, **signed
    )
    moved = transitions.handed_over(claim, run="run-1", at=AT)
    state = transitions.without_source(moved, run="run-1", fenced=False, at=AT)
    assert stale_registers(state, {"west": state, "north": moved, "east": adopted}) == ("north",)
    back = transitions.fenced_on_return(state, at=AT)
    assert stale_registers(back, {"west": back, "north": moved, "east": adopted}) == ("east", "north")


def test_an_empty_register_of_several_gets_a_record_that_more_than_half_hold() -> None:
    state = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
    assert stale_registers(state, {"east": state, "west": state, "north": None}) == ("north",)
    # West is silent, and the group may have been moved there.
    assert stale_registers(state, {"east": state, "north": None}) == ()


def test_a_flow_to_a_standby_that_is_a_copy_has_to_run_while_a_lost_cluster_is_away() -> None:
    adopted = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
    signed = {"evidence_sha256": "", "approved_by": "alice"}
    claim = transitions.claimed_unplanned(
        adopted, run="run-1", source="east", target="west", highest_epoch=1, at=AT, **signed
    )
    moved = transitions.handed_over(claim, run="run-1", at=AT)
    state = transitions.copied_again(transitions.without_source(moved, run="run-1", fenced=True, at=AT), "north")
    assert must_run(state, Flow("orders", "west", "north"))
    assert not may_run(state, Flow("orders", "west", "east"))


def test_both_flows_run_where_copies_have_names_of_their_own_until_a_cluster_is_lost() -> None:
    for active, other in (("east", "west"), ("west", "east")):
        stable = a_state(phase=Phase.STABLE, active=active, standby=other)
        assert [may_run(stable, flow, both_ways=True) for flow in (FORWARD, REVERSE)] == [True, True]
        assert [must_run(stable, flow, both_ways=True) for flow in (FORWARD, REVERSE)] == [True, True]
    for state in OLD_CLUSTER_CLOSED:
        assert [may_run(state, flow, both_ways=True) for flow in (FORWARD, REVERSE)] == [False, False]
    assert [may_run(FAILING_BACK, flow, both_ways=True) for flow in (FORWARD, REVERSE)] == [True, True]


def test_a_copy_with_a_name_of_its_own_is_never_opened_and_never_mixed_with_a_topic(group: ProtectionGroup) -> None:
    named = group.model_copy(update={"flow": group.flow.model_copy(update={"naming": "default"})})
    for active, other in (("east", "west"), ("west", "east")):
        state = a_state(phase=Phase.STABLE, active=active, standby=other, copies_named=".")
        for cluster in (active, other):
            before = denies_of(named, replace(state, copies_named=""), cluster, replaced=False)
            assert not plan.copy_fence(named, cluster) & before, "what the topology says since fences nothing"
            denied = denies_of(named, state, cluster, replaced=False)
            assert plan.copy_fence(named, cluster) <= denied
            assert plan.flow_fence(named) <= denied
            assert not plan.copy_flow_fence(named, "east" if cluster == "west" else "west", cluster) & denied


@pytest.mark.parametrize("state", OLD_CLUSTER_CLOSED, ids=lambda state: str(state.phase))
def test_what_a_lost_cluster_holds_alone_does_not_arrive_before_it_is_approved(
    group: ProtectionGroup, state: RegisterState
) -> None:
    named = group.model_copy(update={"flow": group.flow.model_copy(update={"naming": "default"})})
    late = plan.copy_flow_fence(named, "east", "west")
    assert late
    lost, returning = (replace(each, copies_named=".") for each in (state, FAILING_BACK))
    assert late <= denies_of(named, lost, "west", replaced=False)
    assert not late & denies_of(named, returning, "west", replaced=False)
    assert not late & denies_of(named, state, "west", replaced=False)
