"""A worker of an unplanned failover is stopped in the middle of a step, the run is finished without it, and it wakes.

The source hangs as long as the run lasts. When the worker wakes up, the source answers again: that is when it could do
most harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from support import outside_view
from support.disaster import STEPS, Disaster
from support.frozen_worker import FrozenWorker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

_REGISTER = "kafka_dr.register:KafkaRegister"
_ACLS = "kafka_dr.clusters.acls:Acls"
_ADVANCE = "kafka_dr.runs.run:Run.advance"
_LOST = "failed: .*Nothing more is changed"


@pytest.fixture
def workers() -> Iterator[list[FrozenWorker]]:
    """Return a list for the workers of a test; all of them end with it."""
    made: list[FrozenWorker] = []
    yield made
    for worker in made:
        worker.end()


@pytest.mark.long
@pytest.mark.parametrize(
    ("step", "place", "says"),
    [
        (StepName.FENCE, f"{_ACLS}.add", "failed: "),
        (StepName.FENCE, f"{_REGISTER}.write_fact", _LOST),
        (StepName.CUT_OVER_GROUPS, f"{_REGISTER}.write_fact", _LOST),
        (StepName.OPEN_TARGET, f"{_ACLS}.list", _LOST),
        (StepName.OPEN_TARGET, _ADVANCE, "failed: "),
        (StepName.OPEN_TARGET, f"{_ACLS}.remove", "failed: "),
        # The route says already what it was going to write: nothing has to be refused.
        (StepName.FLIP_ROUTE, "kafka_dr.routing.file:FileRouter.switch", "done: "),
        (StepName.VERIFY, f"{_REGISTER}.write_fact", _LOST),
        (StepName.SETTLE, f"{_REGISTER}.write_fact", _LOST),
        (StepName.SETTLE, _ADVANCE, "failed: "),
    ],
)
def test_a_worker_that_sleeps_in_any_step_changes_nothing_after_the_run_is_finished(
    passing: Disaster, workers: list[FrozenWorker], step: StepName, place: str, says: str
) -> None:
    group, request = passing.group, passing.request()
    first = STEPS.index(step)
    with passing.hanging(passing.broker):
        passing.go(STEPS[first - 1], request)
        workers.append(FrozenWorker(group.protection, request, step, place))
        for each in STEPS[first:]:
            assert passing.step(each, request).good
    group.wait_answering(90)
    assert passing.state().phase is Phase.UNFENCED
    group.protection.produce(passing.standby, 10)
    before, journal = outside_view.look(group.protection), _journals(passing, request.run)

    said = workers[0].wake()

    assert re.match(says, said), said
    seen, after = outside_view.look(group.protection), _journals(passing, request.run)
    _assert_only_older_copies_arrived(passing, seen, after)
    # All else is as it was.
    registers = {**seen.registers, passing.active: before.registers[passing.active]}
    journals = {**after, passing.active: journal[passing.active]}
    assert (replace(seen, registers=registers), journals) == (before, journal), said


def _assert_only_older_copies_arrived(passing: Disaster, seen: outside_view.Seen, journals: dict[str, Any]) -> None:
    """What the worker was copying to the register of the source, which hung as well, may arrive when both wake up.

    It is a record or a fact of the same run that the register that decides holds already, or holds a newer one of.
    """
    late, decides = (seen.registers[cluster] for cluster in (passing.active, passing.standby))
    assert late is not None
    assert decides is not None
    assert late.order <= decides.order
    assert journals[passing.active].keys() <= journals[passing.standby].keys()
    assert "alive" not in journals[passing.active], "it says that it lives, and has lost the run"


def _journals(disaster: Disaster, run: str) -> dict[str, Any]:
    with disaster.group.protection.clients() as clients:
        return {name: clients.register(name).facts(disaster.group.name, run) for name in ("east", "west")}
