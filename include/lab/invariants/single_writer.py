"""I1, and how long a switch was felt: which cluster took writes when, by the acknowledgements alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lab.invariants.model import (
    STATEMENTS,
    ActivePeriod,
    Commit,
    Delivery,
    InvariantResult,
    LostCluster,
    Observation,
    Partition,
    Switch,
    Write,
)


@dataclass(frozen=True, slots=True)
class Ownership:
    """When each cluster took over, by its first write that was acknowledged after it was meant to.

    :param openings: one for each period; ``None`` where no write was acknowledged there
    """

    periods: tuple[ActivePeriod, ...]
    openings: tuple[float | None, ...]

    def owner(self, at: float) -> str:
        """The only cluster that may acknowledge a write at this moment."""
        known = [
            (opening, period.cluster)
            for period, opening in zip(self.periods, self.openings, strict=True)
            if opening is not None
        ]
        index = bisect_right([opening for opening, _ in known], at)
        return known[index - 1][1] if index else self.periods[0].cluster


def ownership(writes: Iterable[Write | Commit], periods: Sequence[ActivePeriod]) -> Ownership:
    """Find the first write of each period.

    :param periods: the clusters in the order in which they were meant to be active
    :raises ValueError: no period, or they are not in order
    """
    if not periods or list(periods) != sorted(periods, key=lambda period: period.since):
        raise ValueError("the check needs the active clusters in the order of time, at least one")
    openings: list[float | None] = []
    ordered = sorted(writes, key=lambda write: write.at)
    for period in periods:
        first = (write.at for write in ordered if write.cluster == period.cluster and write.at >= period.since)
        openings.append(next(first, None))
    return Ownership(tuple(periods), tuple(openings))


def check_single_writer(
    observation: Observation, periods: Sequence[ActivePeriod], *, left: LostCluster | None = None
) -> tuple[InvariantResult, int]:
    """I1: after the first write on the new cluster none is acknowledged by the old one, and none too early by the new.

    :param left: the cluster that a disaster left behind: until its fence is proven it may take writes, every one of
        which has to be in the list of stranded records
    :returns: the finding, and how many writes were taken by a cluster that was not the active one, nor was left
    """
    owned = ownership(observation.writes, periods)
    since = periods[0].since
    wrong = [write for write in observation.writes if write.at >= since and write.cluster != owned.owner(write.at)]
    excused = window(observation, left)
    wrong = [write for write in wrong if write not in excused]
    silent = [period.cluster for period, opening in zip(periods, owned.openings, strict=True) if opening is None]
    if wrong:
        clusters = " and ".join(sorted({write.cluster for write in wrong}))
        sentence = f"{len(wrong)} writes were acknowledged by {clusters} while another cluster was the active one"
        examples = tuple(
            f"{write.record} on {write.cluster} {write.partition} offset {write.offset}, "
            f"when {owned.owner(write.at)} was active"
            for write in sorted(wrong, key=lambda write: write.at)[:3]
        )
        return InvariantResult("I1", "violated", sentence, examples), len(wrong)
    if silent:
        return InvariantResult("I1", "unknown", f"no write was acknowledged on {silent[0]}: nothing to compare"), 0
    return _with_window(left, len(excused)), 0


def window(observation: Observation, left: LostCluster | None) -> frozenset[Write]:
    """Return the writes that the cluster that was left took while nothing could keep it from taking them."""
    if left is None:
        return frozenset()
    listed = {(each.partition, each.record) for each in observation.stranded}
    return frozenset(
        write
        for write in observation.writes
        if write.cluster == left.cluster
        and left.since <= write.at <= left.fenced
        and (write.partition, write.record) in listed
    )


def _with_window(left: LostCluster | None, taken: int) -> InvariantResult:
    if left is None:
        return InvariantResult("I1", "held", STATEMENTS["I1"])
    seconds = left.fenced - left.reachable
    if seconds > left.within:
        said = f"{left.cluster} could be reached for {seconds:.1f} s before it was fenced, {left.within:g} are allowed"
        return InvariantResult("I1", "violated", said)
    said = (
        f"{left.cluster}, left unfenced, was fenced {seconds:.1f} s after it could be reached; it took {taken} writes"
    )
    return InvariantResult("I1", "held", f"{said}, all of them in the list of stranded records")


def switches(observation: Observation, periods: Sequence[ActivePeriod]) -> tuple[Switch, ...]:
    """Measure each change of the active cluster."""
    ends = [period.since for period in periods[2:]] + [float("inf")]
    return tuple(
        _switch(observation, old, new, until=until) for old, new, until in zip(periods, periods[1:], ends, strict=False)
    )


def _switch(observation: Observation, old: ActivePeriod, new: ActivePeriod, *, until: float) -> Switch:
    """One change: the writes of the old period up to its end, and what came first on the new cluster."""
    first = _first_by_partition(observation.writes, new, until=until)
    last: dict[Partition, float] = {}
    for write in observation.writes:
        place = write.partition.of_any
        before = write.at <= first.get(place, until)
        if write.cluster == old.cluster and old.since <= write.at and before:
            last[place] = max(write.at, last.get(place, write.at))
    silent = [f"no write of {each} was acknowledged on {new.cluster}" for each in sorted(last) if each not in first]
    gaps = {each: first[each] - last[each] for each in last if each in first}
    longest = max(gaps, key=lambda each: gaps[each], default=None)
    working = _first_by_group(observation.deliveries, new, until=until)
    idle = [f"group {group} processed nothing on {new.cluster}" for group in observation.groups if group not in working]
    restored = max([*first.values(), *working.values()], default=new.since) - new.since
    return Switch(
        source=old.cluster,
        target=new.cluster,
        since=new.since,
        write_outage_seconds=None if silent or longest is None else gaps[longest],
        longest_at=longest,
        restored_seconds=None if silent or idle else restored,
        unknown=(*silent, *idle),
    )


def _first_by_partition(writes: Iterable[Write], period: ActivePeriod, *, until: float) -> dict[Partition, float]:
    first: dict[Partition, float] = {}
    for write in writes:
        if write.cluster == period.cluster and period.since <= write.at < until:
            place = write.partition.of_any
            first[place] = min(write.at, first.get(place, write.at))
    return first


def _first_by_group(deliveries: Iterable[Delivery], period: ActivePeriod, *, until: float) -> dict[str, float]:
    first: dict[str, float] = {}
    for delivery in deliveries:
        if delivery.cluster == period.cluster and period.since <= delivery.at < until:
            first[delivery.group] = min(delivery.at, first.get(delivery.group, delivery.at))
    return first
