"""Whether the logs of a cluster end where a step has journaled it: nobody has written since, and nothing has gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_dr.clusters import TopicPartition
from kafka_dr.counted import counted
from kafka_dr.outcomes import Check

#: How many partitions a message names.
_MOST_NAMED = 5


def ends_unchanged(
    name: str,
    journaled: Mapping[TopicPartition, int],
    now: Mapping[TopicPartition, int],
    *,
    about: str,
    moved: str,
) -> Check:
    """Return whether the logs of a cluster end where it was journaled, and all of them are still there.

    A partition that was not journaled was created since then, so its log should end at 0.

    :param about: on which cluster, and since when
    :param moved: what to do if a log end has moved
    """
    if gone := sorted(journaled.keys() - now.keys()):
        said = f"{_named(gone)}: gone {about}, expected to be there. Find out who deleted the topic"
        return Check(name, "failed", said)
    if others := sorted(p for p, end in now.items() if end != journaled.get(p, 0)):
        said = f"the log ends of {_named(others)} have moved {about}, expected none. {moved}"
        return Check(name, "failed", said)
    return Check(name, "ok", f"the log ends of {counted(len(now), 'partition')} have not moved {about}")


def _named(partitions: Sequence[TopicPartition]) -> str:
    return ", ".join(map(str, partitions[:_MOST_NAMED]))
