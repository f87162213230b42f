"""The copies that another replication made before a take over of the group, as its journal knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.codec import decode
from kafka_dr.errors import Unanswered
from kafka_dr.offsets.translate.taken_over_copy import DisplacedRange, TakenOverCopy
from kafka_dr.positions import SeedPoint
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed
from kafka_dr.register.taken_over import BEGINS, COPY, SECOND_COPIES, TAIL_SEEN, CopyMade, Ranges
from kafka_dr.runs.run import Run


def taken_over_copies(run: Run, seeds: Iterable[FlowSeed]) -> dict[TopicPartition, TakenOverCopy]:
    """Return, by partition, the newest part of a copy that another replication made, seen from the run's source.

    A topic that was created again has none: its log holds other records at these offsets.

    :param seeds: those between the run's clusters whose logs are still those that the clusters have
    """
    epochs = {seed.epoch for seed in seeds if seed.takes_over}
    overs = [facts for facts in run.history.values() if COPY in facts and _epoch_of(facts) in epochs]
    found: dict[TopicPartition, TakenOverCopy] = {}
    for facts in sorted(overs, key=_epoch_of):
        seed, copy = FlowSeed.from_json(facts[FLOW_SEED]), CopyMade.from_json(facts[COPY])
        same = _same_topics(run, seed)
        parts = {p: each for p, each in _parts(seed, copy, facts).items() if same is None or p.topic in same}
        found |= {p: each if seed.source == run.source else each.reversed for p, each in parts.items()}
    return found


def _epoch_of(facts: Mapping[str, Any]) -> int:
    return FlowSeed.from_json(facts[FLOW_SEED]).epoch if FLOW_SEED in facts else -1


def _parts(seed: FlowSeed, copy: CopyMade, facts: Mapping[str, Any]) -> dict[TopicPartition, TakenOverCopy]:
    displaced: dict[TopicPartition, list[DisplacedRange]] = {}
    for each in copy.displaced:
        displaced.setdefault(each.partition, []).append(
            DisplacedRange(OffsetRange(*each.source), OffsetRange(*each.target))
        )
    in_tail = [decode(Ranges, facts.get(name, {}).get(SECOND_COPIES, ())) for name in (TAIL_SEEN, BEGINS)]
    return {
        p: TakenOverCopy(
            until,
            _pairs(p, copy),
            tuple(displaced.get(p, ())),
            (*copy.second_copies.get(p, ()), *(each for found in in_tail for each in found.get(p, ()))),
        )
        for p, until in seed.points.items()
    }


def _pairs(partition: TopicPartition, copy: CopyMade) -> tuple[SeedPoint, ...]:
    """Return what the audit aligned, and the point up to which it compared both logs."""
    compared = copy.compared.get(partition)
    return (*copy.pairs.get(partition, ()), *((compared,) if compared else ()))


def _same_topics(run: Run, seed: FlowSeed) -> frozenset[str] | None:
    """Return the topics that are still those of a seed; ``None`` if the cluster that could say so does not answer."""
    try:
        now = run.topic_ids(seed.source)
    except Unanswered:
        return None
    known = seed.topic_ids or {}
    return frozenset(topic for topic, topic_id in now.items() if known.get(topic) == topic_id)
