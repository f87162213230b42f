"""Which way a group is adopted follows from the topology and from the register."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kafka_dr.adoption.way import way_of
from kafka_dr.register import Phase
from support.fake_registers import FakeRegisters
from support.register_states import a_state


@pytest.mark.parametrize(
    ("phase", "way"),
    [(None, "take_over"), (Phase.RELEASED, "take_over"), (Phase.STABLE, "adopt"), (Phase.ADOPTING, "adopt")],
)
def test_existing_replication_is_taken_over_unless_the_group_is_adopted_or_held(phase: Phase | None, way: str) -> None:
    state = None if phase is None else a_state(phase=phase)
    registers = FakeRegisters(east=state, west=state)

    def group(existing: object) -> SimpleNamespace:
        declared = SimpleNamespace(
            name="orders", clusters=("east", "west"), existing_replication=existing, copies_named=""
        )
        return SimpleNamespace(group=lambda _: declared)

    assert way_of("orders", registers.clients(topology=group(object()))) == way
    assert way_of("orders", registers.clients(topology=group(None))) == "adopt"
