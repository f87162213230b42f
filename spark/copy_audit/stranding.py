"""Which records of the old cluster were never copied: both logs are aligned, and each unmatched record is judged.

Replication keeps the order, so what was copied is a beginning of what the old cluster holds, and every unmatched record
after the last match is stranded. An unmatched record before it is stranded as well, unless compaction removed its copy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copy_audit.fingerprints import Fingerprints, Longs
from copy_audit.matching import compare, latest_offsets


@dataclass(frozen=True, slots=True, eq=False)
class StrandingInput:
    """Both sides of one partition, from a index on that is known on both.

    :param old: committed records of the side that was left, to its end
    :param new: those of the side that is active since, to where nothing could be copied any more
    :param since: those that were written to the new side afterwards; looked at on compacted topics only
    :param begins: where comparing begins on the old side: next to read
    :param crossed: what the flow itself said: next to be copied; 0 where nobody could tell
    :param expired: whether the old side deleted records behind the index where comparing begins
    :param copies_expired: whether the new side deleted copies behind that index
    """

    partition: int
    old: Fingerprints
    new: Fingerprints
    since: Fingerprints
    begins: int
    crossed: int = 0
    expired: bool = False
    copies_expired: bool = False


@dataclass(frozen=True, slots=True)
class Stranding:
    """What became of a partition.

    :param crossed: next to read on the old side behind the last record that crossed
    :param ranges: the offsets of the stranded records: first, and next after the last; between them lies no other
    :param missing: records of the new side from before the switch that the old side no longer holds
    """

    crossed: int
    records: int
    ranges: tuple[tuple[int, int], ...]
    missing: int


def strand(sides: StrandingInput, *, compacted: bool) -> Stranding:
    """Return what is stranded in a partition."""
    comparison = compare(sides.partition, sides.old, sides.new)
    matched = comparison.matched_until
    crossed = sides.begins if matched is None else matched
    unmatched, lacking = comparison.unmatched_source().indexes, comparison.unmatched_target().indexes
    if sides.copies_expired and not compacted:
        # What lies before the first copy that is left crossed before it did; without any, only the flow can tell.
        if matched is None:
            behind, crossed = int(np.searchsorted(sides.old.offsets, sides.crossed)), max(crossed, sides.crossed)
        else:
            behind = int(comparison.blocks[0, 0])
        unmatched = unmatched[unmatched >= behind]
    if compacted:
        crossed = max(crossed, sides.crossed)
        unmatched = unmatched[~_compacted_away(sides, unmatched, crossed)]
        # What newer records replaced on the old side is gone there by right.
        lacking = lacking[:0]
    elif sides.expired:
        first = int(comparison.blocks[0, 1]) if len(comparison.blocks) else len(sides.new)
        lacking = lacking[lacking >= first]
    return Stranding(crossed, len(unmatched), _stretches(sides.old, unmatched), len(lacking))


def _compacted_away(
    sides: StrandingInput, unmatched: Longs, crossed: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say of each unmatched record whether it crossed, and a newer one of its key took its copy's index."""
    offsets = sides.old.offsets[unmatched]
    if sides.old.keys is None or not len(unmatched):
        return np.zeros(len(unmatched), np.bool_)
    keys = sides.old.keys[unmatched]
    reached = int(np.searchsorted(sides.old.offsets, crossed))
    crossing = sides.old.at(np.arange(reached))
    newest_here = latest_offsets(crossing, keys)
    there = {**latest_offsets(sides.new, keys), **latest_offsets(sides.since, keys)}
    plain = (keys >> 1).tolist()
    replaced = [newest_here.get(key, -1) > offset or key in there for key, offset in zip(plain, offsets, strict=True)]
    # A tombstone goes by itself after a while, and leaves nothing that would show it.
    deletes = (keys & 1).astype(np.bool_)
    return (offsets < crossed) & (np.array(replaced, np.bool_) | deletes)


def _stretches(log: Fingerprints, indexes: Longs) -> tuple[tuple[int, int], ...]:
    if not len(indexes):
        return ()
    breaks = np.flatnonzero(np.diff(indexes) != 1) + 1
    firsts = indexes[np.concatenate(([0], breaks))]
    lasts = indexes[np.concatenate((breaks - 1, [len(indexes) - 1]))]
    rows = zip(log.offsets[firsts].tolist(), log.offsets[lasts].tolist(), strict=True)
    return tuple((first, last + 1) for first, last in rows)
