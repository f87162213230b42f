"""Disasters at random: whatever happens when, each acknowledged record is there at the end, or in the list, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.protection import Protection

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]

#: In the suite: a partition that outlasts the run. With ``--long`` also a hang that is over in the middle of it.
SEEDS = [19, *(pytest.param(seed, marks=pytest.mark.long) for seed in (7, *range(100, 118)))]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_acknowledged_record_is_there_or_in_the_list_exactly_once(
    seed: int, protection: Protection, spark: SparkSession
) -> None:
    from support.random_disasters import DisasterPlan, RandomDisaster, judged, ready

    ready(protection)
    drama = RandomDisaster(protection, DisasterPlan.of(seed))
    state = drama.play()
    assert len(drama.ledger.acknowledged) > 20
    wrong = judged(drama, spark, phase=state.phase, active=state.active)
    assert wrong == [], "\n".join([f"seed {seed}: {drama.plan}", *wrong, *drama.story])
