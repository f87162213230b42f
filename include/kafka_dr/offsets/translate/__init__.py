"""How a committed offset of the source becomes one of the target. The first three are each asked for what is left:

1. *facts* (:mod:`~kafka_dr.offsets.translate.facts`): what audits and offset syncs say. No record is read. For few
   offsets the caller leaves this stage out, because gathering the facts would take longer than reading records;
2. *content* (:mod:`~kafka_dr.offsets.translate.by_content`): records of both clusters are compared;
3. *choice* (:mod:`~kafka_dr.offsets.translate.choice`): the owners of a group may want another start. The caller
   applies it, because the choice is declared in the topology;
4. *verify* (:mod:`~kafka_dr.offsets.verify`): what was committed on the target is read back and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from kafka_dr.offsets.translate.answers import TranslatedOffset, Translation
from kafka_dr.offsets.translate.facts import NO_FACTS, PartitionFacts, translate_by_facts
from kafka_dr.positions import Committed, PartitionOffset, TopicPartition

#: What is known about partitions before a record is read.
Facts = Mapping[TopicPartition, PartitionFacts]
#: Offsets of the source, next to read, by partition.
Offsets: TypeAlias = Mapping[TopicPartition, Collection[int]]
#: Compares records. It answers for every offset, and no answer is late: no unread record is below it.
ByContent: TypeAlias = Callable[[Offsets], Mapping[PartitionOffset, Translation]]


def offsets_of(committed: Committed) -> dict[TopicPartition, set[int]]:
    """Return what groups have committed, by partition: an offset that several groups share is translated once."""
    offsets: dict[TopicPartition, set[int]] = {}
    for by_partition in committed.values():
        for partition, offset in by_partition.items():
            offsets.setdefault(partition, set()).add(offset)
    return offsets


def for_groups(committed: Committed, found: Mapping[PartitionOffset, Translation]) -> list[TranslatedOffset]:
    """Return the translations of what groups have committed, in the order of groups and partitions.

    :param found: of every offset that :func:`offsets_of` returned
    """
    return [
        found[partition, offset].of(group, partition)
        for group, offsets in sorted(committed.items())
        for partition, offset in sorted(offsets.items())
    ]


def translate_offsets(
    by_content: ByContent, offsets: Offsets, *, facts: Facts
) -> Mapping[PartitionOffset, Translation]:
    """Take what the facts say exactly, and compare content for the rest.

    :param by_content: compares content; its answer counts if it has an offset, exact or not
    :param offsets: next to read on the source, by partition
    :param facts: of every partition
    """
    known = {p: facts.get(p, NO_FACTS) for p in offsets}
    found = {(p, offset): translate_by_facts(offset, known[p]) for p, wanted in offsets.items() for offset in wanted}
    left = {
        p: unsure
        for p, wanted in offsets.items()
        if known[p].source is not None and known[p].target is not None
        if (unsure := [offset for offset in wanted if found[p, offset].kind != "exact"])
    }
    read = by_content(left) if left else {}
    # Content is compared only up to the last stable offset. A group that reads uncommitted records may be past it, and
    # then keeps what the facts say.
    return found | {key: answer for key, answer in read.items() if answer.target_offset is not None}
