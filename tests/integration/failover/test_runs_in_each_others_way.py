"""One run at a time, one step after another: a second run or a step out of order learns why and changes nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_dr.errors import Refused
from kafka_dr.register import KafkaRegister, Phase
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


def test_a_second_run_does_not_get_the_group_while_the_first_one_holds_it(group: SwitchedGroup) -> None:
    source = group.active
    second = group.go(StepName.PREFLIGHT)
    first = group.go(StepName.CLAIM)
    before = outside_view.look(group.protection)

    with group.protection.clients() as clients:
        refusals = [failed(step, second, clients) for step in (StepName.PREFLIGHT, StepName.CLAIM)]
        stranger = failed(StepName.FENCE_SOURCE, second, clients)
    undone = group.roll_back(second)

    for record in refusals:
        assert record.outcome == "refused"
        assert f"the group belongs to run {first.run} (switching, epoch " in record.detail
        assert "wait until that run ends, or finish or abandon it with dr_resume" in record.detail
    assert f"run {second.run} may not change it" in stranger.detail
    assert "there is nothing to undo" in undone.detail
    assert outside_view.look(group.protection) == before
    group.roll_back(first)
    group.assert_at_rest(source)


def test_of_two_runs_that_claim_at_the_same_moment_one_names_the_other(
    group: SwitchedGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = group.active
    second = group.go(StepName.PREFLIGHT)
    first = group.go(StepName.PREFLIGHT)
    real = KafkaRegister.compare_and_set
    overtaken: list[bool] = []

    def overtake(register: KafkaRegister, *states: object) -> None:
        if not overtaken:
            overtaken.append(True)
            with group.protection.clients() as other_worker:
                run_step(StepName.CLAIM, first, other_worker)
        real(register, *states)  # type: ignore[arg-type]

    monkeypatch.setattr(KafkaRegister, "compare_and_set", overtake)
    with group.protection.clients() as clients:
        record = failed(StepName.CLAIM, second, clients)

    assert "the register was expected to hold" in record.detail
    assert f"by run {first.run}" in record.detail
    state = group.protection.state(source)
    assert state is not None
    assert state.run == first.run
    group.roll_back(first)
    group.assert_at_rest(source)


def test_a_step_out_of_its_turn_is_refused_and_nothing_is_opened(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.FENCE_SOURCE)
    before = outside_view.look(group.protection)

    with group.protection.clients() as clients:
        said = {
            step: failed(step, request, clients).detail
            for step in (
                StepName.CUT_OVER_GROUPS,
                StepName.OPEN_TARGET,
                StepName.FLIP_ROUTE,
                StepName.VERIFY,
                StepName.START_REVERSE_FLOW,
                StepName.REPORT,
            )
        }

    assert "holds no drained: the step that writes it has to run first" in said[StepName.CUT_OVER_GROUPS]
    assert "the step that writes it has to run first" in said[StepName.OPEN_TARGET]
    for step in (StepName.FLIP_ROUTE, StepName.VERIFY, StepName.START_REVERSE_FLOW, StepName.REPORT):
        assert f"the steps before {step} have to be done first" in said[step]
    after = outside_view.look(group.protection)
    # The process took the run before it looked further.
    assert replace(after, registers=before.registers) == before
    taken = after.registers[source]
    assert taken is not None
    assert (taken.phase, taken.active, taken.run) == (Phase.SWITCHING, source, request.run)
    assert group.protection.refuses_writes(target)
    group.roll_back(request)
    group.assert_at_rest(source)


def test_there_is_nothing_to_resume_where_no_run_holds_the_group(group: SwitchedGroup) -> None:
    group.roll_back(group.go(StepName.CLAIM))
    before = outside_view.look(group.protection)
    with group.protection.clients() as clients:
        for decision in ("finish", "abandon"):
            with pytest.raises(Refused, match="no run holds it, so there is nothing to resume"):
                resume(ResumeRequest(group.name, decision, confirmed=True), clients)

    assert outside_view.look(group.protection) == before


def test_a_run_is_resumed_by_its_own_name_only(group: SwitchedGroup) -> None:
    source = group.active
    request = group.go(StepName.CLAIM)

    with (
        group.protection.clients() as clients,
        pytest.raises(Refused, match=f"run {request.run} holds {group.name}, expected run-of-another-day"),
    ):
        resume(ResumeRequest(group.name, "abandon", run="run-of-another-day", confirmed=True), clients)

    group.roll_back(request)
    group.assert_at_rest(source)
