"""What a run saw when it checked whether a cluster is down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

ProbeOutcome = Literal["ok", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One question about a cluster that may be down.

    :param name: ``metadata``, ``brokers`` …; ``vantage NAME`` for what somebody elsewhere says
    :param outcome: ``failed`` only where it was seen that something is wrong
    :param seconds: how long it took
    """

    name: str
    outcome: ProbeOutcome
    detail: str
    seconds: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)
