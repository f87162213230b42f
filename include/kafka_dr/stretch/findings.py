"""What is wrong with the placement of a stretch cluster, by site and by partition. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kafka_dr.counted import counted
from kafka_dr.positions import TopicPartition
from kafka_dr.stretch.facts import StretchFacts, StretchPartition
from kafka_dr.stretch.what_if import SiteLoss

#: ``warning``: worth knowing, and no fault.
FindingLevel = Literal["failed", "unknown", "warning"]
#: How many partitions a sentence names.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class StretchFinding:
    """One thing that is wrong, or not known.

    :param about: ``brokers``, ``replicas``, ``controllers``, ``clients``, ``delay`` or ``loss``
    :param sentence: what was seen, what was expected, what to do
    :param partitions: that it is about
    :param weight: of the loss of a site: the larger, the more it takes
    """

    level: FindingLevel
    about: str
    sentence: str
    partitions: tuple[TopicPartition, ...] = ()
    weight: tuple[int, ...] = ()


def findings_of(facts: StretchFacts, losses: Iterable[SiteLoss]) -> Iterator[StretchFinding]:
    """Yield everything that is wrong or not known.

    :param losses: of each site
    """
    yield from _brokers(facts)
    yield from _controllers(facts)
    yield from _replicas(facts)
    yield from _clients(facts)
    for loss in losses:
        yield from _loss(loss)
    for sentence in facts.unknown:
        yield StretchFinding("unknown", "reading", sentence)


def spread(facts: StretchFacts, brokers: Iterable[int]) -> tuple[int, int]:
    """Return over how many known sites brokers are spread, and how many the fullest site has.

    A broker whose site is not known counts for the fullest one: it may be there.
    """
    sites = facts.sites_of(brokers)
    known = Counter(site for site in sites if site is not None)
    return len(known), max(known.values(), default=0) + sites.count(None)


def _brokers(facts: StretchFacts) -> Iterator[StretchFinding]:
    unsited = [str(each.broker) for each in facts.brokers.values() if each.site is None]
    if unsited:
        said = f"of broker {', '.join(unsited)} no site is known: set broker.rack, or add its rack to sites"
        yield StretchFinding("unknown", "brokers", said)
    if down := [str(each.broker) for each in facts.brokers.values() if not each.up]:
        yield StretchFinding("failed", "brokers", f"down: broker {', '.join(down)}; start them again")
    if len(facts.sites) < 3:
        are = counted(len(facts.sites), "site has", "sites have")
        said = f"{are} brokers or controllers: a majority of controllers survives any site only with three"
        yield StretchFinding("failed" if not unsited else "unknown", "brokers", said)


def _controllers(facts: StretchFacts) -> Iterator[StretchFinding]:
    if facts.voters is None:
        return
    number = len(facts.voters)
    if number < 3 or number % 2 == 0:
        said = f"{counted(number, 'controller votes', 'controllers vote')}: have an odd number, at least 3"
        yield StretchFinding("failed", "controllers", said)
    for site, has in sorted(Counter(each.site for each in facts.voters if each.site is not None).items()):
        if number - has < number // 2 + 1:
            said = f"{has} of {number} controllers are in {site}: without it no majority is left; move some"
            yield StretchFinding("failed", "controllers", said)
    if unsited := [str(each.node) for each in facts.voters if each.site is None and each.node not in facts.brokers]:
        said = f"of controller {', '.join(unsited)} no site is known: no metadata says it, add it to controllers"
        yield StretchFinding("unknown", "controllers", said)
    if late := [str(each.node) for each in facts.voters if not each.caught_up]:
        said = f"controller {', '.join(late)} does not keep up with the metadata log: look whether it runs"
        yield StretchFinding("failed", "controllers", said)


def _replicas(facts: StretchFacts) -> Iterator[StretchFinding]:
    def one_site(each: StretchPartition) -> bool:
        return spread(facts, each.replicas)[0] < 2

    def unknown_site(each: StretchPartition) -> bool:
        return None in facts.sites_of(each.replicas)

    def in_sync_in_one(each: StretchPartition) -> bool:
        return not one_site(each) and spread(facts, each.in_sync)[0] < 2

    def met_by_one(each: StretchPartition) -> bool:
        return each.needed is not None and spread(facts, each.replicas)[1] >= each.needed

    rules: tuple[tuple[Callable[[StretchPartition], bool], str], ...] = (
        (one_site, "all replicas are in one site: move some (--plan prints how), or add replicas"),
        (in_sync_in_one, "all in-sync replicas are in one site: look why the others do not keep up"),
        (
            met_by_one,
            "min.insync.replicas can be met by one site, so what is acknowledged may be in that site alone: spread the "
            "replicas (--plan prints how), or raise min.insync.replicas",
        ),
    )
    for holds, said in rules:
        yield from _counted(
            "failed", [each for each in facts.partitions if holds(each) and not unknown_site(each)], said
        )
    unclean = [each for each in facts.partitions if each.unclean]
    yield from _counted("failed", unclean, "unclean.leader.election.enable is true: acknowledged records may be lost")
    leaderless = [each for each in facts.partitions if each.leader is None]
    yield from _counted("failed", leaderless, "there is no leader now")
    unsited = [each for each in facts.partitions if unknown_site(each)]
    yield from _counted("unknown", unsited, "the site of a replica is not known")


def _counted(level: FindingLevel, found: list[StretchPartition], said: str) -> Iterator[StretchFinding]:
    if found:
        names = tuple(each.partition for each in found)
        shown = ", ".join(map(str, names[:_SHOWN])) + (" …" if len(names) > _SHOWN else "")
        yield StretchFinding(level, "replicas", f"{counted(len(names), 'partition')} ({shown}): {said}", names)


def _clients(facts: StretchFacts) -> Iterator[StretchFinding]:
    if facts.acks is None:
        said = "no cluster shows what clients wait for: look at their settings, and declare acks: all or not_all"
        yield StretchFinding("unknown", "clients", said)
    elif facts.acks != "all":
        said = (
            "clients do not all write with acks=all: a record that was acknowledged to them may be lost with one broker"
        )
        yield StretchFinding("failed", "clients", said)
    if facts.follower_fetching is False:
        said = (
            "consumers read from leaders in other sites, too: to keep reads in a site set replica.selector.class on "
            "the brokers to RackAwareReplicaSelector, and client.rack on consumers (KIP-392)"
        )
        yield StretchFinding("warning", "clients", said)


def _loss(loss: SiteLoss) -> Iterator[StretchFinding]:
    failed = [part for part in (*_stopped(loss), *_refused(loss), *_lost(loss)) if part]
    if failed:
        weight = int(loss.quorum == "stops"), len(loss.of("stops")), len(loss.of("refuses"))
        yield StretchFinding("failed", "loss", f"if {loss.site} is lost: {', '.join(failed)}", weight=weight)
    unknown = len(loss.of("unknown"))
    parts = [f"whether {counted(unknown, 'partition continues', 'partitions continue')}"] if unknown else []
    parts += ["whether the quorum lives"] if loss.quorum == "unknown" else []
    if parts:
        yield StretchFinding("unknown", "loss", f"if {loss.site} is lost, it is not known {' and '.join(parts)}")


def _stopped(loss: SiteLoss) -> Iterator[str]:
    if loss.quorum == "stops":
        yield "the quorum stops"
    if stopped := len(loss.of("stops")):
        yield counted(stopped, "partition stops", "partitions stop")


def _refused(loss: SiteLoss) -> Iterator[str]:
    refused = loss.of("refuses")
    if refused:
        short = sum(each.until == "caught_up" for each in refused)
        until = f"{short} of them until replicas that are left catch up" if short else "until it is back"
        yield f"{counted(len(refused), 'partition refuses', 'partitions refuse')} writes with acks=all ({until})"


def _lost(loss: SiteLoss) -> Iterator[str]:
    if unclean := sum(each.loses for each in loss.fates):
        yield f"{counted(unclean, 'partition loses', 'partitions lose')} acknowledged records"
