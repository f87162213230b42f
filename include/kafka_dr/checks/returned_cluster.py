"""How many records an old cluster holds that are not known to be copied, once it is back and fenced.

Counted in offsets, so the number is an upper bound: transaction markers and aborted records take offsets as well. Which
records they are, and which of them were copied after all, is decided by their content later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.clusters import TopicPartition
from kafka_dr.counted import counted
from kafka_dr.errors import NeedsPerson
from kafka_dr.named_rows import positions_from_json, positions_to_json
from kafka_dr.runs.group_context import GroupContext

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class UncopiedRecords:
    """What a returned cluster holds that may not be on the active one.

    :param ends: the next offset of each partition, read while the cluster was fenced
    :param beyond_frontier: offsets that it holds after those known to be copied; ``None`` if that was never known
    :param since_opening: offsets of records written after the new cluster opened; ``None`` if that moment is not known
    :param expired: offsets after those known to be copied that it no longer held when it was fenced
    """

    ends: Offsets
    beyond_frontier: int | None
    since_opening: int | None
    expired: int = 0

    @property
    def sentence(self) -> str:
        """Both numbers in one sentence, without its subject."""
        beyond = self.beyond_frontier
        many = "an unknown number of records" if beyond is None else f"at most {counted(beyond, 'record')}"
        since = "an unknown number" if self.since_opening is None else f"at most {self.since_opening}"
        held = f"it holds {many} not known to be copied, {since} of them written after the hand-over"
        if not self.expired:
            return held
        gone = counted(self.expired, "record")
        return f"{held}; at most {gone} had expired there before, and it is not known whether they were copied"

    def fact(self, cluster: str, *, fenced_at: datetime) -> dict[str, Any]:
        """Return what is journaled as ``returned`` and kept as evidence.

        :param fenced_at: when the cluster was proven to refuse writes; from the hand-over until then it was unfenced
        """
        return {
            "cluster": cluster,
            "fenced_at": fenced_at.isoformat(),
            "ends": positions_to_json(self.ends),
            "beyond_frontier": self.beyond_frontier,
            "since_opening": self.since_opening,
            "expired": self.expired,
        }


def count_uncopied(
    ends: Offsets, *, starts: Offsets, frontier: Offsets | None, opening: Offsets | None
) -> UncopiedRecords:
    """Count the offsets after the frontier, and those after the opening. Pure.

    :param starts: log start offsets; of a partition that the frontier does not name, no record is known to be copied
    :param frontier: the first offset that is not known to be copied; ``None`` if nothing is known
    :param opening: the first offset written after the new cluster opened, if there is one; ``None`` if unknown
    """
    beyond = since = None
    expired = 0
    if frontier is not None:
        beyond = sum(max(0, end - max(frontier.get(p, 0), starts.get(p, 0))) for p, end in ends.items())
        expired = sum(max(0, starts.get(p, 0) - offset) for p, offset in frontier.items() if p in ends)
    if opening is not None:
        since = sum(max(0, end - opening.get(p, end)) for p, end in ends.items())
    return UncopiedRecords(dict(ends), beyond, since, expired)


def count_on_returned(context: GroupContext, cluster: str, journal: Mapping[str, Any]) -> UncopiedRecords:
    """Read the log ends of a returned and fenced cluster, and compare them with what the run journaled.

    These are the high watermarks: an acknowledged record may be after a transaction that nobody could end yet.
    """
    topics, partitions = context.operator(cluster).topics, context.partitions(cluster)
    ends, starts = topics.high_watermarks(partitions), topics.log_starts(partitions)
    opened = _moment(journal.get("opened"))
    opening = None
    if opened is not None:
        found = context.operator(cluster).offsets_by_time.at(partitions, int(opened.timestamp() * 1000))
        opening = {partition: offset for partition, offset in found.items() if offset is not None}
    return count_uncopied(ends, starts=starts, frontier=_frontier(journal.get("unverified")), opening=opening)


def _frontier(fact: Any) -> Offsets | None:
    """Return the first offset not known to be copied: by content, or by the offsets committed with the copies."""
    if fact is None:
        return None
    try:
        known = [positions_from_json(fact[name]) for name in ("frontier", "copied")]
    except (KeyError, TypeError, ValueError) as error:
        raise NeedsPerson(
            f"the journaled fact 'unverified' of the run cannot be read, so nothing was counted: {cause(error)}"
        ) from error
    frontier: dict[TopicPartition, int] = {}
    for partition, offset in (row for positions in known for row in positions.items()):
        frontier[partition] = max(offset, frontier.get(partition, 0))
    return frontier or None


def _moment(fact: Any) -> datetime | None:
    return None if fact is None else datetime.fromisoformat(fact["at"])
