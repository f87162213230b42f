"""ACLs and leaders are per broker: what one broker refuses proves nothing about the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    PatternType,
    ResourceType,
    TopicPartition,
    WriteAnswer,
)
from kafka_dr.errors import TryAgain
from kafka_dr.fencing import proof
from lab.rights import OPERATOR, PROBE
from support.two_brokers import TwoBrokers
from support.waiting import eventually, known_to_all

pytestmark = pytest.mark.kafka
CLOCK = SystemClock()
T = TypeVar("T")
DENY = Acl(ResourceType.TOPIC, "orders.two", PatternType.LITERAL, "User:probe", AclOperation.WRITE, AclPermission.DENY)
FREEZE = Acl(ResourceType.GROUP, "orders-", PatternType.PREFIXED, "User:probe", AclOperation.READ, AclPermission.DENY)


def patiently(ask: Callable[[], T], *, seconds: float = 20) -> T:
    """Ask until a broker that hung is part of its cluster again."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except TryAgain:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def asked(two_brokers: TwoBrokers, partitions: Iterable[TopicPartition]) -> tuple[WriteAnswer, ...]:
    """Ask again until the broker that the client picks to learn the leaders from is not the hanging one."""
    for _ in range(10):
        with two_brokers.cluster(PROBE, request_seconds=2.0) as probe, suppress(TryAgain):
            return probe.write_permission.ask(partitions)
    raise AssertionError("the client asked the hanging broker every time")


def _is_silent(two_brokers: TwoBrokers) -> bool:
    """Return whether the ACLs of all brokers cannot be read."""
    with two_brokers.cluster(OPERATOR, request_seconds=2.0) as operator:
        try:
            operator.acls_of_brokers.list()
        except TryAgain:
            return True
    return False


def test_a_fence_is_proven_on_every_leader_and_unknown_while_one_of_them_hangs(two_brokers: TwoBrokers) -> None:
    with (
        two_brokers.cluster("admin") as admin,
        two_brokers.cluster(OPERATOR) as operator,
        two_brokers.cluster(PROBE, request_seconds=2.0) as probe,
    ):
        admin.topics.create("orders.two", partitions=4, replication_factor=1, config={})
        known_to_all(admin, "orders.two")
        topic = operator.topics.describe(["orders.two"])["orders.two"]
        assert set(topic.leaders) == {1, 2}
        partitions = topic.partitions

        assert proof.writes_allowed(probe, partitions, clock=CLOCK, deadline_seconds=5).outcome == "ok"
        before = proof.writes_refused(probe, partitions, clock=CLOCK, deadline_seconds=0.2)
        assert (before.outcome, before.facts["asked"]) == ("failed", 4)
        assert (
            proof.acls_present(operator.name, [DENY], operator.acls.list, clock=CLOCK, deadline_seconds=0.2).outcome
            == "failed"
        )

        operator.acls.add([DENY])
        by_broker = patiently(operator.acls_of_brokers.list)
        assert set(by_broker) == {1, 2}
        eventually(lambda: set(operator.acls_of_brokers.list().values()) == {admin.acls.list() | {DENY}})
        assert operator.acls_of_brokers.list(only_denies=True) == {1: {DENY}, 2: {DENY}}
        assert proof.acls_present(operator.name, [DENY], operator.acls.list, clock=CLOCK).outcome == "ok"
        fenced = proof.writes_refused(probe, partitions, clock=CLOCK, deadline_seconds=5)
        assert (fenced.outcome, fenced.detail) == ("ok", "4 partition leaders on east: every write refused")
        led = operator.topics.led(lambda name: name == "orders.two")
        assert led == dict(zip(partitions, topic.leaders, strict=True))
        assert {answer.verdict for answer in probe.write_permission.ask(partitions, led=led)} == {"refused"}
        others = {partition: 3 - leader for partition, leader in led.items()}
        answers = probe.write_permission.ask(partitions, led=others)
        assert {answer.verdict for answer in answers} == {"unknown"}, "who does not lead was believed"
        # Who led a moment ago is asked first, then who leads now.
        assert proof.writes_refused(probe, partitions, clock=CLOCK, deadline_seconds=5, led=others).outcome == "ok"

        two_brokers.pause(2)
        try:
            # Before the controller counts the broker as dead.
            silent = _is_silent(two_brokers)
            doubtful = proof.writes_refused(probe, partitions, clock=CLOCK, deadline_seconds=0.5)
            answers = asked(two_brokers, partitions)
        finally:
            two_brokers.resume(2)
        assert doubtful.outcome == "unknown", doubtful
        assert silent, "a broker that hangs may decide by whatever it likes"
        verdicts = {(topic.leaders[answer.partition.partition], answer.verdict) for answer in answers}
        assert verdicts == {(1, "refused"), (2, "unknown")}, "one broker's refusal was taken for the other's"
        again = proof.writes_refused(probe, partitions, clock=CLOCK, deadline_seconds=20)
        assert again.outcome == "ok"
        assert set(patiently(lambda: operator.topics.high_watermarks(partitions)).values()) == {0}


def test_a_freeze_is_proven_by_the_coordinator_of_every_group(two_brokers: TwoBrokers) -> None:
    groups = [f"orders-{number}" for number in range(6)]
    with two_brokers.cluster(OPERATOR) as operator, two_brokers.cluster(PROBE) as probe:
        assert proof.reads_allowed(probe, groups, clock=CLOCK, deadline_seconds=30).outcome == "ok"
        open_ = proof.reads_refused(probe, groups, clock=CLOCK, deadline_seconds=0.2)
        assert (open_.outcome, open_.facts["groups"]) == ("failed", groups)
        operator.acls.add([FREEZE])
        frozen = proof.reads_refused(probe, groups, clock=CLOCK, deadline_seconds=5)
        assert (frozen.outcome, frozen.detail) == ("ok", "6 group coordinators on east: every READ refused")


def test_a_group_without_topics_is_not_proven_to_be_fenced(two_brokers: TwoBrokers) -> None:
    with two_brokers.cluster(PROBE) as probe:
        assert proof.writes_refused(probe, (), clock=CLOCK, deadline_seconds=0).outcome == "unknown"
