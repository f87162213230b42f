"""Records that may still come: some are in flight, and some should have come by now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copy_audit.fingerprints import Longs, RecordLog, runs
from kafka_dr.audit.circumstances import NOT_COPIED_YET
from kafka_dr.audit.difference import Difference
from kafka_dr.audit.finding import FindingKind

#: No record is older than this.
NEVER_LATE = -(2**62)


@dataclass(frozen=True, slots=True, eq=False)
class InFlightRecords:
    """The records of a partition of the source that may still come.

    A flow reads in order: a record before one that waits too long waits even longer, whatever its timestamp.

    :param indexes: of these records, rising
    :param position: next to be read by the flow; ``None`` if it is not known
    :param seen_below: records below were on the source longer ago than a record may wait
    :param late_before: milliseconds since the epoch; an older record waits too long
    :param observed: whether the position is never known; otherwise nothing is late where it is not
    """

    log: RecordLog
    indexes: Longs
    position: int | None
    seen_below: int
    late_before: int
    observed: bool = False

    @property
    def late(self) -> tuple[int, int] | None:
        """The offset of the first late record, and next after that of the last one; ``None`` if none is late."""
        first, after = self._late_indexes()
        offsets = self.log.offsets[self.indexes]
        return (int(offsets[first]), int(offsets[after - 1]) + 1) if first < after else None

    def differences(self, partition: int) -> list[Difference]:
        """Return all of them, in runs."""
        first, after = self._late_indexes()
        return [
            *self._runs(partition, FindingKind.IN_FLIGHT, self.indexes[:first]),
            *self._runs(partition, FindingKind.LATE, self.indexes[first:after]),
            *self._runs(partition, FindingKind.IN_FLIGHT, self.indexes[after:]),
        ]

    def _late_indexes(self) -> tuple[int, int]:
        offsets, times = self.log.offsets[self.indexes], self.log.timestamps[self.indexes]
        first = self._first_unread(offsets)
        old = np.flatnonzero((times[first:] < self.late_before) | (offsets[first:] < self.seen_below))
        return first, first + int(old[-1]) + 1 if len(old) else first

    def _first_unread(self, offsets: Longs) -> int:
        """Return from which of them on the flow has not read them."""
        if self.position is None:
            return 0 if self.observed else len(offsets)
        return int(np.searchsorted(offsets, self.position))

    def _runs(self, partition: int, kind: FindingKind, indexes: Longs) -> list[Difference]:
        if not len(indexes):
            return []
        detail = NOT_COPIED_YET if kind is FindingKind.LATE else ""
        offsets, times = self.log.offsets[indexes], self.log.timestamps[indexes]
        return [
            Difference(kind, partition, int(offsets[row]), None, count, int(times[row]), detail)
            for row, count in runs(np.diff(indexes) == 1)
        ]
