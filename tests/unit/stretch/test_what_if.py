"""What the loss of a site would do: by the rules of Kafka's controller, and never better than what is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.stretch.facts import SitedVoter, StretchFacts, StretchPartition
from kafka_dr.stretch.what_if import PartitionFate, if_lost
from support.stretch_facts import SIX, facts, partition


def fate(each: StretchPartition, site: str = "c", **more: Any) -> PartitionFate:
    return if_lost(facts(each, **more), site).fates[0]


def said(found: PartitionFate) -> tuple[str, str, int | None]:
    return found.outcome, found.until, found.leader


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        (partition(3, 1, 2), ("continues", "", 1)),
        (partition(1, 3, 2), ("continues", "", 1)),
        # Not the next of the list, but the next that is in sync.
        (partition(3, 1, 2, 5, in_sync=(3, 2, 5)), ("continues", "", 2)),
        # The leader stays where it is, whatever is preferred.
        (partition(1, 2, 3, leader=2), ("continues", "", 2)),
        (partition(3, 1), ("refuses", "site_back", 1)),
        (partition(3, 6, 1), ("refuses", "site_back", 1)),
        (partition(3, 1, 2, in_sync=(3, 1)), ("refuses", "caught_up", 1)),
        (partition(3, 6), ("stops", "site_back", None)),
        (partition(3, 1, 2, in_sync=(3,)), ("stops", "site_back", None)),
        (partition(3, min_in_sync=2), ("stops", "site_back", None)),
        # Of one replica, min.insync.replicas of 2 is 1.
        (partition(1, min_in_sync=2), ("continues", "", 1)),
        (partition(3, 1, min_in_sync=1), ("continues", "", 1)),
    ],
)
def test_the_loss_of_a_site_by_placement(each: StretchPartition, expected: tuple[str, str, int | None]) -> None:
    assert said(fate(each)) == expected


def test_it_is_said_whether_a_replica_is_left_that_is_not_in_sync() -> None:
    assert fate(partition(3, 6)).reason == "none left in sync: no replica is left"
    assert "broker 1 has a replica that is not in sync" in fate(partition(3, 1, 2, in_sync=(3,))).reason


def test_an_eligible_leader_replica_leads_although_it_is_not_in_sync() -> None:
    found = fate(partition(3, 1, 2, in_sync=(3,), eligible=(2,)))
    assert (said(found), found.loses) == (("refuses", "caught_up", 2), False)


def test_an_unclean_election_is_no_good_news() -> None:
    lost = if_lost(facts(partition(3, 1, in_sync=(3,), unclean=True, min_in_sync=1)), "c")
    assert (said(lost.fates[0]), lost.fates[0].loses, lost.harmless) == (("continues", "", 1), True, False)


def test_a_broker_that_is_down_is_lost_with_any_site() -> None:
    assert said(fate(partition(3, 1, 2), down=(1,))) == ("refuses", "site_back", 2)


def test_without_a_quorum_no_leader_moves_and_no_lost_replica_leaves_the_in_sync_ones() -> None:
    two_in_c = {1: "a", 3: "c", 6: "c"}
    lost = if_lost(facts(partition(3, 1, 2), partition(1, 2, 3), partition(1, 2), voters=two_in_c), "c")
    assert lost.quorum == "stops"
    assert [said(each) for each in lost.fates] == [
        ("stops", "quorum_back", None),
        ("refuses", "quorum_back", 1),
        ("continues", "", 1),
    ]


@pytest.mark.parametrize(
    ("voters", "late", "expected"),
    [
        ({1: "a", 2: "b", 3: "c"}, (), "lives"),
        ({1: "a", 2: "b", 3: "c"}, (1,), "unknown"),
        ({1: "a", 2: None, 3: "c"}, (), "unknown"),
        ({1: "a", 3: "c", 6: "c"}, (), "stops"),
        ({1: "a", 2: "b", 3: "c", 4: "a", 6: "c"}, (1,), "unknown"),
        ({1: "a", 2: "b", 5: "b", 4: "a", 6: "c"}, (1,), "lives"),
        ({}, (), "unknown"),
    ],
)
def test_the_quorum_lives_if_a_majority_is_left_that_keeps_up(
    voters: dict[int, str | None], late: tuple[int, ...], expected: str
) -> None:
    seen = facts(voters=voters)
    known = tuple(SitedVoter(each.node, each.site, each.node not in late) for each in seen.voters or ())
    assert if_lost(replace(seen, voters=known), "c").quorum == expected


def test_a_replica_whose_site_is_not_known_makes_unknown_only_what_depends_on_it() -> None:
    brokers = {**SIX, 3: None}
    depends = fate(partition(3, 1), brokers=brokers)
    assert (depends.outcome, depends.leader) == ("unknown", None)
    assert "broker 3" in depends.reason
    assert said(fate(partition(1, 2, 3), brokers=brokers)) == ("continues", "", 1)


def test_without_min_in_sync_nothing_is_known_of_writes() -> None:
    assert fate(partition(3, 1, 2, min_in_sync=None)).outcome == "unknown"


def test_the_load_moves_with_the_leaders() -> None:
    lost = if_lost(facts(partition(3, 1, 2), partition(6, 1, 2), partition(1, 2, 3)), "c")
    load = {each.broker: (each.leaders_before, each.leaders_after, each.bytes_after) for each in lost.load}
    assert load == {1: (1, 3, 300), 2: (0, 0, 0), 4: (0, 0, 0), 5: (0, 0, 0)}
    assert lost.largest_load == 3
    unsized = if_lost(facts(partition(3, 1, 2, size=None)), "c")
    assert {each.bytes_after for each in unsized.load} == {None}


@st.composite
def clusters(draw: st.DrawFn) -> StretchFacts:
    """Draw any placement, with brokers that are down or in no known site, and a quorum that lives."""
    brokers = {each: draw(st.sampled_from(["a", "b", "c", None])) for each in range(1, 7)}
    down = draw(st.sets(st.integers(1, 6), max_size=2))

    def placed() -> StretchPartition:
        replicas = draw(st.permutations(range(1, 7)))[: draw(st.integers(1, 4))]
        in_sync = tuple(each for each in replicas if draw(st.booleans()) and each not in down)
        leader = draw(st.sampled_from([*in_sync, None])) if in_sync else None
        eligible = tuple(each for each in replicas if each not in in_sync and draw(st.booleans()))
        least = draw(st.integers(1, 3))
        return partition(*replicas, in_sync=in_sync, leader=leader, eligible=eligible, min_in_sync=least)

    return facts(*(placed() for _ in range(draw(st.integers(1, 4)))), brokers=brokers, down=down)


@given(clusters(), st.sampled_from(["a", "b", "c"]))
def test_nobody_leads_who_is_lost_or_might_lose_records(seen: StretchFacts, site: str) -> None:
    lost = if_lost(seen, site)
    for each, found in zip(seen.partitions, lost.fates, strict=True):
        if found.leader is not None:
            assert seen.is_up(found.leader)
            assert seen.site_of(found.leader) != site
            assert found.leader in (*each.in_sync, *each.eligible)
        if found.outcome == "continues":
            left = [b for b in each.in_sync if seen.is_up(b) and seen.site_of(b) not in (site, None)]
            eligible = [b for b in each.eligible if seen.is_up(b) and seen.site_of(b) not in (site, None)]
            assert len(left) >= (each.needed or 0) or (each.needed == 1 and eligible)
        if found.outcome == "stops":
            assert not any(seen.is_up(b) and seen.site_of(b) not in (site, None) for b in each.in_sync)


@given(clusters(), st.sampled_from(["a", "b", "c"]))
def test_what_is_learned_of_a_site_never_contradicts_what_was_said_before(seen: StretchFacts, site: str) -> None:
    """What is said with unknown sites holds wherever these brokers are."""
    before = if_lost(seen, site).fates
    for chosen in ("a", "b", "c"):
        known = {n: replace(each, site=each.site or chosen) for n, each in seen.brokers.items()}
        after = if_lost(replace(seen, brokers=known), site).fates
        for was, now in zip(before, after, strict=True):
            assert was.outcome in (now.outcome, "unknown")
            assert was.leader in (now.leader, None)
