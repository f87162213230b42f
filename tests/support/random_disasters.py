"""A disaster that a seed chooses: what happens to the active cluster, when, and when it returns. Applications write on.

What applications were told is kept here, and compared with what plain clients read: no word of the steps counts.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from random import Random
from threading import Event, Lock, Thread
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as ClientPartition

from kafka_dr.clusters import ClientSettings
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover import (
    Answer,
    RunRequest,
    StepFailed,
    StepName,
    World,
    ask_approval,
    record_answer,
    roll_back,
    run_step,
)
from kafka_dr.failover.health import watch_health
from kafka_dr.failover.last_look import look
from kafka_dr.failover.request import UNPLANNED_FAILOVER
from kafka_dr.failover.run import Run
from kafka_dr.register import Phase, RegisterState
from lab import rights
from support.protection import Protection
from support.switching import Switching

LOST, KEPT = "east", "west"
BROKER = "east-broker-1"
_ASKED = (StepName.GATHER_EVIDENCE, StepName.APPROVAL, StepName.SECOND_APPROVAL)
STEPS = tuple(step for step in UNPLANNED_FAILOVER if step.name not in _ASKED)
_NOWHERE = "127.0.0.1:1"
_TRIES, _PAUSE_SECONDS = 3, 1.0
_SETTLED_SECONDS = 90.0
#: Offset and value of every record, by topic and partition.
Values = Mapping[tuple[str, int], list[tuple[int, bytes]]]
#: An acknowledgement is learned a moment after its record was taken.
_LEARNED_SECONDS = 1.0


class Strike(StrEnum):
    """What happens to the active cluster."""

    KILL = "kill"
    HANG = "hang"
    #: The program cannot reach it; applications and replication can.
    PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is going to happen.

    :param after: seconds of traffic before the strike
    :param returns: before which step of the run it is over; behind the last one when the run has ended
    """

    strike: Strike
    after: float
    returns: int

    @classmethod
    def of(cls, seed: int) -> Plan:
        """Return what a seed chooses."""
        random = Random(seed)  # noqa: S311 - chance, not a secret
        return cls(random.choice(list(Strike)), random.uniform(0.3, 2.5), random.randint(0, len(STEPS) + 2))

    def __str__(self) -> str:
        when = STEPS[self.returns].name if self.returns < len(STEPS) else "the end"
        return f"{self.strike} after {self.after:.1f} s, over before {when}"


@dataclass(slots=True)
class Ledger:
    """What applications were told: by value, which cluster acknowledged it when, and how often nobody knows."""

    acknowledged: dict[bytes, tuple[str, float]] = field(default_factory=dict)
    attempts: Counter[bytes] = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock)


class Writer(Thread):
    """An application that writes numbered values, each until it is acknowledged, wherever it is told to.

    :param place: the cluster to write to, asked before each batch
    :param settings: how to reach each cluster, in librdkafka's names
    """

    def __init__(
        self, name: str, ledger: Ledger, topic: str, *, place: Callable[[], str], settings: Mapping[str, Any]
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._ledger, self._topic, self._place, self._settings = ledger, topic, place, settings
        self._over = Event()
        self._next = 0

    def stop(self) -> None:
        """Write no more, and wait until the last batch is decided."""
        self._over.set()
        self.join(30)
        assert not self.is_alive(), f"{self.name} does not end"

    def run(self) -> None:
        """Write until told to stop."""
        left: list[bytes] = []
        producer, at = None, ""
        while not self._over.is_set():
            if producer is None or at != self._place():
                at = self._place()
                producer = Producer({**self._settings[at], "enable.idempotence": True, "message.timeout.ms": 2000})
            batch = left or [f"{self.name}-{self._next + n}".encode() for n in range(5)]
            self._next += 0 if left else len(batch)
            left = self._write(producer, at, batch)
            producer = None if left else producer
            self._over.wait(0.2 if left else 0.03)

    def _write(self, producer: Producer, at: str, batch: list[bytes]) -> list[bytes]:
        """Write a batch and return what was not acknowledged."""
        told: set[bytes] = set()

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                told.add(message.value())
                with self._ledger.lock:
                    self._ledger.acknowledged[message.value()] = (at, time.time())

        for value in batch:
            try:
                producer.produce(self._topic, value=value, key=value[-1:], on_delivery=delivered)
            except KafkaException:
                break
        producer.flush(4)
        left = [value for value in batch if value not in told]
        with self._ledger.lock:
            self._ledger.attempts.update(left)
        return left


@dataclass(slots=True)
class Drama:
    """A group with applications, and the disaster that befalls it."""

    protection: Protection
    plan: Plan
    ledger: Ledger = field(default_factory=Ledger)
    cut: set[str] = field(default_factory=set)
    over: bool = False
    story: list[str] = field(default_factory=list)

    def world(self) -> World:
        """Reach everything as it can be reached now."""
        return self.protection.world(_world_without(frozenset(self.cut)))

    def play(self) -> RegisterState:
        """Live through it, and return how the registers stand when it is over."""
        writers = self._applications()
        for writer in writers:
            writer.start()
        try:
            time.sleep(self.plan.after)
            self._strike()
            self._fail_over()
            self._end()
            state = self._settled()
            time.sleep(1.0)
        finally:
            self._end()
            for writer in writers:
                writer.stop()
        return state

    def _applications(self) -> list[Writer]:
        settings = {n: self.protection.lab.client_settings(n, rights.ORDERS_APP) for n in (LOST, KEPT)}
        route = Path(self.protection.group.route.path)

        def led() -> str:
            return str(json.loads(route.read_text())["active"])

        topic = self.protection.topic
        follows = Writer("follows", self.ledger, topic, place=led, settings=settings)
        forgotten = Writer("forgotten", self.ledger, topic, place=lambda: LOST, settings=settings)
        return [follows, forgotten]

    def _strike(self) -> None:
        with self.world() as world:
            run = Run(RunRequest(self.protection.name, "look"), world)
            look(run, active=LOST, standby=KEPT, epoch=1)
        match self.plan.strike:
            case Strike.KILL:
                self.protection.lab.kill(BROKER)
            case Strike.HANG:
                self.protection.lab.pause(BROKER)
            case Strike.PARTITION:
                self.cut.add(LOST)

    def _end(self) -> None:
        """Let the cluster return, if it has not."""
        if self.over:
            return
        self.over = True
        match self.plan.strike:
            case Strike.KILL:
                self.protection.lab.restart(BROKER)
            case Strike.HANG:
                self.protection.lab.resume(BROKER)
            case Strike.PARTITION:
                self.cut.clear()

    def _fail_over(self) -> None:
        request = self.protection.request("random", verb="unplanned_failover", override="a test has one vantage")
        if not self._approved(request):
            return
        for index, step in enumerate(STEPS):
            if index == self.plan.returns:
                self._end()
            if not self._through(step.name, request):
                if step.rolls_back:
                    self._rolled_back(request)
                return

    def _approved(self, request: RunRequest) -> bool:
        try:
            with self.world() as world:
                run_step(StepName.GATHER_EVIDENCE, request, world)
                question = ask_approval(request, world)
                record_answer(request, world, Answer(True, "alice", datetime.now(UTC), question.digest))
        except StepFailed as failure:
            self.story.append(str(failure))
            return False
        return True

    def _through(self, step: StepName, request: RunRequest) -> bool:
        """Run a step as often as its task would be."""
        for _ in range(_TRIES):
            try:
                with self.world() as world:
                    run_step(step, request, world)
                return True
            except StepFailed as failure:
                self.story.append(str(failure))
                if failure.record.outcome == "refused":
                    return False
                time.sleep(_PAUSE_SECONDS)
        return False

    def _rolled_back(self, request: RunRequest) -> None:
        for _ in range(_TRIES):
            try:
                with self.world() as world:
                    self.story.append(roll_back(request, world).detail)
                return
            except StepFailed as failure:
                self.story.append(str(failure))
                time.sleep(_PAUSE_SECONDS)

    def _settled(self) -> RegisterState:
        """Let health look until the group stands, as it does every minute, and return how."""
        deadline = time.monotonic() + _SETTLED_SECONDS
        while True:
            try:
                with self.world() as world:
                    self.story.append(watch_health(self.protection.name, world).summary)
                states = [self.protection.state(cluster) for cluster in (LOST, KEPT)]
            except KafkaDrError as error:
                self.story.append(str(error))
                states = []
            newest = max((state for state in states if state), key=lambda state: state.order, default=None)
            agreed = len(states) == 2 and states[0] == states[1]
            if newest is not None and agreed and newest.phase in (Phase.STABLE, Phase.DIVERGED):
                return newest
            assert time.monotonic() < deadline, "\n".join([str(self.plan), *self.story])
            time.sleep(1.0)


def ready(protection: Protection) -> Switching:
    """Adopt a group whose disasters need no vantages and no patience."""
    group = protection.group
    protection.changes["timing"] = group.timing.model_copy(update={"confirm_seconds": 0.2})
    protection.changes["disaster"] = group.disaster.model_copy(update={"probe_seconds": 2.0})
    return Switching.adopt(protection, records=100)


def values(protection: Protection, cluster: str) -> Values:
    """Read every committed record of the payments of a group: offset and value, by topic and partition."""
    consumer = Consumer(
        {
            **protection.lab.client_settings(cluster, "admin"),
            "group.id": f"truth-{protection.name}",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    try:
        wanted = {(protection.topic, number) for number in range(protection.partitions)}
        consumer.assign([ClientPartition(topic, number, 0) for topic, number in sorted(wanted)])
        found: dict[tuple[str, int], list[tuple[int, bytes]]] = {place: [] for place in wanted}
        deadline = time.monotonic() + 30
        while wanted:
            assert time.monotonic() < deadline, f"{cluster} did not show {wanted} to its end"
            for message in consumer.consume(5000, timeout=0.1):
                place = (message.topic(), message.partition())
                if message.error() is None:
                    found[place].append((message.offset(), message.value()))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    wanted.discard(place)
        return found
    finally:
        consumer.close()


def counted(found: Values) -> Counter[bytes]:
    """Count each value."""
    return Counter(value for log in found.values() for _, value in log)


def missing_or_superfluous(ledger: Ledger, there: Counter[bytes], aside: Collection[bytes]) -> list[str]:
    """Name every acknowledged value that is nowhere, and every one that is there or aside more often than written."""
    held = there + Counter(aside)
    wrong = []
    for value, (cluster, _) in ledger.acknowledged.items():
        times, most = held[value], 1 + ledger.attempts[value]
        if not 1 <= times <= most:
            wrong.append(f"{value!r}, acknowledged by {cluster}, is there or aside {times} times, at most {most}")
    return wrong


def taken_behind_the_fence(ledger: Ledger, state: RegisterState) -> list[str]:
    """Name what the side that was left acknowledged after it was said to be fenced."""
    fenced = state.at.timestamp() + _LEARNED_SECONDS
    late = [value for value, (cluster, at) in ledger.acknowledged.items() if cluster == LOST and at > fenced]
    return [f"{value!r} was acknowledged by {LOST} behind its fence" for value in late]


def late_groups(protection: Protection, before: Values, after: Values) -> list[str]:
    """Name every group whose place on the new side is past a record that was not before its place on the old one.

    :param before: what the old side holds
    :param after: what the new side holds
    """
    wrong = []
    placed = {cluster: _positions(protection, cluster) for cluster in (LOST, KEPT)}
    for (group, place), position in placed[KEPT].items():
        done = {value for offset, value in before[place] if offset < placed[LOST].get((group, place), 0)}
        skipped = [value for offset, value in after[place] if offset < position and value not in done]
        if skipped:
            wrong.append(f"{group} stands at {position} of {place} on {KEPT} and never saw {skipped[:3]}")
    return wrong


def out_of_order(found: Values, name: str) -> list[str]:
    """Name every value of a writer that stands first behind a later one of the same key."""
    wrong = []
    for place, log in found.items():
        first = list(dict.fromkeys(value for _, value in log if value.startswith(f"{name}-".encode())))
        numbers = [(int(value.rpartition(b"-")[2]), value[-1:]) for value in first]
        for key in {key for _, key in numbers}:
            own = [number for number, each in numbers if each == key]
            wrong += [
                f"{name}-{after} stands behind {before} in {place}" for before, after in pairwise(own) if after < before
            ]
    return wrong


def _positions(protection: Protection, cluster: str) -> dict[tuple[str, tuple[str, int]], int]:
    with protection.cluster(cluster, "admin") as admin:
        names = [name for name in admin.groups.names() if name.startswith(f"{protection.name}-")]
        return {
            (group, (p.topic, p.partition)): offset
            for group, offsets in admin.groups.offsets(names).items()
            for p, offset in offsets.items()
            if p.topic == protection.topic
        }


def _world_without(cut: frozenset[str]) -> type[World]:
    """Return a kind of world from which some clusters cannot be reached."""

    class Cut(World):
        def __init__(self, topology: Any, *, settings_of: Callable[[str], ClientSettings], **more: Any) -> None:
            def reached(connection: str) -> ClientSettings:
                found = settings_of(connection)
                return replace(found, bootstrap_servers=_NOWHERE) if connection.split("_")[1] in cut else found

            super().__init__(topology, settings_of=reached, **more)

    return Cut
