"""Records of the register, as tests need them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.state import roles_in
from kafka_dr.register.transitions import claimed_unplanned

AT = datetime(2026, 3, 14, 15, 9, 26, 535897, tzinfo=UTC)
_PAIR = roles_in(Phase.STABLE, active="east", standby="west")
_STABLE = RegisterState("orders", 1, 0, Phase.STABLE, _PAIR, "adopt", "adoption", AT)


def a_state(*, active: str = "east", standby: str = "west", **changes: Any) -> RegisterState:
    """Return the record of an adopted group, with changes."""
    phase = changes.get("phase", Phase.STABLE)
    return replace(_STABLE, **{"roles": roles_in(phase, active=active, standby=standby), **changes})


def source_given_up(stable: RegisterState, run: str, at: datetime) -> RegisterState:
    """Return the record of an unplanned failover from east to west that alice approved, right after its claim."""
    return claimed_unplanned(
        stable,
        run=run,
        source="east",
        target="west",
        highest_epoch=stable.epoch,
        evidence_sha256="",
        approved_by="alice",
        at=at,
    )
