"""Connectors of MirrorMaker 2, on a server that answers as Connect does; on a real one: test_existing_contract.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.replication.existing.mirrormaker_connect import MirrorMakerOnConnect
from kafka_dr.replication.existing.port import ExistingStatus, PartStatus
from kafka_dr.replication.settings import CONNECTOR_CLASS, IDENTITY
from support.connect_api import ConnectApi, reached_connect

P, CANARY = TopicPartition("orders.payments", 0), TopicPartition("orders.dr-canary", 0)


def copying(topics: str) -> dict[str, str]:
    return {
        "connector.class": CONNECTOR_CLASS,
        "topics": topics,
        "replication.policy.class": IDENTITY,
        "source.cluster.alias": "east",
    }


@contextmanager
def reached(api: ConnectApi) -> Iterator[MirrorMakerOnConnect]:
    names = tuple(api.configs)
    with reached_connect(api) as connect:
        yield MirrorMakerOnConnect(
            connect, names, owns=lambda t: t.startswith("orders."), worker_group=None, clock=SystemClock()
        )


def test_partitions_that_nobody_copies_are_left_out_and_the_rest_gets_its_positions() -> None:
    api = ConnectApi({"old": copying("orders.payments,orders.refunds")})
    positions = {TopicPartition("orders.payments", number): 20 + number for number in range(8)}
    with reached(api) as existing:
        assert existing.uncopied([P, CANARY]) == (CANARY,)
        existing.stop(5)
        assert existing.seed({**positions, CANARY: 5}) == (CANARY,)
        assert existing.positions() == positions
    assert api.asked("GET", "/offsets") <= 3, "once before, once to read them back, and once for this test"


def test_each_connector_gets_the_positions_of_what_it_copies_or_has_copied() -> None:
    refunds, former = TopicPartition("orders.refunds", 0), TopicPartition("orders.former", 0)
    api = ConnectApi({"a": copying("orders.payments"), "b": copying(r"orders\.re.*")})
    api.offsets["b"][former.topic, 0] = 3
    with reached(api) as existing:
        existing.stop(5)
        # What it has a position of and does not match any more is not copied, but never again from the old position.
        assert existing.seed({P: 11, refunds: 7, former: 9}) == (former,)
    assert api.offsets == {"a": {(P.topic, 0): 10}, "b": {(refunds.topic, 0): 6, (former.topic, 0): 8}}


def test_patterns_that_cannot_be_read_here_leave_nothing_out() -> None:
    api = ConnectApi({"a": copying("orders.(")})
    with reached(api) as existing:
        existing.stop(5)
        assert existing.seed({P: 11}) == ()
    assert api.offsets == {"a": {(P.topic, 0): 10}}


def test_one_that_has_failed_since_runs_again_and_one_that_is_gone_stays_so() -> None:
    api = ConnectApi({"a": copying("orders.payments"), "b": copying("orders.refunds")})
    with reached(api) as existing:
        was = existing.status()
        api.failed.add("a")
        del api.configs["b"]
        assert str(existing.resume(was, 5)) == "a is running, b is absent"
        failed = ExistingStatus((PartStatus("a", "failed"), PartStatus("b", "running")))
        api.failed.add("a")
        assert existing.resume(failed, 5).state_of("a") == "failed", "that is what was there"
        assert "a is failed: task 0: 18 MB (Failed to send)" in str(existing.status())


def test_one_that_runs_takes_no_positions() -> None:
    with reached(ConnectApi({"a": copying("orders.payments")})) as existing, pytest.raises(Refused, match="stop it"):
        existing.seed({P: 11})
