"""A disaster that a seed chooses: what befalls the active cluster, when, and when it returns. Applications write on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Any

from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.clusters import ClientSettings
from kafka_dr.connections.port import Connections
from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets.last_look import look
from kafka_dr.health.health_check import check_health
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import UNPLANNED_FAILOVER, RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from lab import rights
from support import disaster_check as judge
from support.acknowledged_writes import Ledger, TransactionalApplication, WritingApplication
from support.disaster_check import KEPT, LOST
from support.protection import Protection
from support.route_file import route_file
from support.switched_group import SwitchedGroup
from support.vantage import vantage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BROKER = "east-broker-1"
_ASKED = (StepName.GATHER_EVIDENCE, StepName.APPROVAL, StepName.SECOND_APPROVAL)
STEPS = tuple(step for step in UNPLANNED_FAILOVER if step.name not in _ASKED)
_NOWHERE = "127.0.0.1:1"
_TRIES, _PAUSE_SECONDS = 3, 1.0
_SETTLED_SECONDS = 90.0


class Strike(StrEnum):
    """What happens to the active cluster."""

    KILL = "kill"
    HANG = "hang"
    #: The program cannot reach it; applications and replication can.
    PARTITION = "partition"
    #: Nobody outside of its datacenter can reach it, and nothing says so: it needs a lab with a proxy.
    SPLIT = "split"


_BY_CHANCE = (Strike.KILL, Strike.HANG, Strike.PARTITION)


@dataclass(frozen=True, slots=True)
class DisasterPlan:
    """What is going to happen.

    :param after: seconds of traffic before the strike
    :param returns: before which step of the run it is over; after the last one when the run has ended
    :param seen_elsewhere: whether a vantage sees the cluster down, too; else a person overrides the rule
    """

    strike: Strike
    after: float
    returns: int
    seen_elsewhere: bool

    @classmethod
    def of(cls, seed: int) -> DisasterPlan:
        """Return what a seed chooses."""
        random = Random(seed)  # noqa: S311 - chance, not a secret
        strike, after = random.choice(_BY_CHANCE), random.uniform(0.3, 2.5)
        return cls(strike, after, random.randint(0, len(STEPS) + 2), random.random() < 0.5)

    def __str__(self) -> str:
        when = STEPS[self.returns].name if self.returns < len(STEPS) else "the end"
        by = "seen elsewhere" if self.seen_elsewhere else "overridden"
        return f"{self.strike} after {self.after:.1f} s, over before {when}, {by}"


@dataclass(slots=True)
class RandomDisaster:
    """A group with applications, and the disaster that befalls it."""

    protection: Protection
    plan: DisasterPlan
    ledger: Ledger = field(default_factory=Ledger)
    cut: set[str] = field(default_factory=set)
    over: bool = False
    story: list[str] = field(default_factory=list)

    def clients(self) -> Clients:
        """Reach everything as it can be reached now."""
        return self.protection.clients(_clients_without(frozenset(self.cut)))

    def play(self) -> RegisterState:
        """Let it happen, and return the register record when it is over."""
        writers = self._applications()
        for writer in writers:
            writer.start()
        try:
            time.sleep(self.plan.after)
            self._strike()
            with self._seen() as override:
                self._fail_over(override)
            self._end()
            state = self._settled()
            time.sleep(1.0)
        finally:
            self._end()
            for writer in writers:
                writer.stop()
        return state

    @contextmanager
    def _seen(self) -> Iterator[str]:
        """Have somebody elsewhere see the cluster down, or a word why it is left without that."""
        if not self.plan.seen_elsewhere:
            yield "a test has one vantage"
            return
        with vantage() as office:
            spec = self.protection.group.disaster.model_copy(update={"vantages": {"office": office.address}})
            self.protection.changes["disaster"] = spec
            yield ""

    def _applications(self) -> Sequence[WritingApplication | TransactionalApplication]:
        settings = {n: self.protection.lab.client_settings(n, rights.ORDERS_APP) for n in (LOST, KEPT)}
        billing = {n: self.protection.lab.client_settings(n, rights.BILLING_APP) for n in (LOST, KEPT)}
        route = route_file(self.protection.group)

        def led() -> str:
            return str(json.loads(route.read_text())["active"])

        topic = self.protection.topic
        follows = WritingApplication("follows", self.ledger, topic, cluster_now=led, settings=settings)
        forgotten = WritingApplication("forgotten", self.ledger, topic, cluster_now=lambda: LOST, settings=settings)
        settles = TransactionalApplication("settles", self.ledger, topic, cluster_now=led, settings=billing)
        return [follows, forgotten, settles]

    def _strike(self) -> None:
        with self.clients() as clients:
            run = Run(RunRequest(self.protection.name, "look"), clients)
            look(run, active=LOST, standby=KEPT, epoch=1)
        match self.plan.strike:
            case Strike.KILL:
                self.protection.lab.kill(BROKER)
            case Strike.HANG:
                self.protection.lab.pause(BROKER)
            case Strike.PARTITION:
                self.cut.add(LOST)
            case Strike.SPLIT:
                self.protection.lab.cut(LOST)

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
            case Strike.SPLIT:
                self.protection.lab.heal(LOST)

    def _fail_over(self, override: str) -> None:
        request = self.protection.request("random", verb="unplanned_failover", override=override)
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
            with self.clients() as clients:
                run_step(StepName.GATHER_EVIDENCE, request, clients)
                question = ask_approval(request, clients)
                record_answer(request, clients, Answer(True, "alice", datetime.now(UTC), question.digest))
        except StepFailed as failure:
            self.story.append(str(failure))
            return False
        return True

    def _through(self, step: StepName, request: RunRequest) -> bool:
        """Run a step as often as its task would be."""
        for _ in range(_TRIES):
            try:
                with self.clients() as clients:
                    run_step(step, request, clients)
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
                with self.clients() as clients:
                    self.story.append(roll_back(request, clients).detail)
                return
            except StepFailed as failure:
                self.story.append(str(failure))
                time.sleep(_PAUSE_SECONDS)

    def _settled(self) -> RegisterState:
        """Let health look until the group is stable or diverged, as it does every minute, and return its record."""
        deadline = time.monotonic() + _SETTLED_SECONDS
        while True:
            try:
                with self.clients() as clients:
                    self.story.append(check_health(self.protection.name, clients).summary)
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


def ready(protection: Protection) -> SwitchedGroup:
    """Adopt a group whose disasters need no vantages and no patience."""
    group = protection.group
    protection.changes["timing"] = group.timing.model_copy(update={"confirm_seconds": 0.2})
    protection.changes["disaster"] = group.disaster.model_copy(update={"probe_seconds": 2.0})
    return SwitchedGroup.adopt(protection, records=100)


def judged(drama: RandomDisaster, spark: SparkSession, *, phase: Phase, active: str) -> list[str]:
    """Return everything that is not as it has to be."""
    from support.stranding import list_stranded

    protection, ledger = drama.protection, drama.ledger
    old, new = (judge.values(protection, cluster) for cluster in (LOST, KEPT))
    if active == LOST:
        wrong = judge.missing_or_superfluous(ledger, judge.counted(old), ())
        return wrong + ([] if protection.refuses_writes(KEPT) else [f"{KEPT} takes writes"])
    aside: list[bytes] = []
    wrong = []
    if phase is Phase.DIVERGED:
        listed = list_stranded(protection, spark, run="random")
        aside = [row["value"] for row in listed.records if row["topic"] == protection.topic]
        wrong += [] if listed.code in (0, 1) else [f"the list could not be made: {listed.code}"]
    state = protection.state(KEPT)
    assert state is not None
    wrong += judge.missing_or_superfluous(ledger, judge.counted(new), aside)
    wrong += judge.taken_behind_the_fence(ledger, state)
    wrong += judge.late_groups(protection, old, new)
    wrong += judge.out_of_order(new, "follows")
    return wrong + ([] if protection.refuses_writes(LOST) else [f"{LOST} takes writes"])


def _clients_without(cut: frozenset[str]) -> type[Clients]:
    """Return a kind of world from which some clusters cannot be reached."""

    class Cut(Clients):
        def __init__(self, topology: Any, *, connections: Connections, **more: Any) -> None:
            def kafka(connection: str) -> ClientSettings:
                found = connections.kafka(connection)
                return replace(found, bootstrap_servers=_NOWHERE) if connection.split("_")[1] in cut else found

            super().__init__(topology, connections=replace(connections, kafka=kafka), **more)

    return Cut
