"""A register that can be read and takes no record is not waited for long, once its cluster is given up."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kafka_dr.health.health_check import check_health
from kafka_dr.runs.request import StepName
from support.disaster import STEPS, Disaster
from support.protection import Protection
from support.register_faults import TooFewReplicas
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka

#: A change that waits for a register that takes none needs 20 s and more.
_MOST_SECONDS = 14.0
#: One change that waits for it needs 15 s.
_MOST_SECONDS_OF_A_LOOK = 10.0


@pytest.mark.long
@pytest.mark.parametrize("kind", [TooFewReplicas])
@pytest.mark.usefixtures("kind")
def test_neither_the_claim_nor_the_seal_nor_health_waits_long_for_it(group: SwitchedGroup) -> None:
    protection, disaster = group.protection, Disaster.of(group)
    disaster.look()
    _look(protection)
    with TooFewReplicas(protection, "east").present():
        request = disaster.request()
        disaster.approve(request)
        seconds = {step: _seconds(lambda step=step: disaster.step(step, request)) for step in STEPS}  # type: ignore[misc]
        measured = {step: seconds[step] for step in (StepName.CLAIM, StepName.REPORT)}
        assert max(measured.values()) < _MOST_SECONDS, seconds
        assert _seconds(lambda: _look(protection)) < _MOST_SECONDS_OF_A_LOOK


def _look(protection: Protection) -> None:
    with protection.clients() as clients:
        check_health(protection.name, clients)


def _seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return round(time.monotonic() - began, 1)
