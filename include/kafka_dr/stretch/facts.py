"""What is known of a stretch cluster at one moment. What could not be read is ``None``, and named. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from kafka_dr.positions import TopicPartition


@dataclass(frozen=True, slots=True)
class SitedBroker:
    """A broker.

    :param site: ``None`` if no rack says it
    :param up: whether the controller counts it
    """

    broker: int
    site: str | None
    up: bool


@dataclass(frozen=True, slots=True)
class SitedVoter:
    """A controller that votes.

    :param site: ``None`` if nothing says it
    :param caught_up: whether it has the metadata log as it was a moment ago
    """

    node: int
    site: str | None
    caught_up: bool


@dataclass(frozen=True, slots=True)
class StretchPartition:
    """A partition that is judged, with the settings that apply to it.

    :param replicas: brokers, in the order in which they are preferred as leaders
    :param eligible: replicas that are not in sync and may lead nevertheless (KIP-966)
    :param min_in_sync: how many in-sync replicas a write with acks=all needs; ``None`` if it could not be read
    :param unclean: whether a replica that is not in sync may be elected; ``None`` likewise
    :param size: of its largest replica in bytes; ``None`` likewise
    :param moving: whether its replicas are being reassigned
    """

    partition: TopicPartition
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    eligible: tuple[int, ...] = ()
    min_in_sync: int | None = None
    unclean: bool | None = None
    size: int | None = None
    moving: bool = False

    @property
    def needed(self) -> int | None:
        """How many in-sync replicas a write with acks=all needs in fact.

        Never more than the partition has replicas (``effectiveMinIsr`` in Kafka's ``Partition``): with one replica,
        ``min.insync.replicas`` of 2 refuses nothing.
        """
        return None if self.min_in_sync is None else min(self.min_in_sync, len(self.replicas))


@dataclass(frozen=True, slots=True)
class StretchFacts:
    """A stretch cluster.

    :param voters: ``None`` if they could not be read
    :param follower_fetching: whether consumers may read from a replica in their own site; ``None`` likewise
    :param acks: what clients wait for, as declared
    :param unknown: a sentence for each thing that is not known, with what to do
    """

    name: str
    cluster_id: str
    at: datetime
    brokers: Mapping[int, SitedBroker]
    partitions: tuple[StretchPartition, ...]
    voters: tuple[SitedVoter, ...] | None
    follower_fetching: bool | None
    acks: str | None
    unknown: tuple[str, ...] = ()

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites that hold a broker or a controller, sorted."""
        found = {each.site for each in self.brokers.values()} | {each.site for each in self.voters or ()}
        return tuple(sorted(site for site in found if site is not None))

    def site_of(self, broker: int) -> str | None:
        """Return the site of a broker; ``None`` if it is not known, as of one that is not registered any more."""
        return self.brokers[broker].site if broker in self.brokers else None

    def sites_of(self, brokers: Iterable[int]) -> tuple[str | None, ...]:
        """Return the site of each broker."""
        return tuple(map(self.site_of, brokers))

    def is_up(self, broker: int) -> bool:
        """Return whether a broker is registered and up."""
        return broker in self.brokers and self.brokers[broker].up
