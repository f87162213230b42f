"""How much the applications do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rates:
    """How much traffic there is.

    :param payments_per_second: records that the payments application writes; billing writes one more for each
    :param slow_per_second: records that the group far behind processes
    :param again_per_second: records that the group processes that reads everything again when it starts
    """

    payments_per_second: float = 100.0
    slow_per_second: float = 20.0
    again_per_second: float = 1000.0
