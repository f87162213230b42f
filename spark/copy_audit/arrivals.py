"""Records that earlier audits reported lost, and that have come since.

The target had no copy of such a record, so its copy now is not a duplicate. The record is *late*, which closes the
finding. If its copy came after a newer record of its key, is in another partition, or differs, that is a new finding.
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

#: If more records are missing, or foreign, only the first ones are compared by their payloads.
MOST_COMPARED = 10_000
_LATE = "it was reported lost, and came later"
_OVERTAKEN = f"{_LATE}, after a newer record of its key"
_UNTOLD = f"{_LATE}; whether after a newer record of its key is not known"

#: Returns the keys of the source's records by offset: of a partition, from an offset on, to one next after the last.
#: ``None`` if they are not known.
Keys = Callable[[int, int, int], Mapping[int, bytes | None] | None]
#: Reads the payloads of suspects, and returns how to look them up on the source and on the target.
Payloads = Callable[[Sequence[Suspects]], tuple[PayloadOf, PayloadOf]]


def no_keys(_partition: int, _start: int, _end: int) -> None:
    """What to use if nothing can be asked."""


class Arrival(NamedTuple):
    """A record that was missing and has come.

    :param before: next after the last record of the source that was matched before it
    """

    source: UnmatchedRecord
    target: UnmatchedRecord
    before: int


@dataclass(slots=True)
class Arrivals:
    """What has come of the missing records of one partition of the source.

    :param missing: the records that have not come
    :param found: those that have come, unchanged
    :param changed: those that have come with one part changed
    """

    partition: int
    missing: Fingerprints
    found: list[Arrival] = field(default_factory=list)
    changed: list[ChangedCopy] = field(default_factory=list)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets on the source of the records that have come."""
        come = [*(each.source for each in self.found), *(each.source for each in self.changed)]
        return tuple(sorted(record.offset for record in come))

    def take(self, foreign: UnmatchedRecords, came_before: Callable[[Longs], Longs]) -> UnmatchedRecords:
        """Take the missing records from the unmatched records of the target, and return the other ones.

        :param came_before: returns, for indexes of the target, what was matched before: see :class:`Arrival`
        """
        if not len(self.missing) or not len(foreign):
            return foreign
        rows, others = paired(self.missing.hashes, foreign.hashes)
        records = self._records(rows)
        befores = came_before(foreign.indexes[others]).tolist()
        self.found += map(Arrival, records, (foreign.record(row) for row in others.tolist()), befores)
        self._forget(record.offset for record in records)
        return foreign.without(others)

    def take_changed(self, foreign: Sequence[UnmatchedRecord], payloads: Payloads) -> list[UnmatchedRecord]:
        """Take changed copies of missing records from foreign records, and return the other ones."""
        if not len(self.missing) or not foreign:
            return list(foreign)
        missing = self._records(np.arange(min(len(self.missing), MOST_COMPARED)))
        suspects = Suspects(tuple(missing), tuple(foreign[:MOST_COMPARED]))
        source, target = payloads([suspects])
        found = changed_copies(suspects, source=source, target=target)
        self.changed += found
        self._forget(each.source.offset for each in found)
        taken = {each.target for each in found}
        return [record for record in foreign if record not in taken]

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

        A consumer of the copy takes the older record for the newer one, so this finding is not closed.
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
    """Which records of each key have come, in the order in which the target received them.

    :param keys: of the source's records that were never missing, by offset
    """

    def __init__(self, keys: Mapping[int, bytes | None]) -> None:
        self._offsets: dict[bytes | None, list[int]] = {}
        for offset in sorted(keys):
            self._offsets.setdefault(keys[offset], []).append(offset)
        self._newest: dict[bytes | None, int] = {}

    def overtakes(self, offset: int, key: bytes | None, before: int) -> bool:
        """Return whether the next record is older than one of its key that came before.

        :param before: next after the last record that came before and was never missing
        """
        if key is None:
            return False
        offsets = self._offsets.get(key, [])
        at = bisect_left(offsets, before)
        newest = max(self._newest.get(key, -1), offsets[at - 1] if at else -1)
        self._newest[key] = max(newest, offset)
        return newest > offset
