"""Records of the register, as tests need them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.transitions import claimed_unplanned

AT = datetime(2026, 3, 14, 15, 9, 26, 535897, tzinfo=UTC)
_STABLE = RegisterState("orders", 1, 0, Phase.STABLE, "east", "west", "adopt", "adoption", AT)


def a_state(**changes: Any) -> RegisterState:
    """Return the record of an adopted group, with changes."""
    return replace(_STABLE, **changes)


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
