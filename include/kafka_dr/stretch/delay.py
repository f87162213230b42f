"""The delay between sites: how much longer a write takes if it waits for a replica in another site. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from math import ceil
from statistics import median

from kafka_dr.clusters.write_delay import DelaySamples
from kafka_dr.positions import TopicPartition
from kafka_dr.stretch.facts import StretchFacts, StretchPartition
from kafka_dr.stretch.findings import StretchFinding

#: Pairs of writes for each pair of sites, and the fewest that are judged.
PAIRS, LEAST_PAIRS = 60, 30
#: How long all measurements together may take.
MOST_SECONDS = 120.0
#: From the leader's site to the replica's.
SitePair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SiteDelay:
    """The delay from one site to another one, in milliseconds.

    :param typical: the median; ``None`` if it is not known
    :param longest: 99 of 100 were shorter; ``None`` likewise
    :param problem: why it is not known; empty if it is
    """

    pair: SitePair
    typical: float | None
    longest: float | None
    samples: int
    problem: str = ""


def delay_partitions(facts: StretchFacts, partitions: Iterable[StretchPartition]) -> dict[SitePair, TopicPartition]:
    """Return, by pair of sites, a partition that is led in the first and has its one other replica in the second.

    Only one whose replicas are both in sync: else a write with acks=all waits for nobody.
    """
    found: dict[SitePair, TopicPartition] = {}
    for each in partitions:
        if each.leader is None or len(each.replicas) != 2 or {*each.replicas} != {*each.in_sync}:
            continue
        (other,) = {*each.replicas} - {each.leader}
        led, copied = facts.site_of(each.leader), facts.site_of(other)
        if led is not None and copied is not None and led != copied:
            found.setdefault((led, copied), each.partition)
    return found


def create_command(facts: StretchFacts, topic: str) -> str:
    """Return the command that makes the topic: a partition for each pair of sites that have brokers, in each order."""
    first: dict[str, int] = {}
    for each in sorted(facts.brokers.values(), key=lambda broker: broker.broker):
        if each.up and each.site is not None:
            first.setdefault(each.site, each.broker)
    assigned = ",".join(f"{first[one]}:{first[other]}" for one, other in permutations(sorted(first), 2))
    return (
        f"kafka-topics.sh --bootstrap-server SERVERS --command-config FILE --create --topic {topic} "
        f"--config min.insync.replicas=1 --config retention.ms=3600000 --replica-assignment {assigned}"
    )


def judged_delays(
    facts: StretchFacts, partitions: Mapping[SitePair, TopicPartition], samples: Iterable[DelaySamples]
) -> tuple[SiteDelay, ...]:
    """Return the delay of each pair of sites that have brokers that are up."""
    measured = {each.partition: each for each in samples}
    sites = sorted({each.site for each in facts.brokers.values() if each.site is not None and each.up})
    return tuple(_judged(pair, partitions.get(pair), measured) for pair in permutations(sites, 2))


def _judged(
    pair: SitePair, partition: TopicPartition | None, measured: Mapping[TopicPartition, DelaySamples]
) -> SiteDelay:
    if partition is None:
        why = f"the topic has no partition that is led in {pair[0]} with its one other replica, in sync, in {pair[1]}"
        return SiteDelay(pair, None, None, 0, why)
    taken = measured[partition].milliseconds if partition in measured else ()
    problem = measured[partition].problem if partition in measured else "it was not measured"
    if len(taken) < LEAST_PAIRS:
        return SiteDelay(pair, None, None, len(taken), f"{len(taken)} of {LEAST_PAIRS} measurements: {problem}")
    ordered = sorted(taken)
    longest = ordered[ceil(len(ordered) * 0.99) - 1]
    return SiteDelay(pair, round(median(ordered), 2), round(longest, 2), len(taken))


def delay_findings(delays: Iterable[SiteDelay], most_ms: float) -> Iterable[StretchFinding]:
    """Yield what is wrong with the delays, or not known."""
    for each in delays:
        one, other = each.pair
        if each.typical is None:
            yield StretchFinding("unknown", "delay", f"the delay {one} → {other} is not known: {each.problem}")
        elif each.typical >= most_ms:
            said = (
                f"a write in {one} that waits for {other} takes {each.typical:g} ms longer (median), and most_ms is "
                f"{most_ms:g}: look at the network between them"
            )
            yield StretchFinding("failed", "delay", said)
