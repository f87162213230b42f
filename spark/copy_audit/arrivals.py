"""Records that earlier audits reported lost, and that have come since.

Such a record was not copied twice: nothing of it was there. It is *late*, and closes its finding. What else is wrong
with it is a finding of its own: it came after a newer record of its key, it is in another partition, or it differs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from copy_audit.fingerprints import Fingerprints, Longs
from copy_audit.unmatched import UnmatchedRecords, paired
from kafka_dr.audit.corruption import ChangedCopy, PayloadOf, changed_copies
from kafka_dr.audit.difference import Difference, Suspects, UnmatchedRecord, runs, step
from kafka_dr.audit.finding import FindingKind

#: Of more records that are missing, or strange, only the first are compared by their payloads.
MOST_COMPARED = 10_000
_LATE = "it was reported lost, and came later"
_OVERTAKEN = f"{_LATE}, after a newer record of its key"
_UNTOLD = f"{_LATE}; whether after a newer record of its key cannot be told any more"

#: Returns the keys of the source's records by offset: of a partition, from an offset on, to one next after the last.
#: ``None`` where they cannot be told.
Keys = Callable[[int, int, int], Mapping[int, bytes | None] | None]
#: Fetches what suspects consist of, and returns how to look at it, by side.
Payloads = Callable[[Sequence[Suspects]], tuple[PayloadOf, PayloadOf]]


def no_keys(_partition: int, _start: int, _end: int) -> None:
    """What to say where nobody can be asked."""


class Arrival(NamedTuple):
    """A record that was missing and has come.

    :param before: next after the last record of the source that was matched before it
    """

    source: UnmatchedRecord
    target: UnmatchedRecord
    before: int


@dataclass(slots=True)
class Arrivals:
    """What has come of what was missing in one partition of the source.

    :param missing: what has not come
    :param found: what has, as it was
    :param changed: what has, changed in one part
    """

    partition: int
    missing: Fingerprints
    found: list[Arrival] = field(default_factory=list)
    changed: list[ChangedCopy] = field(default_factory=list)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets of the source whose records have come."""
        come = [*(each.source for each in self.found), *(each.source for each in self.changed)]
        return tuple(sorted(record.offset for record in come))

    def take(self, strange: UnmatchedRecords, came_before: Callable[[Longs], Longs]) -> UnmatchedRecords:
        """Take what was missing from what was not matched on the target, and return the rest.

        :param came_before: returns, for indexes on the target, what was matched before: see :class:`Arrival`
        """
        if not len(self.missing) or not len(strange):
            return strange
        rows, others = paired(self.missing.hashes, strange.hashes)
        records = self._records(rows)
        befores = came_before(strange.indexes[others]).tolist()
        self.found += map(Arrival, records, (strange.record(row) for row in others.tolist()), befores)
        self._forget(record.offset for record in records)
        return strange.without(others)

    def take_changed(self, strange: Sequence[UnmatchedRecord], payloads: Payloads) -> list[UnmatchedRecord]:
        """Take what is a changed copy of what was missing from strange records, and return the rest."""
        if not len(self.missing) or not strange:
            return list(strange)
        missing = self._records(np.arange(min(len(self.missing), MOST_COMPARED)))
        suspects = Suspects(tuple(missing), tuple(strange[:MOST_COMPARED]))
        source, target = payloads([suspects])
        found = changed_copies(suspects, source=source, target=target)
        self.changed += found
        self._forget(each.source.offset for each in found)
        taken = {each.target for each in found}
        return [record for record in strange if record not in taken]

    def differences(self, keys: Keys) -> list[Difference]:
        """Say what each of them is."""
        said = self._overtaken(keys)
        steps = [
            step(*said.get(each.source.offset, (FindingKind.LATE, _LATE)), source=each.source, target=each.target)
            for each in self.found
            if each.target.partition == self.partition
        ]
        for each in self.found:
            if each.target.partition != self.partition:
                detail = f"on the target it is in partition {each.target.partition}; {_LATE}"
                steps.append(step(FindingKind.MOVED, detail, source=each.source, target=each.target))
        for one in self.changed:
            detail = f"{one.detail}; {_LATE}".removeprefix("; ")
            steps.append(step(one.kind, detail, source=one.source, target=one.target))
        return runs(steps)

    def _overtaken(self, keys: Keys) -> dict[int, tuple[FindingKind, str]]:
        """Return which of them came after a newer record of their key, or may have.

        Whoever reads the copy takes the older one for the newer: that is no closed matter.
        """
        own = [each for each in self.found if each.target.partition == self.partition]
        own.sort(key=lambda each: each.target.offset)
        start = min((each.source.offset for each in own), default=0)
        end = max((max(each.before, each.source.offset + 1) for each in own), default=0)
        followed = any(each.before > each.source.offset + 1 for each in own)
        if not followed and all(one.source.offset < other.source.offset for one, other in pairwise(own)):
            return {}
        known = keys(self.partition, start, end)
        if known is None:
            return {each.source.offset: (FindingKind.REORDERED, _UNTOLD) for each in own}
        absent = {*self.missing.offsets.tolist(), *self.offsets}
        order = _Order({offset: key for offset, key in known.items() if offset not in absent})
        found = {}
        for each in own:
            offset = each.source.offset
            if offset not in known:
                found[offset] = (FindingKind.REORDERED, _UNTOLD)
            elif order.overtakes(offset, known[offset], each.before):
                found[offset] = (FindingKind.REORDERED, _OVERTAKEN)
        return found

    def _records(self, rows: Longs) -> list[UnmatchedRecord]:
        log = self.missing.at(rows)
        columns = zip(log.offsets.tolist(), log.timestamps.tolist(), log.hashes.tolist(), strict=True)
        # Nobody knows their indexes any more; their offsets show as well which of them follow each other.
        return [UnmatchedRecord(self.partition, offset, 0, offset, *rest) for offset, *rest in columns]

    def _forget(self, offsets: Iterable[int]) -> None:
        come = np.array([*offsets], np.int64)
        self.missing = self.missing.at(np.flatnonzero(~np.isin(self.missing.offsets, come)))


class _Order:
    """Which records of each key have come, in the order in which the target got them.

    :param keys: of the source's records that were never missing, by offset
    """

    def __init__(self, keys: Mapping[int, bytes | None]) -> None:
        self._offsets: dict[bytes | None, list[int]] = {}
        for offset in sorted(keys):
            self._offsets.setdefault(keys[offset], []).append(offset)
        self._newest: dict[bytes | None, int] = {}

    def overtakes(self, offset: int, key: bytes | None, before: int) -> bool:
        """Whether a record that comes next is older than one of its key that came before.

        :param before: next after the last record that came before and was never missing
        """
        if key is None:
            return False
        offsets = self._offsets.get(key, [])
        at = bisect_left(offsets, before)
        newest = max(self._newest.get(key, -1), offsets[at - 1] if at else -1)
        self._newest[key] = max(newest, offset)
        return newest > offset
