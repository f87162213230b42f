"""An offset map that reads records only for the positions that no audit has settled before."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_dr.offsets.translate.answers import OffsetMap, Translation
from kafka_dr.offsets.translate.by_facts import FactsMap
from kafka_dr.positions import TopicPartition


class LayeredOffsetMap:
    """Takes what the facts say exactly, and asks another map about the rest.

    :param facts: answers at once
    :param reading: compares content on both sides; where it has an answer that counts, exact or not
    """

    def __init__(self, facts: FactsMap, reading: OffsetMap) -> None:
        self._facts = facts
        self._reading = reading

    def translate(
        self, positions: Mapping[TopicPartition, Collection[int]]
    ) -> Mapping[tuple[TopicPartition, int], Translation]:
        """Translate positions: next to read on the source, by partition."""
        found = dict(self._facts.translate(positions))
        left = {p: [o for o in wanted if found[p, o].kind != "exact"] for p, wanted in positions.items()}
        left = {p: offsets for p, offsets in left.items() if offsets and self._facts.on_both_sides(p)}
        read = self._reading.translate(left) if left else {}
        # It looks at stable records alone: who reads uncommitted ones stands past them, and has a place all the same.
        return found | {key: answer for key, answer in read.items() if answer.target_offset is not None}
