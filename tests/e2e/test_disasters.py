"""Disasters at random: whatever happens when, each acknowledged record is there at the end, or in the list, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_dr.register import Phase

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.protection import Protection
    from support.random_disasters import RandomDisaster

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]

#: In the suite: a partition that outlasts the run. With ``--long`` also a hang that is over in the middle of it.
SEEDS = [19, *(pytest.param(seed, marks=pytest.mark.long) for seed in (7, *range(100, 118)))]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_acknowledged_record_is_there_or_in_the_list_exactly_once(
    seed: int, protection: Protection, spark: SparkSession
) -> None:
    from support.random_disasters import DisasterPlan, RandomDisaster, ready

    ready(protection)
    drama = RandomDisaster(protection, DisasterPlan.of(seed))
    state = drama.play()
    assert len(drama.ledger.acknowledged) > 20
    wrong = judged(drama, spark, phase=state.phase, active=state.active)
    assert wrong == [], "\n".join([f"seed {seed}: {drama.plan}", *wrong, *drama.story])


def judged(drama: RandomDisaster, spark: SparkSession, *, phase: Phase, active: str) -> list[str]:
    """Return everything that is not as it has to be."""
    from support import disaster_check as judge
    from support.stranding import list_stranded

    protection, ledger = drama.protection, drama.ledger
    old, new = (judge.values(protection, cluster) for cluster in (judge.LOST, judge.KEPT))
    if active == judge.LOST:
        wrong = judge.missing_or_superfluous(ledger, judge.counted(old), ())
        return wrong + ([] if protection.refuses_writes(judge.KEPT) else [f"{judge.KEPT} takes writes"])
    aside: list[bytes] = []
    wrong = []
    if phase is Phase.DIVERGED:
        listed = list_stranded(protection, spark, run="random")
        aside = [row["value"] for row in listed.records if row["topic"] == protection.topic]
        wrong += [] if listed.code in (0, 1) else [f"the list could not be made: {listed.code}"]
    state = protection.state(judge.KEPT)
    assert state is not None
    wrong += judge.missing_or_superfluous(ledger, judge.counted(new), aside)
    wrong += judge.taken_behind_the_fence(ledger, state)
    wrong += judge.late_groups(protection, old, new)
    wrong += judge.out_of_order(new, "follows")
    return wrong + ([] if protection.refuses_writes(judge.LOST) else [f"{judge.LOST} takes writes"])
