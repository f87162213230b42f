"""Which records of the side that was left never crossed: both sides aligned, and what is loose on the old one judged.

Replication keeps the order, so what crossed is a beginning of what the old side holds, and what is loose behind the
last match is stranded. A loose record before it is stranded as well, unless compaction explains that its copy is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copy_audit.logs import Log, Longs
from copy_audit.matching import compare, latest_offsets


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Both sides of one partition, from a place on that is known on both.

    :param old: committed records of the side that was left, to its end
    :param new: those of the side that is active since, to where nothing could be copied any more
    :param since: those that were written to the new side afterwards; looked at on compacted topics only
    :param begins: where comparing begins on the old side: next to read
    :param crossed: what the flow itself said: next to be copied; 0 where nobody could tell
    :param expired: whether the old side deleted records behind the place where comparing begins
    :param copies_expired: whether the new side deleted copies behind that place
    """

    partition: int
    old: Log
    new: Log
    since: Log
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


def strand(sides: Sides, *, compacted: bool) -> Stranding:
    """Return what is stranded in a partition."""
    comparison = compare(sides.partition, sides.old, sides.new)
    matched = comparison.matched_until
    crossed = sides.begins if matched is None else matched
    loose, lacking = comparison.source_loose().places, comparison.target_loose().places
    if sides.copies_expired and not compacted:
        # What lies before the first copy that is left crossed before it did; without any, only the flow can tell.
        if matched is None:
            behind, crossed = int(np.searchsorted(sides.old.offsets, sides.crossed)), max(crossed, sides.crossed)
        else:
            behind = int(comparison.blocks[0, 0])
        loose = loose[loose >= behind]
    if compacted:
        crossed = max(crossed, sides.crossed)
        loose = loose[~_compacted_away(sides, loose, crossed)]
        # What newer records replaced on the old side is gone there by right.
        lacking = lacking[:0]
    elif sides.expired:
        first = int(comparison.blocks[0, 1]) if len(comparison.blocks) else len(sides.new)
        lacking = lacking[lacking >= first]
    return Stranding(crossed, len(loose), _stretches(sides.old, loose), len(lacking))


def _compacted_away(sides: Sides, loose: Longs, crossed: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say of each loose record whether it crossed, and a newer one of its key took its copy's place."""
    offsets = sides.old.offsets[loose]
    if sides.old.keys is None or not len(loose):
        return np.zeros(len(loose), np.bool_)
    keys = sides.old.keys[loose]
    reached = int(np.searchsorted(sides.old.offsets, crossed))
    crossing = sides.old.at(np.arange(reached))
    newest_here = latest_offsets(crossing, keys)
    there = {**latest_offsets(sides.new, keys), **latest_offsets(sides.since, keys)}
    plain = (keys >> 1).tolist()
    replaced = [newest_here.get(key, -1) > offset or key in there for key, offset in zip(plain, offsets, strict=True)]
    # A tombstone goes by itself after a while, and leaves nothing that would show it.
    deletes = (keys & 1).astype(np.bool_)
    return (offsets < crossed) & (np.array(replaced, np.bool_) | deletes)


def _stretches(log: Log, places: Longs) -> tuple[tuple[int, int], ...]:
    if not len(places):
        return ()
    breaks = np.flatnonzero(np.diff(places) != 1) + 1
    firsts = places[np.concatenate(([0], breaks))]
    lasts = places[np.concatenate((breaks - 1, [len(places) - 1]))]
    rows = zip(log.offsets[firsts].tolist(), log.offsets[lasts].tolist(), strict=True)
    return tuple((first, last + 1) for first, last in rows)
