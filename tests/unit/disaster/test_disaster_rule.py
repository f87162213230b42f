"""The rule of a disaster, for every combination of probes that see, do not see, or contradict a sign."""

from __future__ import annotations

from itertools import product

import pytest

from kafka_dr.disaster.disaster_rule import ClusterCondition, judge
from kafka_dr.outcomes import Outcome, Probe
from kafka_dr.topology.group_keys import DisasterSpec

OUTCOMES: tuple[Outcome, ...] = ("ok", "failed", "unknown")


def probes(metadata: Outcome = "ok", **others: Outcome) -> list[Probe]:
    found = [Probe("metadata", metadata, "seen")]
    return found + [Probe(name.replace("_at_", " "), outcome, f"{name} {outcome}") for name, outcome in others.items()]


@pytest.mark.parametrize(
    ("seen", "answer"),
    [
        (probes("failed", vantage_at_office="failed"), "down"),
        (probes("ok", partitions="failed", vantage_at_office="failed"), "down"),
        (probes("ok", brokers="failed", vantage_at_office="failed"), "down"),
        (probes("failed"), "unclear"),
        (probes("failed", vantage_at_office="unknown"), "unclear"),
        (probes("failed", vantage_at_office="ok"), "unclear"),
        (probes("failed", vantage_at_office="failed", vantage_at_home="ok"), "unclear"),
        (probes("ok"), "up"),
        (probes("ok", flow="failed", canary="failed", lag="failed"), "up"),
        (probes("ok", controller="failed", writes="failed"), "up"),
        (probes("unknown"), "unclear"),
        (probes("unknown", vantage_at_office="failed"), "unclear"),
    ],
)
def test_a_cluster_is_down_when_enough_vantages_see_a_sign(seen: list[Probe], answer: ClusterCondition) -> None:
    found = judge("east", seen, DisasterSpec())
    assert (found.answer, "east" in found.sentence) == (answer, True)


@pytest.mark.parametrize(("metadata", "partitions", "office"), list(product(OUTCOMES, repeat=3)))
def test_what_is_not_known_never_makes_a_cluster_down(metadata: Outcome, partitions: Outcome, office: Outcome) -> None:
    found = judge("east", probes(metadata, partitions=partitions, vantage_at_office=office), DisasterSpec())
    assert (found.answer == "down") == ("failed" in (metadata, partitions) and office == "failed")
    assert found.answer != "up" or metadata == "ok"


def test_the_topology_says_what_counts() -> None:
    spec = DisasterSpec(down_when=("writes_fail",), vantages_needed=1)
    assert judge("east", probes("ok", writes="failed"), spec).answer == "down"
    assert judge("east", probes("failed", writes="unknown"), spec).answer == "unclear"


def test_lag_alone_is_a_reason_for_the_planned_failover_where_it_is_over_its_threshold() -> None:
    late = Probe("lag", "failed", "10 records wait", facts={"over_threshold": True})
    sentence = judge("east", [*probes("ok"), late], DisasterSpec()).sentence
    assert (
        "10 records wait. That alone is not a disaster: see dr_flows, and use dr_planned_failover as soon as"
        in sentence
    )
    assert "not a disaster" not in judge("east", probes("ok", lag="failed"), DisasterSpec()).sentence


@pytest.mark.parametrize("outcome", ["failed", "unknown"])
@pytest.mark.parametrize("needed", ["register", "partitions"])
def test_the_planned_failover_is_named_only_if_it_can_work(needed: str, outcome: Outcome) -> None:
    good: dict[str, Outcome] = {needed: "ok"}
    spec = DisasterSpec(down_when=("unreachable",))
    late = Probe("lag", "failed", "10 records wait", facts={"over_threshold": True})
    found = judge("east", [*probes("ok", **{needed: outcome}), late], spec)
    assert found.answer == "up", "applications can work"
    assert "dr_planned_failover" not in found.sentence
    assert f"{needed} {outcome}. That alone is not a disaster, but no planned failover is possible" in found.sentence
    assert "override with a reason" in found.sentence
    assert "dr_planned_failover" in judge("east", probes("ok", **good), spec).sentence
