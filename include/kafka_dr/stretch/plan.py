"""Plans as Kafka's own tools read them. They are printed, and applied only if a person says so. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kafka_dr.positions import TopicPartition
from kafka_dr.stretch.facts import StretchFacts, StretchPartition


@dataclass(frozen=True, slots=True)
class StretchPlan:
    """What would correct the placement.

    :param reassign: the new replicas of partitions
    :param elect: partitions that are led by another broker than the preferred one
    :param not_fixed: by what the replicas that there are cannot correct, the partitions
    """

    reassign: dict[TopicPartition, tuple[int, ...]]
    elect: tuple[TopicPartition, ...]
    not_fixed: dict[str, tuple[TopicPartition, ...]]

    @property
    def reassignment(self) -> dict[str, Any]:
        """The file for ``kafka-reassign-partitions --reassignment-json-file``."""
        rows = [{"topic": p.topic, "partition": p.partition, "replicas": [*new]} for p, new in self.reassign.items()]
        return {"version": 1, "partitions": rows}

    @property
    def election(self) -> dict[str, Any]:
        """The file for ``kafka-leader-election --path-to-json-file``."""
        return {"partitions": [{"topic": p.topic, "partition": p.partition} for p in self.elect]}

    @property
    def moves_something(self) -> bool:
        """Whether there is anything to apply."""
        return bool(self.reassign or self.elect)

    @property
    def digest(self) -> str:
        """What a person approves who has read the plan: another plan has another one."""
        text = json.dumps([self.reassignment, self.election], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def plan_for(facts: StretchFacts) -> StretchPlan:
    """Plan as few moved replicas as possible, so that no site has as many as ``min.insync.replicas`` of a partition.

    A replica whose site is not known, or whose broker is down, stays where it is.
    """
    hosted = Counter(broker for each in facts.partitions for broker in each.replicas)
    reassign: dict[TopicPartition, tuple[int, ...]] = {}
    not_fixed: dict[str, list[TopicPartition]] = {}
    for each in facts.partitions:
        if each.needed is None or each.min_in_sync is None or each.moving:
            why = "it is being reassigned already" if each.moving else "its min.insync.replicas is not known"
            not_fixed.setdefault(why, []).append(each.partition)
            continue
        most = _most_in_a_site(each)
        new = _moved(facts, each.replicas, most, hosted)
        if new is not None and new != each.replicas:
            reassign[each.partition] = new
            hosted.subtract(each.replicas)
            hosted.update(new)
        for why in _not_fixed(each, new, most, len(facts.sites)):
            not_fixed.setdefault(why, []).append(each.partition)
    elect = tuple(
        each.partition
        for each in facts.partitions
        if each.partition not in reassign and each.replicas[:1] != (each.leader,) and each.replicas[0] in each.in_sync
    )
    return StretchPlan(reassign, elect, {why: tuple(names) for why, names in not_fixed.items()})


def _most_in_a_site(each: StretchPartition) -> int:
    """Return how many replicas one site may have: fewer than a write needs, and not all of them."""
    return max(1, min((each.min_in_sync or 1) - 1, len(each.replicas) - 1))


def _not_fixed(each: StretchPartition, new: tuple[int, ...] | None, most: int, sites: int) -> Iterable[str]:
    copies, needed = len(each.replicas), each.min_in_sync or 1
    if needed < 2:
        yield "min.insync.replicas is 1, which one site always meets: raise it to 2"
    elif copies < needed + most:
        yield (
            f"min.insync.replicas is {needed}, so it cannot take writes without one site: have {needed + most} "
            f"replicas, not {copies}"
        )
    if new is None:
        yield f"{copies} replicas with at most {most} in a site need more than {sites} sites"


def _moved(facts: StretchFacts, replicas: tuple[int, ...], most: int, hosted: Counter[int]) -> tuple[int, ...] | None:
    """Return the replicas with those moved that a site has too many of; ``None`` if there is no room for them."""
    in_site = Counter[str | None]()
    kept: list[int | None] = []
    for broker in replicas:
        site = facts.site_of(broker)
        stays = site is None or in_site[site] < most
        in_site[site] += stays
        kept.append(broker if stays else None)
    taken = set(replicas)
    for number, stayed in enumerate(kept):
        if stayed is None:
            free = [
                each
                for each in facts.brokers.values()
                if each.up and each.site is not None and each.broker not in taken and in_site[each.site] < most
            ]
            if not free:
                return None
            chosen = min(free, key=lambda each: (in_site[each.site], hosted[each.broker], each.broker))
            kept[number] = chosen.broker
            taken.add(chosen.broker)
            in_site[chosen.site] += 1
    return tuple(broker for broker in kept if broker is not None)
