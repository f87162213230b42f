"""What every stage of a translation rests on: both clusters, and what is known of their logs already."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.syncs.archive import SyncLookup
from kafka_dr.offsets.translate.anchor_cache import AnchorCache
from kafka_dr.offsets.translate.proven_answers import ProvenAnswers
from kafka_dr.offsets.translate.read_logs import Ignored
from kafka_dr.offsets.translate.taken_over_copy import TakenOverCopy
from kafka_dr.positions import SeedPoint, TopicPartition


@dataclass(frozen=True, slots=True)
class TranslationBasis:
    """What translating offsets from one cluster to another rests on; looked up once, and handed from stage to stage.

    :param source: the cluster that the offsets are from, reached as audit
    :param target: the cluster that they are wanted for, reached as audit
    :param syncs: looks up offset syncs
    :param maps: what audits matched
    :param cache: has what earlier translations learned
    :param proven: has what this process has compared before
    :param keeps: whether what this one learns is kept there for the next one
    :param seeds: points that are known: journaled by earlier runs, or the verified frontier
    :param ignored: ranges that are neither copied nor a copy, on the source and on the target
    :param taken_over: the parts of copies that another replication made
    :param origin: the cluster whose topics these are, if the source has copies of them; empty: the source's own
    """

    source: FlowCluster
    target: FlowCluster
    syncs: SyncLookup
    maps: MapStore
    cache: AnchorCache
    proven: ProvenAnswers = field(default_factory=ProvenAnswers)
    keeps: bool = False
    seeds: Mapping[TopicPartition, Collection[SeedPoint]] = field(default_factory=dict)
    ignored: tuple[Ignored, Ignored] = ({}, {})
    taken_over: Mapping[TopicPartition, TakenOverCopy] = field(default_factory=dict)
    origin: str = ""

    def made_by_another(self, partition: TopicPartition, offset: int) -> bool:
        """Return whether another replication made the copy at an offset of the source."""
        return partition in self.taken_over and self.taken_over[partition].covers(offset)

    @property
    def direction(self) -> str:
        """The direction, as kept files name it: ``SOURCE-to-TARGET``."""
        names = f"{self.source.name}-to-{self.target.name}"
        return f"{names}-of-{self.origin}" if self.origin else names
