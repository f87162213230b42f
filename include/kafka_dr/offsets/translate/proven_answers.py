"""Answers that content gave this process before writes were refused, for offsets that have not moved since.

Most groups of a company do not read on in the seconds around a failover. What was compared for them once need not be
compared again while applications wait: logs only grow at their ends, and lose records at their starts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from threading import Lock

from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.positions import PartitionOffset, TopicPartition


class ProvenAnswers:
    """Exact answers, each with the records around it on both clusters as its proof; gone with the process."""

    def __init__(self) -> None:
        #: By direction, and offset of the source; with the ids of the topic on source and target.
        self._found: dict[tuple[str, PartitionOffset], tuple[tuple[str, str], Translation]] = {}
        self._lock = Lock()

    def learn(
        self, direction: str, topic_ids: Mapping[str, tuple[str, str]], answers: Mapping[PartitionOffset, Translation]
    ) -> None:
        """Keep those of the answers that are exact and proven.

        :param direction: ``SOURCE-to-TARGET``
        :param topic_ids: by topic, its id on the source and on the target; another id is another log
        """
        kept = {
            (direction, at): (topic_ids[at[0].topic], answer)
            for at, answer in answers.items()
            if answer.kind == "exact" and answer.proof == "right"
        }
        with self._lock:
            self._found |= kept

    def among(
        self, direction: str, offsets: Mapping[TopicPartition, Collection[int]]
    ) -> dict[TopicPartition, list[int]]:
        """Return those of the offsets that have a kept answer.

        :param offsets: next to read on the source, by partition
        """
        with self._lock:
            known = {p: [each for each in of_p if (direction, (p, each)) in self._found] for p, of_p in offsets.items()}
        return {p: each for p, each in known.items() if each}

    def still_true(
        self,
        direction: str,
        topic_ids: Mapping[str, tuple[str, str]],
        wanted: Mapping[TopicPartition, Collection[int]],
        held: Mapping[TopicPartition, RangePair],
    ) -> dict[PartitionOffset, Translation]:
        """Return the kept answers of these offsets that both logs, as they are now, still hold.

        :param topic_ids: by topic, its id on the source and on the target
        :param wanted: as :meth:`among` returned them
        :param held: what both logs hold
        """
        with self._lock:
            kept = {(p, each): self._found[direction, (p, each)] for p, of_p in wanted.items() for each in of_p}
        return {
            (p, position): answer
            for (p, position), (ids, answer) in kept.items()
            if topic_ids[p.topic] == ids and _holds(held[p], position, answer.target_offset)
        }


def _holds(held: RangePair, position: int, offset: int | None) -> bool:
    return (
        offset is not None
        and held.source.start <= position <= held.source.end
        and held.target.start <= offset <= held.target.end
    )
