"""Translate an offset among records that were fetched from another standby: origin → donor → target. Pure.

The donor was copied from the origin, and the target from the donor. Neither translation is late: each answer has every
unread record after it. So is the two of them one after the other. The fetch itself has seen where both logs correspond
at the ends of its batches, so little has to be counted, however many records were fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.without_source import KnownPoints, translate_by_known_points
from kafka_dr.positions import OffsetRange, SeedPoint

#: Reads the offsets of the target's records in a range.
ReadRecords = Callable[[OffsetRange], Sequence[int]]


@dataclass(frozen=True, slots=True)
class FetchedRange:
    """What is known of one partition of which records were fetched.

    :param donor: the standby that they were fetched from
    :param begins: on the origin: the target's own copy ends there, and what was fetched begins
    :param to_donor: where the logs of origin and donor correspond
    :param to_target: where the logs of donor and target correspond
    """

    donor: str
    begins: int
    to_donor: KnownPoints
    to_target: KnownPoints

    @classmethod
    def of(
        cls, donor: str, begins: int, pairs: Iterable[SeedPoint], steps: Iterable[SeedPoint], held: OffsetRange
    ) -> FetchedRange:
        """Put together what is known.

        :param pairs: where the logs of origin and donor correspond
        :param steps: where those of donor and target do
        :param held: what the target's log holds
        """
        steps = list(steps)
        on_donor = OffsetRange(0, max((step.source for step in steps), default=0))
        return cls(donor, begins, KnownPoints.of(pairs, on_donor), KnownPoints.of(steps, held))

    def better(self, direct: Translation, read: ReadRecords) -> Translation:
        """Return the answer by way of the donor, if fewer records are read again by that.

        :param direct: the answer from what is known of origin and target
        """
        position, known = direct.source_offset, direct.target_offset
        if position <= self.begins or direct.kind == "exact":
            return direct
        first = translate_by_known_points(position, self.to_donor, None)
        if first.target_offset is None or self.to_target.around(first.target_offset)[0] is None:
            return direct
        stretch = self.to_target.to_count(first.target_offset)
        second = translate_by_known_points(first.target_offset, self.to_target, read(stretch) if stretch else None)
        if second.target_offset is None or (known is not None and second.target_offset <= known):
            return direct
        again = (first.redelivered_at_most or 0) + (second.redelivered_at_most or 0)
        reason = f"among what was fetched from {self.donor}: {first.reason}; there {second.reason}"
        return Translation(position, second.target_offset, "bounded" if again else "exact", again, reason)
