"""What the demo can be asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from lab.traffic.rates import Rates


class Sabotage(StrEnum):
    """What is broken."""

    NO_FENCE = "no_fence"
    LATE_COMMIT = "late_commit"
    NO_DRAIN = "no_drain"
    OFFSET_PLUS_ONE = "offset_plus_one"
    DROP_RECORD = "drop_record"
    FENCE_LEFT_OPEN = "fence_left_open"
    FLOW_LEFT_RUNNING = "flow_left_running"
    OFFSET_ONE_TOO_FAR = "offset_one_too_far"
    STRANDED_DROPPED = "stranded_dropped"

    @property
    def is_about_a_disaster(self) -> bool:
        """Whether there has to be one for it."""
        return self in _ABOUT_DISASTERS

    @property
    def is_about_stranded(self) -> bool:
        """Whether the lost cluster has to hold records that no other holds."""
        return self in {Sabotage.FLOW_LEFT_RUNNING, Sabotage.STRANDED_DROPPED}


_ABOUT_DISASTERS = frozenset(
    {Sabotage.FENCE_LEFT_OPEN, Sabotage.FLOW_LEFT_RUNNING, Sabotage.OFFSET_ONE_TOO_FAR, Sabotage.STRANDED_DROPPED}
)


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the demo is asked for.

    :param yes: answer the approval without asking
    :param switches: how often to fail over, there and back again
    :param sabotage: what to break in the last failover
    :param unplanned: the active cluster is lost: fail over without it, fail back, and move the group back to it
    :param hang: it is lost because it hangs; else it is killed
    :param keep: leave the lab running
    :param warm_up_seconds: how long applications work before the first failover, and between two
    :param settle_seconds: how long they continue after each
    """

    yes: bool = False
    switches: int = 1
    sabotage: Sabotage | None = None
    keep: bool = False
    unplanned: bool = False
    hang: bool = False
    warm_up_seconds: float = 8.0
    settle_seconds: float = 3.0
    rates: Rates = field(default_factory=Rates)
