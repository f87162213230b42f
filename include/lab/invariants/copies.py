"""Whether each copy holds the same records as its original, in the same order, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import product

from lab.invariants.model import InvariantResult, Logs, RecordId


def differing(
    logs: Mapping[str, Logs], active: str | None = None, *, holding: Collection[str] | None = None
) -> list[str]:
    """Return a sentence for each partition of which a cluster does not hold what its original holds.

    :param logs: what each cluster holds, by its name
    :param active: where the originals are; if left out, on the origin of each partition
    :param holding: the clusters that hold copies; if left out, all
    """
    found = []
    every = sorted({partition for held in logs.values() for partition in held})
    for cluster, partition in product(sorted(logs if holding is None else holding), every):
        at, held = active or partition.origin, logs[cluster].get(partition, ())
        theirs, ours = ([each.record for each in log] for log in (held, logs[at].get(partition, ())))
        if theirs != ours or not all(each.intact for each in held):
            found.append(f"{cluster} holds {len(theirs)} records of {partition}, and {at} {len(ours)}")
    return found


def first_hand(logs: Logs) -> Counter[RecordId]:
    """Count the records that a cluster holds, without those that were published again from a list."""
    return Counter(each.record for log in logs.values() for each in log if each.record is not None and not each.rescued)


def check_survivor(survivor: Logs, active: Logs) -> InvariantResult:
    """I2 of a disaster with several standbys: what any of them held is on the active cluster, and was never in a list.

    :param survivor: what a standby held when the active cluster was lost
    :param active: what the active cluster holds at the end
    """
    held = first_hand(survivor).keys()
    if lost := sorted(held - first_hand(active).keys()):
        said = f"{len(lost)} of {len(held)} records that a standby held are not on the active cluster by replication"
        return InvariantResult("I2", "violated", said, tuple(map(str, lost[:3])))
    return InvariantResult("I2", "held", f"nothing is lost that a standby held: {len(held)} records")
