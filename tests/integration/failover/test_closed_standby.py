"""Each verb with a closed standby: interrupted at each change, rolled back at each stage, there and back.

The source is closed at the freeze as well: DENYs of every operation, in place of READ and of changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from kafka_dr.failover.unplanned.reachable_source import SourceState
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import whole
from kafka_dr.health.health_check import check_health
from kafka_dr.register import Phase
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from lab.api import Lab
from support import outside_view
from support.closed_standby import assert_nobody_is_let_in_twice, close, fewer, rights_of_others
from support.disaster import STEPS, Disaster, adopted, disaster_is_over
from support.dying_process import DyingProcess
from support.protection import STEPS_AFTER_APPROVAL, STEPS_OF_RELEASE, Protection
from support.switched_group import SwitchedGroup

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

_REVERSIBLE = STEPS_AFTER_APPROVAL[: STEPS_AFTER_APPROVAL.index(StepName.OPEN_TARGET)]


@pytest.fixture(scope="module")
def closed(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwitchedGroup]:
    """A group whose standby is closed; each test leaves it stable, and nothing of its owners' rights is touched."""
    protection = Protection(lab, tmp_path_factory.mktemp("closed"), changes={"fence_operations": "all"})
    switching = adopted(protection)
    given = rights_of_others(protection)
    try:
        yield switching
        assert rights_of_others(protection) == given
    finally:
        protection.delete_flows()


@pytest.mark.parametrize(
    "step",
    [pytest.param(step, marks=[] if step is StepName.CUT_OVER_GROUPS else pytest.mark.long) for step in _REVERSIBLE],
)
def test_a_run_that_is_rolled_back_at_any_stage_leaves_nothing_and_its_standby_closed(
    closed: SwitchedGroup, step: StepName
) -> None:
    close(closed)
    source, before = closed.active, outside_view.look(closed.protection)
    request = closed.interrupted_after_act(step)
    if step is not StepName.CLAIM:
        ids = whole(plan.transaction_fence(closed.protection.group))
        assert ids <= outside_view.denies(closed.protection, source)

    died = _wherever_it_dies(closed, partial(_rolled_back, closed, request))

    assert died
    assert outside_view.look(closed.protection).acls == before.acls
    closed.assert_at_rest(source)


@pytest.mark.long
def test_a_group_is_switched_there_and_back_and_each_standby_is_closed(closed: SwitchedGroup) -> None:
    for _ in range(2):
        close(closed)
        source, target = closed.active, closed.standby
        request = closed.go(StepName.DRAIN)
        _assert_closed_at_the_freeze(closed, source)
        with closed.protection.clients() as clients:
            for step in STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(StepName.STOP_FLOW) :]:
                assert run_step(step, request, clients).good
        closed.assert_at_rest(target)


@pytest.mark.long
def test_every_step_may_die_after_each_of_its_changes_there_and_back(closed: SwitchedGroup) -> None:
    for _ in range(2):
        close(closed)
        source, target = closed.active, closed.standby
        request = closed.go(StepName.PREFLIGHT)
        with closed.protection.clients() as clients:
            closed.protection.approve(request, clients)
        for step in STEPS_AFTER_APPROVAL:
            _wherever_it_dies(closed, partial(_run, closed, step, request))
            if step is StepName.DRAIN:
                _assert_closed_at_the_freeze(closed, source)
        closed.assert_at_rest(target)


@pytest.mark.long
def test_an_unplanned_failover_may_die_after_each_of_its_changes_while_its_source_answers(
    closed: SwitchedGroup,
) -> None:
    close(closed)
    made = Disaster.of(closed)
    made.look()
    request = made.request()
    made.approve(request)
    for step in STEPS:
        _wherever_it_dies(closed, partial(made.step, step, request))
    if not SourceState.of(made.journal(request.run)).drained:
        # A source that answered too slowly is left as it is, and fenced: on a busy machine that may happen.
        assert made.state().phase is Phase.DIVERGED
        assert closed.protection.refuses_writes(made.active)
        return
    _assert_closed_at_the_freeze(closed, made.active)
    closed.assert_at_rest(made.standby)
    close(closed)


@pytest.mark.long
def test_a_closed_standby_takes_over_from_a_dead_cluster_which_is_closed_when_it_returns(
    protection: Protection,
) -> None:
    protection.changes["fence_operations"] = "all"
    group = SwitchedGroup.adopt(protection, records=60)
    given = rights_of_others(protection)
    close(group)
    made = Disaster.of(group)
    made.look()
    protection.lab.kill(made.broker)
    try:
        made.go(StepName.REPORT)
        assert protection.takes_writes(made.standby)
        assert outside_view.denies(protection, made.standby) == plan.flow_fence(protection.group)
    finally:
        made.back()
    declared = protection.group
    fence = fewer(protection) | plan.standby(declared) | plan.flow_fence(declared)
    for _ in range(3):
        with protection.clients() as clients:
            check_health(group.name, clients)
        assert protection.refuses_writes(made.active)
        assert_nobody_is_let_in_twice(protection)
    assert outside_view.denies(protection, made.active) <= fence
    assert rights_of_others(protection) == given
    disaster_is_over(made)


def test_a_release_may_die_after_each_of_its_changes_and_lifts_everything(protection: Protection) -> None:
    protection.changes["fence_operations"] = "all"
    group = SwitchedGroup.adopt(protection, records=60)
    close(group)
    given = rights_of_others(protection)
    request = group.request(verb="un_adopt", hand_back_to="own_flow")
    _run(group, StepName.PREFLIGHT, request)
    with protection.clients() as clients:
        protection.approve(request, clients)
    for step in STEPS_OF_RELEASE:
        mortal = DyingProcess()
        assert mortal.until_through(partial(_run, group, step, request)).good
    for cluster in ("east", "west"):
        assert not outside_view.denies(protection, cluster)
    assert rights_of_others(protection) == given


def _assert_closed_at_the_freeze(group: SwitchedGroup, source: str) -> None:
    """What had to be added before the freeze is listed still; everything else is one DENY of every operation."""
    declared = group.protection.group
    wanted = fewer(group.protection) | plan.write_fence(declared)
    assert outside_view.denies(group.protection, source) - plan.flow_fence(declared) == wanted


def _wherever_it_dies(group: SwitchedGroup, work: Callable[[], StepRecord]) -> list[str]:
    """Do the work in a process that dies after each of its changes; after each, nobody may write to both clusters."""
    mortal = DyingProcess()

    def again() -> StepRecord:
        assert_nobody_is_let_in_twice(group.protection)
        return work()

    assert mortal.until_through(again).good
    assert_nobody_is_let_in_twice(group.protection)
    return mortal.died


def _run(group: SwitchedGroup, step: StepName, request: RunRequest) -> StepRecord:
    with group.protection.clients() as clients:
        return run_step(step, request, clients)


def _rolled_back(group: SwitchedGroup, request: RunRequest) -> StepRecord:
    with group.protection.clients() as clients:
        return roll_back(request, clients)
