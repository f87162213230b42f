"""Records of the register, as tests need them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kafka_dr.register import Phase, RegisterState

AT = datetime(2026, 3, 14, 15, 9, 26, 535897, tzinfo=UTC)
_STABLE = RegisterState("orders", 1, 0, Phase.STABLE, "east", "west", "adopt", "adoption", AT)


def a_state(**changes: Any) -> RegisterState:
    """Return the record of an adopted group, with changes."""
    return replace(_STABLE, **changes)
