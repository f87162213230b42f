"""Answers that content gave this process before writes were refused, for offsets that have not moved since.

Most groups of a company do not read on in the seconds around a failover. What was compared for them once need not be
compared again while applications wait: logs only grow at their ends, and lose records at their starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock

from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.positions import PartitionOffset, TopicPartition

#: By direction, topic and the topic's ids on source and target: another id is another log.
_Log = tuple[str, str, tuple[str, str]]


class ProvenAnswers:
    """Exact answers, each with the records around it on both clusters as its proof; gone with the process."""

    def __init__(self) -> None:
        self._found: dict[tuple[_Log, PartitionOffset], Translation] = {}
        self._lock = Lock()

    def learn(
        self, direction: str, topic_ids: Mapping[str, tuple[str, str]], answers: Mapping[PartitionOffset, Translation]
    ) -> None:
        """Keep those of the answers that are exact and proven.

        :param direction: ``SOURCE-to-TARGET``
        :param topic_ids: by topic, its id on the source and on the target
        """
        kept = {
            ((direction, at[0].topic, topic_ids[at[0].topic]), at): answer
            for at, answer in answers.items()
            if answer.kind == "exact" and answer.proof == "right"
        }
        with self._lock:
            self._found |= kept

    def still_true(
        self,
        direction: str,
        topic_ids: Mapping[str, tuple[str, str]],
        wanted: Mapping[TopicPartition, Sequence[int]],
        held: Mapping[TopicPartition, RangePair],
    ) -> dict[PartitionOffset, Translation]:
        """Return the kept answers that both logs, as they are now, still hold.

        :param wanted: next to read on the source, by partition
        :param held: what both logs hold
        """
        with self._lock:
            if not self._found:
                return {}
            kept = {
                (p, offset): self._found.get(((direction, p.topic, topic_ids[p.topic]), (p, offset)))
                for p, offsets in wanted.items()
                for offset in offsets
            }
        return {
            (p, offset): answer
            for (p, offset), answer in kept.items()
            if answer is not None and _holds(held[p], offset, answer.target_offset)
        }


def _holds(held: RangePair, position: int, offset: int | None) -> bool:
    return (
        offset is not None
        and held.source.start <= position <= held.source.end
        and held.target.start <= offset <= held.target.end
    )
