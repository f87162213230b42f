"""A real broker hangs, and the worker of the check is slow as well: the broker is named first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_dr.health.health_check import check_health
from kafka_dr.health.own_speed import OwnSpeed
from support.register_faults import WithoutLeader
from support.switched_group import SwitchedGroup
from support.waiting import settled

pytestmark = pytest.mark.kafka


class HungBroker(WithoutLeader):
    """The register is led by the other broker, so the cluster answers, and only some of its partitions do not."""

    def begin(self) -> None:
        """Let a broker hang, its connections open."""
        self._held_by(1)
        self._held_by(1, 2)
        self.protection.lab.pause(f"{self.cluster}-broker-2")

    def end(self) -> None:
        """Let it run again."""
        self.protection.lab.resume(f"{self.cluster}-broker-2")
        with self.protection.cluster(self.cluster, "admin") as admin:
            settled(admin, (1, 2))


@contextmanager
def a_slow_worker() -> Iterator[OwnSpeed]:
    with OwnSpeed(lambda: (0.01, 1.0)) as speed:
        yield speed


@pytest.mark.parametrize("kind", [HungBroker])
@pytest.mark.usefixtures("kind")
def test_health_names_the_broker_and_not_the_worker_alone(group: SwitchedGroup) -> None:
    protection = group.protection
    with HungBroker(protection, "east").present(), protection.clients() as clients, a_slow_worker() as speed:
        watched = check_health(protection.name, clients, speed=speed)
    assert watched.outcome == "unknown", watched
    assert watched.sentences[0].startswith(
        "broker 2 of east gave no answer in time, and others did: check broker 2 of east. It may be this worker, too: "
    ), watched.sentences
