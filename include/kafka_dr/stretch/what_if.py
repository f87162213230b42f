"""What the loss of a site would do, from metadata alone. Pure.

The rules are those of Kafka's controller (``PartitionChangeBuilder``): the new leader is the first of the replica list
that is in sync and not lost; without one, an eligible leader replica (KIP-966); without one, no replica, unless unclean
election is on. A write with acks=all needs ``min.insync.replicas`` in-sync ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from kafka_dr.counted import counted
from kafka_dr.positions import TopicPartition
from kafka_dr.stretch.facts import StretchFacts, StretchPartition

FateOutcome = Literal["continues", "refuses", "stops", "unknown"]
#: ``caught_up``: until replicas that are left are in sync again, without anybody's work. ``site_back``: until the site
#: is back. ``quorum_back``: until a majority of the controllers is.
Until = Literal["", "caught_up", "site_back", "quorum_back"]
QuorumFate = Literal["lives", "stops", "unknown"]


@dataclass(frozen=True, slots=True)
class PartitionFate:
    """What becomes of a partition.

    :param outcome: ``refuses``: it is read, and refuses writes with acks=all; ``stops``: it has no leader
    :param until: how long, unless it continues
    :param leader: after the loss; ``None`` if there is none, or if it is not known which one
    :param was: the leader before; ``None`` if it had none
    :param reason: why, in words; empty if it continues
    :param loses: whether acknowledged records may be lost, because a replica that is not in sync is elected
    """

    partition: TopicPartition
    outcome: FateOutcome
    until: Until
    leader: int | None
    was: int | None
    reason: str = ""
    loses: bool = False

    @property
    def moves(self) -> bool:
        """Whether its leader moves to another broker."""
        return self.leader is not None and self.leader != self.was


@dataclass(frozen=True, slots=True)
class BrokerLoad:
    """What a broker that is left leads. Bytes are those of the logs that it leads, as a measure of traffic.

    :param bytes_before: ``None`` if sizes could not be read
    """

    broker: int
    site: str
    leaders_before: int
    leaders_after: int
    bytes_before: int | None
    bytes_after: int | None


@dataclass(frozen=True, slots=True)
class SiteLoss:
    """What the loss of one site would do.

    :param brokers: that are lost
    :param voters: controllers that are lost, and all of them
    :param caveats: what this does not cover, a sentence each
    """

    site: str
    brokers: tuple[int, ...]
    voters: tuple[int, int]
    quorum: QuorumFate
    fates: tuple[PartitionFate, ...]
    load: tuple[BrokerLoad, ...]
    caveats: tuple[str, ...]

    def of(self, outcome: FateOutcome) -> tuple[PartitionFate, ...]:
        """Return the partitions with this outcome."""
        return tuple(each for each in self.fates if each.outcome == outcome)

    @property
    def largest_load(self) -> float | None:
        """How many times as many partitions the broker with the largest growth leads; ``None`` if none led any."""
        grown = [each.leaders_after / each.leaders_before for each in self.load if each.leaders_before]
        return max(grown, default=None)

    @property
    def harmless(self) -> bool:
        """Whether nothing stops, refuses or is lost, and all of that is known."""
        fine = all(each.outcome == "continues" and not each.loses for each in self.fates)
        return fine and self.quorum == "lives"


def if_lost(facts: StretchFacts, site: str) -> SiteLoss:
    """Return what the loss of a site would do now."""
    quorum = _quorum(facts, site)
    fates = tuple(_fate(facts, each, site, quorum) for each in facts.partitions)
    lost = tuple(sorted(each.broker for each in facts.brokers.values() if each.site == site))
    voters = facts.voters or ()
    counts = sum(each.site == site for each in voters), len(voters)
    return SiteLoss(site, lost, counts, quorum, fates, _load(facts, site, fates), tuple(_caveats(facts, quorum)))


def _quorum(facts: StretchFacts, site: str) -> QuorumFate:
    """A majority of all voters has to be left; one whose site is not known, or that is late, may not count."""
    if not facts.voters:
        return "unknown"
    majority = len(facts.voters) // 2 + 1
    left = [each for each in facts.voters if each.site != site]
    if sum(each.site is not None and each.caught_up for each in left) >= majority:
        return "lives"
    return "stops" if len(left) < majority else "unknown"


def _fate(facts: StretchFacts, each: StretchPartition, site: str, quorum: QuorumFate) -> PartitionFate:
    """Where sites of replicas are not known, both is tried: that they are lost, and that they are not."""
    lost = {broker for broker in each.replicas if facts.site_of(broker) == site or not facts.is_up(broker)}
    unsited = {broker for broker in each.replicas if facts.site_of(broker) is None} - lost
    judge = _without_quorum if quorum == "stops" else _with_quorum
    best, worst = judge(each, lost), judge(each, lost | unsited)
    if best.outcome == worst.outcome and best.leader == worst.leader:
        return best
    why = f"the site of broker {min(unsited)} is not known"
    outcome: FateOutcome = best.outcome if best.outcome == worst.outcome else "unknown"
    return PartitionFate(each.partition, outcome, best.until, None, each.leader, why, best.loses or worst.loses)


def _with_quorum(each: StretchPartition, lost: Collection[int]) -> PartitionFate:
    left = [broker for broker in each.replicas if broker not in lost]
    in_sync = [broker for broker in left if broker in each.in_sync]
    unclean = False
    if not in_sync:
        in_sync = [broker for broker in left if broker in each.eligible][:1]
    if not in_sync and each.unclean:
        in_sync, unclean = left[:1], True
    if not in_sync:
        others = "no replica is left" if not left else f"broker {left[0]} has a replica that is not in sync"
        return PartitionFate(each.partition, "stops", "site_back", None, each.leader, f"none left in sync: {others}")
    leader = each.leader if each.leader in in_sync else in_sync[0]
    if each.needed is None:
        why = "min.insync.replicas is not known"
        return PartitionFate(each.partition, "unknown", "", leader, each.leader, why, unclean)
    if len(in_sync) >= each.needed:
        return PartitionFate(each.partition, "continues", "", leader, each.leader, loses=unclean)
    until: Until = "caught_up" if len(left) >= each.needed else "site_back"
    why = f"{len(in_sync)} in sync of {each.needed} that are needed"
    return PartitionFate(each.partition, "refuses", until, leader, each.leader, why, unclean)


def _without_quorum(each: StretchPartition, lost: Collection[int]) -> PartitionFate:
    """Without a quorum no leader is elected, and no lost replica leaves the in-sync ones."""
    if each.leader is None or each.leader in lost:
        why = "its leader is lost, and no controller elects another one"
        return PartitionFate(each.partition, "stops", "quorum_back", None, each.leader, why)
    if any(broker in lost for broker in each.in_sync):
        why = "no controller removes the lost replicas from the in-sync ones, so writes with acks=all time out"
        return PartitionFate(each.partition, "refuses", "quorum_back", each.leader, each.leader, why)
    return _with_quorum(each, lost)


def _load(facts: StretchFacts, site: str, fates: tuple[PartitionFate, ...]) -> tuple[BrokerLoad, ...]:
    sizes = {each.partition: each.size for each in facts.partitions}
    known = all(size is not None for size in sizes.values())
    leaders, volumes = (Counter[int](), Counter[int]()), (Counter[int](), Counter[int]())
    for fate in fates:
        for number, leader in enumerate((fate.was, fate.leader)):
            if leader is not None:
                leaders[number][leader] += 1
                volumes[number][leader] += sizes[fate.partition] or 0
    return tuple(
        BrokerLoad(
            each.broker,
            each.site,
            leaders[0][each.broker],
            leaders[1][each.broker],
            volumes[0][each.broker] if known else None,
            volumes[1][each.broker] if known else None,
        )
        for each in sorted(facts.brokers.values(), key=lambda broker: broker.broker)
        if each.up and each.site not in (None, site)
        if each.site is not None
    )


def _caveats(facts: StretchFacts, quorum: QuorumFate) -> Iterator[str]:
    if moving := sum(each.moving for each in facts.partitions):
        are = counted(moving, "partition is", "partitions are")
        yield f"{are} being reassigned: this is what holds now, not after that"
    if eligible := sum(bool(each.eligible) for each in facts.partitions):
        have = counted(eligible, "partition has", "partitions have")
        yield f"{have} eligible leader replicas (KIP-966): they may lead although they are not in sync"
    if quorum == "lives":
        yield (
            "until the controller notices the loss (broker.session.timeout.ms, 9 s unless changed), partitions that "
            "are led there do not answer, and writes with acks=all to those copied there wait"
        )
