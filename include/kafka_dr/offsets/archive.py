"""What the archive of offset syncs says about one partition. Pure: syncs in the order in which they were written.

A sync is one record, copied: everything before it on the source was copied before it, in order. So a group that stands
behind it may go on behind its copy, and skips nothing. That holds for one life of both logs. Where a sync goes
backwards on either side, a flow was set back or a topic made again, and what was written before says nothing certain
about what lies there now: only the syncs since then are relied on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Pair(NamedTuple):
    """One record, on both sides. These are offsets *of* it."""

    source: int
    target: int


class ArchivedSync(NamedTuple):
    """One offset sync, as it lies in the archive.

    :param at: its own offset in the topic of syncs
    :param synced_ms: when it was written, milliseconds since the epoch
    """

    at: int
    source: int
    target: int
    synced_ms: int


@dataclass(frozen=True, slots=True)
class History:
    """The pairs of one partition that can be relied on, rising on both sides.

    :param left_out: how many others the archive holds
    :param reason: why those are not relied on; empty where there are none
    """

    pairs: tuple[Pair, ...] = ()
    left_out: int = 0
    reason: str = ""

    def below(self, position: int) -> Pair | None:
        """Return the last pair at or below a position, which is next to read on the source."""
        number = bisect_right(self.pairs, position, key=lambda pair: pair.source)
        return self.pairs[number - 1] if number else None


NOTHING = History()


def history(syncs: Sequence[ArchivedSync]) -> History:
    """Return what one partition's syncs say, in the order in which they were written."""
    first, why = 0, ""
    for number in range(1, len(syncs)):
        before, now = syncs[number - 1], syncs[number]
        if (now.source, now.target) != (before.source, before.target) and not _rises(before, now):
            first = number
            why = f"a sync goes back from {before.source}→{before.target} to {now.source}→{now.target}"
    pairs = tuple(dict.fromkeys(Pair(sync.source, sync.target) for sync in syncs[first:]))
    return History(pairs, first, f"{why}: the {first} before it are not relied on" if first else "")


def composed(forth: History, back: History) -> History:
    """Join what the flow of a direction wrote with what the flow of the other one wrote, over any number of switches.

    Whatever direction wrote a sync, it is a pair of offsets of one record. Where pairs cross, those that point further
    ahead on the target are left out, so that an ambiguity makes no group skip anything.

    :param forth: of the flow from source to target
    :param back: of the flow from target to source, so its own source is this one's target
    """
    found = sorted({*forth.pairs, *(Pair(pair.target, pair.source) for pair in back.pairs)}, reverse=True)
    kept: list[Pair] = []
    for pair in found:
        while kept and pair.source == kept[-1].source and pair.target < kept[-1].target:
            kept.pop()
        if not kept or (pair.source < kept[-1].source and pair.target < kept[-1].target):
            kept.append(pair)
    crossing = len(found) - len(kept)
    reasons = [forth.reason, back.reason, f"{crossing} syncs contradict later ones" if crossing else ""]
    return History(
        tuple(reversed(kept)), forth.left_out + back.left_out + crossing, "; ".join(each for each in reasons if each)
    )


def since(syncs: Sequence[ArchivedSync], at: int) -> History:
    """Return what is left where the archive has a hole: nothing that was written before it is relied on.

    :param at: the first offset of the topic of syncs behind the hole
    """
    left = [sync for sync in syncs if sync.at >= at]
    found, lost = history(left), len(syncs) - len(left)
    if not lost:
        return found
    why = f"the archive has a hole before {at}: the {lost} syncs before it are not relied on"
    return History(found.pairs, found.left_out + lost, "; ".join(filter(None, (why, found.reason))))


def _rises(before: ArchivedSync, now: ArchivedSync) -> bool:
    return now.source > before.source and now.target > before.target


def coarseness(pairs: Iterable[Pair]) -> int:
    """Return the most source offsets between two neighbouring pairs: what a position between them may cost."""
    most, last = 0, None
    for pair in pairs:
        most = max(most, pair.source - last) if last is not None else most
        last = pair.source
    return most
