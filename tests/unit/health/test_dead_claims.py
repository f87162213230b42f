"""A claim that has lost, and that its run left in one register, is replaced by what the registers say."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.health.registers import RegisterAnswers
from kafka_dr.health.stale_registers import update_stale_registers
from kafka_dr.register import RegisterState, transitions
from support.manual_clock import ManualClock
from support.memory_register import MemoryRegister
from support.register_states import AT

STABLE = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)


def claim_at(seconds_ago: float, clock: ManualClock) -> RegisterState:
    at = clock.now() - timedelta(seconds=seconds_ago)
    signed: dict[str, Any] = {"evidence_sha256": "", "approved_by": "alice", "at": at}
    return transitions.claimed_unplanned(STABLE, run="a", source="east", target="west", highest_epoch=1, **signed)


@pytest.mark.parametrize(("seconds_ago", "replaced"), [(30.0, False), (3600.0, True)])
def test_only_a_claim_whose_run_had_time_to_take_it_back_is_replaced(seconds_ago: float, replaced: bool) -> None:
    clock = ManualClock()
    claim = claim_at(seconds_ago, clock)
    registers = {name: MemoryRegister() for name in ("east", "north", "west")}
    for register in registers.values():
        register.copy(STABLE)
    registers["east"].compare_and_set(STABLE, claim)
    context = SimpleNamespace(
        clock=clock,
        group=SimpleNamespace(name="orders"),
        clients=SimpleNamespace(register=registers.__getitem__, executor=SimpleNamespace(require_staying=lambda: None)),
    )
    answers = RegisterAnswers({name: register.read("orders") for name, register in registers.items()}, {}, {})
    assert answers.newest == STABLE
    found = update_stale_registers(cast("Any", context), STABLE, answers, refusing={}, seconds=5.0)
    assert [check.outcome for check in found] == (["failed"] if replaced else [])
    assert registers["east"].read("orders") == (STABLE if replaced else claim)
