"""Each step on real brokers: it runs, it is interrupted after it acted, it runs again, and once more for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_dr.failover import RunRequest, StepName, World, run_step
from kafka_dr.register import Phase
from support import onlooker
from support.protection import STEPS_AFTER_APPROVAL
from support.switching import Switching, act_only

pytestmark = pytest.mark.kafka


def test_every_step_can_be_interrupted_after_it_acted_and_run_again_and_again(group: Switching) -> None:
    source, target = group.active, group.standby
    protection, request = group.protection, group.request()
    epoch = group.protection.state(source).epoch  # type: ignore[union-attr]
    before = onlooker.contents(protection, source)
    slow = f"{group.name}-slow"
    unread = onlooker.next_values(protection, source, onlooker.committed(protection, source)[slow])

    with protection.world() as world:
        assert _three_times(StepName.PREFLIGHT, request, world) == ["done", "done"]
        protection.approve(request, world)
    for step in STEPS_AFTER_APPROVAL:
        # A world of its own each time, as a new worker has: nothing is remembered but what the clusters hold.
        with protection.world() as world:
            outcomes = _three_times(step, request, world)
        assert set(outcomes) <= {"done", "passed"}, f"{step} ended {outcomes}"
        open_sides = {cluster for cluster in (source, target) if protection.takes_writes(cluster)}
        assert len(open_sides) <= 1, f"after {step} both sides take writes"

    state = protection.state(target)
    assert state is not None
    assert (state.phase, state.active, state.epoch) == (Phase.STABLE, target, epoch + 1)
    assert {p: found[: len(before[p])] for p, found in onlooker.contents(protection, target).items()} == before
    moved = onlooker.next_values(protection, target, onlooker.committed(protection, target)[slow])
    assert moved == unread
    assert f'"active": "{target}"' in Path(protection.group.route.path).read_text().replace('":"', '": "')
    group.assert_at_rest(target)


def test_a_finished_run_is_passed_over_by_each_of_its_steps_and_changes_nothing(group: Switching) -> None:
    request = group.go(StepName.REPORT)
    before = onlooker.look(group.protection)

    with group.protection.world() as world:
        outcomes = {step: run_step(step, request, world).outcome for step in STEPS_AFTER_APPROVAL}

    assert set(outcomes.values()) <= {"passed", "done"}
    assert outcomes[StepName.OPEN_TARGET] == "passed"
    assert onlooker.look(group.protection) == before


def _three_times(step: StepName, request: RunRequest, world: World) -> list[str]:
    act_only(step, request, world)
    return [run_step(step, request, world).outcome for _ in range(2)]
