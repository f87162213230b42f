"""Stretch clusters as tests draw them: brokers, replicas and controllers in a few signs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kafka_dr.positions import TopicPartition
from kafka_dr.stretch.facts import SitedBroker, SitedVoter, StretchFacts, StretchPartition

#: Two brokers in each of three sites.
SIX: Mapping[int, str | None] = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}


def partition(
    *replicas: int, number: int = 0, in_sync: tuple[int, ...] | None = None, leader: int | None = -1, **more: Any
) -> StretchPartition:
    """Return a partition; all replicas are in sync and the first leads, unless it is said otherwise."""
    known = {"min_in_sync": 2, "unclean": False, "size": 100, **more}
    synced = replicas if in_sync is None else in_sync
    led_by = replicas[0] if leader == -1 else leader
    return StretchPartition(TopicPartition("t", number), led_by, replicas, synced, **known)


def facts(
    *partitions: StretchPartition,
    brokers: Mapping[int, str | None] = SIX,
    down: Collection[int] = (),
    voters: Mapping[int, str | None] | None = None,
    **more: Any,
) -> StretchFacts:
    """Return a cluster; one controller is in each site, unless it is said otherwise."""
    sited = {each: SitedBroker(each, site, each not in down) for each, site in brokers.items()}
    voting = {1: "a", 2: "b", 3: "c"} if voters is None else voters
    made = StretchFacts(
        "metro",
        "id",
        datetime(2026, 11, 29, tzinfo=UTC),
        sited,
        tuple(replace(each, partition=TopicPartition("t", number)) for number, each in enumerate(partitions)),
        tuple(SitedVoter(node, site, True) for node, site in voting.items()),
        True,
        "all",
    )
    return replace(made, **more)
