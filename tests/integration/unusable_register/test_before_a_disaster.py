"""A register that is unusable is red before anybody needs it."""

from __future__ import annotations

import pytest

from kafka_dr.readiness.judge import verbs_in
from kafka_dr.readiness.model import VerbReadiness
from kafka_dr.readiness_checks.look import look_at_readiness
from support.protection import Protection
from support.register_faults import FAULTS, Gone, RegisterFault, TooSmall
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka


#: With ``--long`` each of them; else those that need no dead broker.
_KINDS = [
    pytest.param(fault, marks=[] if fault in (Gone, TooSmall) else pytest.mark.long, id=fault.__name__)
    for fault in FAULTS
]


@pytest.fixture(params=_KINDS)
def kind(request: pytest.FixtureRequest) -> type[RegisterFault]:
    found: type[RegisterFault] = request.param
    return found


@pytest.mark.parametrize("cluster", ["west", pytest.param("east", marks=pytest.mark.long)])
def test_readiness_names_it_in_red(group: SwitchedGroup, kind: type[RegisterFault], cluster: str) -> None:
    with kind(group.protection, cluster).present():
        found = _ready(group.protection)
        planned = found["planned_failover"]
        assert planned.answer == "not_ready", planned
        (red,) = (each.detail for each in planned.checks if each.name == "registers_usable")
        assert "register" in red or "_kafka_dr.register" in red
        assert cluster in red
        if cluster == "west":
            assert found["unplanned_failover"].answer == "not_ready", found["unplanned_failover"]


def _ready(protection: Protection) -> dict[str, VerbReadiness]:
    with protection.clients() as clients:
        return {each.verb: each for each in verbs_in(look_at_readiness(protection.name, clients).facts)}
