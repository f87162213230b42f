"""With the source dead, every step dies between two changes once, and is run again; or the run is rolled back."""

from __future__ import annotations

import pytest

from kafka_dr.clusters.acls import Acls
from kafka_dr.clusters.groups import Groups
from kafka_dr.clusters.transactions import Transactions
from kafka_dr.failover import ResumeRequest, StepName, resume, roll_back
from kafka_dr.register import Phase
from kafka_dr.register.kafka_register import KafkaRegister
from kafka_dr.routing import FileRouter
from support import onlooker
from support.disaster import STEPS, Disaster
from support.switching import dying

pytestmark = pytest.mark.kafka

#: Where each step dies, in turn, before it comes through.
_DEATHS: dict[StepName, list[tuple[type, str, str]]] = {
    StepName.CLAIM: [(KafkaRegister, "write_fact", "after"), (KafkaRegister, "compare_and_set", "after")],
    StepName.FENCE: [(Acls, "add", "before"), (Acls, "add", "after"), (Transactions, "take_over", "after")],
    StepName.CUT_OVER_GROUPS: [(Groups, "set_offsets", "before"), (Groups, "set_offsets", "after")],
    StepName.OPEN_TARGET: [
        (KafkaRegister, "compare_and_set", "before"),
        (KafkaRegister, "compare_and_set", "after"),
        (Acls, "remove", "after"),
    ],
    StepName.FLIP_ROUTE: [(FileRouter, "switch", "before"), (FileRouter, "switch", "after")],
    StepName.PROTECT: [(KafkaRegister, "compare_and_set", "before"), (KafkaRegister, "compare_and_set", "after")],
}


def test_every_step_may_die_anywhere_and_is_run_again(disaster: Disaster) -> None:
    group = disaster.group
    disaster.produce_what_never_crosses(10)
    request = disaster.request()
    disaster.approve(request)

    for step in STEPS:
        for at, method, when in _DEATHS.get(step, []):
            disaster.killed(step, request, dying(at, method, when=when, beside=False))
        assert disaster.step(step, request).good

    state = disaster.state()
    assert (state.phase, state.active, state.epoch, state.run) == (Phase.UNFENCED, "west", 1000, request.run)
    assert group.protection.takes_writes("west")
    assert disaster.read_again() == {f"{group.name}-head": 0, f"{group.name}-slow": 0}
    # And once more, now that all is done: nothing is changed by a second click.
    before = onlooker.acls_of(group.protection, "west")
    for step in STEPS:
        assert disaster.step(step, request).good
    assert disaster.state() == state
    assert onlooker.acls_of(group.protection, "west") == before


def test_a_run_is_rolled_back_without_its_source_which_finds_everything_as_it_left_it(passing: Disaster) -> None:
    group = passing.group
    with passing.hanging(passing.broker):
        request = passing.request()
        passing.go(StepName.CUT_OVER_GROUPS, request)
        with group.protection.world() as world:
            record = roll_back(request, world)
        assert {proof.name: proof.outcome for proof in record.proofs} == {
            "source_left_alone": "ok",
            "target_refuses": "ok",
        }
        state = passing.state()
        assert (state.phase, state.active, state.epoch % 1000) == (Phase.STABLE, passing.active, 1)
        assert group.protection.refuses_writes(passing.standby)

    group.wait_answering()
    assert group.protection.takes_writes(passing.active)


def test_a_run_that_fenced_a_living_source_is_abandoned_and_opens_it_again(passing: Disaster) -> None:
    group = passing.group
    request = passing.request()
    passing.go(StepName.FENCE, request)
    assert group.protection.refuses_writes(passing.active)

    with group.protection.world() as world:
        resume(ResumeRequest(group.name, "abandon", run=request.run, reason="a test"), world)

    group.assert_at_rest(passing.active)
