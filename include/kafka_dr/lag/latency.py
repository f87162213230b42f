"""How long records took from the source to the target: percentiles that were measured, never interpolated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles, in seconds.

    :param samples: how many records were measured
    """

    samples: int
    p50: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Latency | None:
        """Return the percentiles of measurements (each is one of them, by nearest rank); ``None`` if there are none.

        A record that seems to arrive before it was written says that two clocks differ; it took no time, at least.
        """
        ordered = sorted(max(each, 0.0) for each in seconds)
        if not ordered:
            return None
        p50, p95, p99 = (ordered[ceil(share * len(ordered)) - 1] for share in (0.50, 0.95, 0.99))
        return cls(len(ordered), *(round(each, 3) for each in (p50, p95, p99, ordered[-1])))
