"""A request to the controller is answered when a broker says who that is, although it knew none when it was asked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_dr.clusters import KafkaCluster
from lab import brokers
from support.two_brokers import TwoBrokers

pytestmark = pytest.mark.kafka

#: The controller counts the broker for one second after each of its heartbeats.
_COUNTED_SECONDS, _HEARTBEAT_SECONDS = 1, 4
_PORTS_FROM = 800


@pytest.fixture
def often_fenced(tmp_path: Path, port_base: int) -> Iterator[TwoBrokers]:
    """A cluster whose only broker answers, but is fenced for three of four seconds and then knows no controller."""
    made = TwoBrokers.prepare(tmp_path, port_base=port_base + _PORTS_FROM)
    single = replace(made, context=replace(made.context, settings=replace(made.context.settings, brokers=1)))
    usual = brokers.server_properties
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            brokers,
            "server_properties",
            lambda *about, **where: (
                f"{usual(*about, **where)}\nbroker.session.timeout.ms={_COUNTED_SECONDS * 1000}\n"
                f"broker.heartbeat.interval.ms={_HEARTBEAT_SECONDS * 1000}\n"
            ),
        )
        try:
            single.start()
            yield single
        finally:
            single.stop()


def _wait_until_fenced(cluster: KafkaCluster) -> None:
    deadline, is_fenced = time.monotonic() + 60, False
    while not is_fenced:
        assert time.monotonic() < deadline
        time.sleep(0.1)
        is_fenced = not cluster.topics.identity().brokers


def test_a_request_waits_for_the_controller_and_not_for_its_deadline(often_fenced: TwoBrokers) -> None:
    with often_fenced.cluster("admin") as known:
        for _ in range(2):
            _wait_until_fenced(known)
            with often_fenced.cluster("admin") as fresh:
                assert fresh.acls.list()
                assert fresh.topics.create(
                    f"orders.t{time.monotonic_ns()}", partitions=1, replication_factor=1, config={}
                )
