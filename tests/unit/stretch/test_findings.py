"""What is wrong with a placement: each rule by itself, and that unknown is never green."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_dr.stretch.facts import SitedVoter, StretchFacts
from kafka_dr.stretch.findings import findings_of
from kafka_dr.stretch.result import StretchLook
from kafka_dr.stretch.what_if import if_lost
from support.stretch_facts import SIX, facts, partition

WELL = partition(1, 2, 3)


def looked(seen: StretchFacts) -> StretchLook:
    losses = tuple(if_lost(seen, site) for site in seen.sites)
    return StretchLook(seen, losses, tuple(findings_of(seen, losses)))


def test_a_cluster_that_survives_any_site_is_green() -> None:
    found = looked(facts(WELL))
    assert (found.verdict, found.findings) == ("ok", ())
    assert found.sentence.startswith("Any one site of metro may be lost")


@pytest.mark.parametrize(
    ("seen", "level", "about", "words"),
    [
        (facts(partition(1, 4, 2)), "failed", "replicas", "can be met by one site"),
        (facts(partition(1, 2, 3, min_in_sync=1)), "failed", "replicas", "can be met by one site"),
        (facts(partition(1, 4)), "failed", "replicas", "all replicas are in one site"),
        (facts(partition(1, 2, 3, in_sync=(1,))), "failed", "replicas", "all in-sync replicas are in one site"),
        (facts(partition(1, 2, 3, unclean=True)), "failed", "replicas", "unclean.leader.election.enable is true"),
        (facts(partition(1, 2, 3, leader=None, in_sync=())), "failed", "replicas", "there is no leader now"),
        (facts(WELL, brokers={**SIX, 3: None}), "unknown", "replicas", "the site of a replica is not known"),
        (facts(WELL, brokers={**SIX, 6: None}), "unknown", "brokers", "of broker 6 no site is known"),
        (facts(WELL, down=(5,)), "failed", "brokers", "down: broker 5"),
        (facts(WELL, voters={1: "a", 2: "b"}), "failed", "controllers", "2 controllers vote: have an odd number"),
        (facts(WELL, voters={1: "a", 2: "b", 3: "c", 4: "a"}), "failed", "controllers", "have an odd number"),
        (facts(WELL, voters={1: "a", 4: "a", 3: "c"}), "failed", "controllers", "2 of 3 controllers are in a"),
        (facts(WELL, voters={1: "a", 2: "b", 101: None}), "unknown", "controllers", "of controller 101 no site"),
        (facts(WELL, acks=None), "unknown", "clients", "declare acks"),
        (facts(WELL, acks="not_all"), "failed", "clients", "do not all write with acks=all"),
        (facts(WELL, follower_fetching=False), "warning", "clients", "replica.selector.class"),
        (facts(WELL, unknown=("the quorum: refused",)), "unknown", "reading", "the quorum: refused"),
        (facts(WELL, voters={}), "unknown", "loss", "whether the quorum lives"),
        (
            facts(partition(1, 2), brokers={1: "a", 2: "b"}, voters={1: "a", 2: "b", 101: "b"}),
            "failed",
            "brokers",
            "2 sites have brokers or controllers",
        ),
    ],
)
def test_each_fault_is_named(seen: StretchFacts, level: str, about: str, words: str) -> None:
    found = looked(seen)
    assert [each for each in found.findings if (each.level, each.about) == (level, about) and words in each.sentence]
    assert found.verdict in ("failed", level)


def test_of_replicas_in_no_known_site_nothing_bad_is_said_that_may_be_untrue() -> None:
    found = looked(facts(partition(1, 2, 3), partition(3, 6), brokers={**SIX, 3: None, 6: None}))
    assert "failed" not in {each.level for each in found.findings}


def test_a_controller_that_does_not_keep_up_is_named() -> None:
    late = tuple(SitedVoter(node, site, node != 2) for node, site in ((1, "a"), (2, "b"), (3, "c")))
    found = looked(replace(facts(WELL), voters=late))
    assert "controller 2 does not keep up" in " ".join(each.sentence for each in found.findings)
    assert [each.quorum for each in found.losses] == ["unknown", "lives", "unknown"]


def test_voters_that_cannot_be_read_are_unknown_and_no_finding_about_the_cluster() -> None:
    found = looked(replace(facts(WELL), voters=None, unknown=("the metadata quorum: not allowed",)))
    assert (found.verdict, [each.level for each in found.findings]) == ("unknown", ["unknown"] * 4)
    assert "the metadata quorum: not allowed" in [each.sentence for each in found.findings]


def test_the_answer_names_the_worst_loss_first() -> None:
    found = looked(facts(partition(1, 2), partition(3, 6), partition(3, 1)))
    assert found.sentence.startswith("If c is lost: 1 partition stops, 1 partition refuses writes with acks=all")


def test_the_report_says_of_each_partition_what_happens_to_it() -> None:
    report = looked(facts(WELL, partition(3, 6))).to_json()
    (row,) = report["affected"]
    assert (row["site"], row["partition"], row["outcome"]) == ("c", 1, "stops")
    assert [each["verdict"] for each in report["sites"]] == ["ok", "ok", "failed"]
    assert [each["partition"] for each in report["if_lost"]["c"]["partitions"]] == [1, 0]


def test_a_report_that_is_kept_each_hour_does_not_grow_with_what_is_well() -> None:
    small, large = (
        looked(facts(*[WELL] * count, *[partition(3, 6)] * 900)).to_json(whole=False) for count in (1, 9000)
    )
    assert (len(small["affected"]), [len(str(each["if_lost"])) < 3000 for each in (small, large)]) == (
        500,
        [True, True],
    )
    assert abs(len(str(small)) - len(str(large))) < 5_000
