"""The active cluster is split off: its own applications write on, nobody else can reach it, and nothing says so.

Connections are neither refused nor ended, and new ones hang: every wait has to end by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kafka_dr.health.own_speed import OwnSpeed
from kafka_dr.register import Phase
from kafka_dr.rounds import looks
from kafka_dr.rounds.look import LookTools, look_named
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.vantage_server import FRESH_SECONDS
from support.disaster_check import LOST
from support.random_disasters import STEPS, DisasterPlan, RandomDisaster, Strike, judged, ready

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lab.api import Lab
    from support.protection import Protection

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]

_TO_THE_END = len(STEPS) + 2
_WATCHES = (looks.HEALTH, looks.CANARY, looks.FLOWS, looks.OFFSET_SYNCS, looks.OFFSETS, looks.CONFIG_SYNC)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, own_port_base: int) -> Iterator[Lab]:
    """A lab of this file's own, with a proxy before each cluster."""
    from lab.api import Lab

    lab = Lab(tmp_path_factory.mktemp("split") / "home", port_base=own_port_base, mechanism="PLAIN", proxied=True)
    try:
        lab.up(airflow=False)
        yield lab
    finally:
        lab.down(delete=True)


class SplitOff(RandomDisaster):
    """A cluster that is split off until the run has ended and every watch has looked at the group."""

    def __init__(self, protection: Protection) -> None:
        plan = DisasterPlan(Strike.SPLIT, after=2.0, returns=_TO_THE_END, seen_elsewhere=False)
        super().__init__(protection, plan)
        self.looked: dict[str, WatchResult] = {}

    @contextmanager
    def _seen(self) -> Iterator[str]:
        """The lab's own vantage sees it down as soon as what it saw last is out of date, so nobody overrides."""
        time.sleep(2 * FRESH_SECONDS)
        yield ""

    def _end(self) -> None:
        if not self.over:
            assert self.wrote_on() > 0
            for name in _WATCHES:
                with self.clients() as clients:
                    tools = LookTools(clients, "watch", {}, OwnSpeed(), seconds=60.0)
                    self.looked[name] = look_named(name)(self.protection.name, tools)
        super()._end()

    def wrote_on(self) -> int:
        """Count what the cluster that is split off has acknowledged since the other one was opened."""
        opened = self.protection.state("west")
        assert opened is not None
        with self.ledger.lock:
            taken = [at for cluster, at in self.ledger.acknowledged.values() if cluster == LOST]
        return sum(at > opened.at.timestamp() for at in taken)


def test_what_its_applications_write_meanwhile_is_the_list_and_it_is_fenced_when_it_is_back(
    protection: Protection, spark: SparkSession
) -> None:
    ready(protection)
    drama = SplitOff(protection)
    state = drama.play()
    assert (state.phase, state.active) == (Phase.DIVERGED, "west"), drama.story
    # Each watch has ended while nothing was answered, and none of them said that all is well.
    assert drama.looked.keys() == {*_WATCHES}
    assert {each.outcome for each in drama.looked.values()} <= {"failed", "unknown", "left_alone"}
    assert "east, which is not active, does not answer" in drama.looked[looks.HEALTH].summary
    wrong = judged(drama, spark, phase=state.phase, active=state.active)
    assert wrong == [], "\n".join([*wrong, *drama.story])
