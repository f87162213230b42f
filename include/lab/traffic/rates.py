"""How much the applications do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rates:
    """How much goes on.

    :param payments_per_second: records that the payments application writes; billing writes one more for each
    :param slow_per_second: records that the group far behind processes
    """

    payments_per_second: float = 100.0
    slow_per_second: float = 20.0
