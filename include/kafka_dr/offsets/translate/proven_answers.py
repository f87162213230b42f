"""Answers that content has given this process, for offsets that have not moved since.

Most groups of a company do not read on in the seconds around a failover, and most others have read everything once
their source is fenced. What was compared for them need not be compared again while applications wait.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from threading import Lock

from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.positions import PartitionOffset, TopicPartition


@dataclass(frozen=True, slots=True)
class _Proven:
    """An answer, and what it is about.

    :param topic_ids: of the topic on source and target: another id is another log
    :param held: what both logs held when they were compared
    """

    answer: Translation
    topic_ids: tuple[str, str]
    held: RangePair

    def holds(self, topic_ids: tuple[str, str], held: RangePair) -> bool:
        """Return whether the answer is still true of the logs as they are now."""
        position, offset = self.answer.source_offset, self.answer.target_offset
        if topic_ids != self.topic_ids or offset is None:
            return False
        if not held.source.start <= position <= held.source.end:
            return False
        if not held.target.start <= offset <= held.target.end:
            return False
        # Of what follows on the target nothing was compared if nothing was unread: it may be no copy.
        return position < self.held.source.end or held.target.end == self.held.target.end


class ProvenAnswers:
    """Exact answers that the records around them confirmed; gone with the process."""

    def __init__(self) -> None:
        #: By direction, and offset of the source.
        self._found: dict[tuple[str, PartitionOffset], _Proven] = {}
        self._lock = Lock()

    def learn(
        self,
        direction: str,
        topic_ids: Mapping[str, tuple[str, str]],
        answers: Mapping[PartitionOffset, Translation],
        held: Mapping[TopicPartition, RangePair],
    ) -> None:
        """Keep those of the answers that are exact and proven.

        :param direction: ``SOURCE-to-TARGET``
        :param topic_ids: by topic, its id on the source and on the target
        :param held: what both logs held when they were compared
        """
        kept = {
            (direction, (p, position)): _Proven(answer, topic_ids[p.topic], held[p])
            for (p, position), answer in answers.items()
            if answer.kind == "exact" and answer.proof == "right" and p.topic in topic_ids
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
        """Return the kept answers of these offsets that are true of both logs as they are now.

        :param topic_ids: by topic, its id on the source and on the target
        :param wanted: as :meth:`among` returned them
        :param held: what both logs hold now
        """
        with self._lock:
            kept = {(p, each): self._found[direction, (p, each)] for p, of_p in wanted.items() for each in of_p}
        return {
            (p, position): found.answer
            for (p, position), found in kept.items()
            if found.holds(topic_ids[p.topic], held[p])
        }
