"""A broker that hangs is named, unless nothing at all answers this worker."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.clusters import ClusterIdentity, ClusterUnreachable
from kafka_dr.health.hung_brokers import blame, hung_brokers


class HungCluster:
    """A cluster of two brokers.

    :param hangs: its brokers that do not answer; ``0`` for the cluster as a whole
    """

    def __init__(self, *hangs: int) -> None:
        self._hangs = hangs
        self.topics = SimpleNamespace(identity=self._identity)
        self.broker_settings = SimpleNamespace(read=self._read)

    def _identity(self) -> ClusterIdentity:
        if 0 in self._hangs:
            raise ClusterUnreachable("no answer before the deadline")
        return ClusterIdentity("an-id", (1, 2), 1)

    def _read(self, brokers: list[int], _: object) -> dict[int, dict[str, str]]:
        if brokers[0] in self._hangs:
            time.sleep(5)
        return {}


@pytest.mark.parametrize(
    ("east", "west", "hung"),
    [
        ((), (), ()),
        ((2,), (), ("broker 2 of east",)),
        ((0,), (), ("east",)),
        ((0,), (1,), ("east", "broker 1 of west")),
        ((0,), (0,), ()),
    ],
)
def test_what_hangs_is_named_while_something_answers(
    east: tuple[int, ...], west: tuple[int, ...], hung: tuple[str, ...]
) -> None:
    clusters = {"east": HungCluster(*east), "west": HungCluster(*west)}
    context: Any = SimpleNamespace(operator=clusters.__getitem__)
    assert hung_brokers(context, clusters, seconds=0.3) == hung


def test_a_slow_worker_is_blamed_after_what_hangs_and_alone_only_if_nothing_does() -> None:
    assert blame("this worker was slow", ()) == "this worker was slow"
    assert blame("this worker was slow", ("broker 2 of east",)) == (
        "broker 2 of east gave no answer in time, and others did: check broker 2 of east. It may be this worker, too: "
        "this worker was slow"
    )
