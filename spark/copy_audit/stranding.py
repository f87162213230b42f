"""Which records of the old cluster were never copied: both logs are aligned, and each unmatched record is judged.

Replication keeps the order, so what was copied is a beginning of what the old cluster holds, and every unmatched record
after the last match is stranded. An unmatched record before it is stranded as well, unless compaction removed its copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from copy_audit.fingerprints import Fingerprints, Longs
from copy_audit.matching import compare, latest_offsets


@dataclass(frozen=True, slots=True, eq=False)
class StrandingInput:
    """One partition of both clusters, from two offsets on that are known to correspond.

    :param old: committed records of the old cluster, to the end of its log
    :param new: those of the active cluster, to the offset after which nothing could be copied any more
    :param since: those that were written to the active cluster afterwards; used for compacted topics only
    :param begins: where comparing begins on the old cluster: next to read
    :param copied_until: what the flow itself said: next to be copied; 0 if it is not known
    :param expired: how many offsets right before ``begins`` the old cluster deleted although they had to be compared
    :param copies_expired: whether the active cluster deleted copies of records from ``begins`` on
    """

    partition: int
    old: Fingerprints
    new: Fingerprints
    since: Fingerprints
    begins: int
    copied_until: int = 0
    expired: int = 0
    copies_expired: bool = False


@dataclass(frozen=True, slots=True)
class Stranding:
    """What is stranded in one partition.

    :param copied_until: next to read on the old cluster after the last record that was copied
    :param ranges: the offsets of the stranded records: the first, and next after the last; every record in a range is
        stranded
    :param missing: records of the active cluster from before the failover that the old cluster no longer holds
    :param expired: deleted offsets of which nothing says that they were copied; zero if a later record was copied
    """

    copied_until: int
    records: int
    ranges: tuple[tuple[int, int], ...]
    missing: int
    expired: int = 0


def strand(given: StrandingInput, *, compacted: bool) -> Stranding:
    """Return what is stranded in a partition.

    :param compacted: whether either cluster compacts the topic
    """
    comparison = compare(given.partition, given.old, given.new)
    matched = comparison.matched_until
    copied_until = given.begins if matched is None else matched
    stranded, lacking = comparison.unmatched_source().indexes, comparison.unmatched_target().indexes
    if given.copies_expired and not compacted:
        # Records before the first remaining copy were copied before it. If no copy remains, only the flow knows.
        if matched is None:
            first = int(np.searchsorted(given.old.offsets, given.copied_until))
            copied_until = max(copied_until, given.copied_until)
        else:
            first = int(comparison.blocks[0, 0])
        stranded = stranded[stranded >= first]
    if compacted:
        copied_until = max(copied_until, given.copied_until)
        stranded = stranded[~_compacted_away(given, stranded, copied_until)]
        # The old cluster may have replaced its own records by newer ones.
        lacking = lacking[:0]
    elif given.expired:
        first = int(comparison.blocks[0, 1]) if len(comparison.blocks) else len(given.new)
        lacking = lacking[lacking >= first]
    known = given.copied_until if matched is None else given.begins
    expired = min(given.expired, max(0, given.begins - known))
    return Stranding(copied_until, len(stranded), _ranges(given.old, stranded), len(lacking), expired)


def without_held(found: Stranding, given: StrandingInput, *, compacted: bool) -> Stranding:
    """Return what is stranded although another standby holds it, too, without that.

    :param given: the same records of the old cluster, and as ``new`` what the other standby holds
    """
    lacking = strand(given, compacted=compacted).ranges
    left = np.flatnonzero(_within(given.old, found.ranges) & _within(given.old, lacking))
    return replace(found, records=len(left), ranges=_ranges(given.old, left))


def _within(log: Fingerprints, stretches: tuple[tuple[int, int], ...]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return of each record whether it is in one of these stretches: between a beginning and its end."""
    bounds = np.array([bound for stretch in stretches for bound in stretch], np.int64)
    inside: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.searchsorted(bounds, log.offsets, side="right") % 2 == 1
    return inside


def _compacted_away(
    given: StrandingInput, unmatched: Longs, copied_until: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return of each unmatched record whether it was copied, and a newer record of its key replaced the copy."""
    offsets = given.old.offsets[unmatched]
    if given.old.keys is None or not len(unmatched):
        return np.zeros(len(unmatched), np.bool_)
    keys = given.old.keys[unmatched]
    end = int(np.searchsorted(given.old.offsets, copied_until))
    newest_of_old = latest_offsets(given.old.at(np.arange(end)), keys)
    on_new = {**latest_offsets(given.new, keys), **latest_offsets(given.since, keys)}
    plain = (keys >> 1).tolist()
    replaced = [
        newest_of_old.get(key, -1) > offset or key in on_new for key, offset in zip(plain, offsets, strict=True)
    ]
    # A tombstone is removed after a while, and nothing shows that it was there.
    deletes = (keys & 1).astype(np.bool_)
    return (offsets < copied_until) & (np.array(replaced, np.bool_) | deletes)


def _ranges(log: Fingerprints, indexes: Longs) -> tuple[tuple[int, int], ...]:
    if not len(indexes):
        return ()
    breaks = np.flatnonzero(np.diff(indexes) != 1) + 1
    firsts = indexes[np.concatenate(([0], breaks))]
    lasts = indexes[np.concatenate((breaks - 1, [len(indexes) - 1]))]
    rows = zip(log.offsets[firsts].tolist(), log.offsets[lasts].tolist(), strict=True)
    return tuple((first, last + 1) for first, last in rows)
