"""Whether each standby holds the same records as the active cluster, in the same order, each once."""

from __future__ import annotations

from collections.abc import Mapping

from lab.invariants.model import Logs


def differing(logs: Mapping[str, Logs], active: str) -> list[str]:
    """Return a sentence for each partition in which a cluster does not hold what the active one holds.

    :param logs: what each cluster holds, by its name
    """
    found = []
    for cluster, held in sorted(logs.items()):
        for partition in sorted({*held, *logs[active]}):
            theirs, ours = ([each.record for each in log.get(partition, ())] for log in (held, logs[active]))
            if theirs != ours or not all(each.intact for each in held.get(partition, ())):
                found.append(f"{cluster} holds {len(theirs)} records of {partition}, and {active} {len(ours)}")
    return found
