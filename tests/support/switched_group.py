"""A protection group that a test switches back and forth, interrupts, and looks at from outside."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from unittest import mock

from kafka_dr.clusters import Acl, TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import worst
from kafka_dr.parallel import ask_all
from kafka_dr.register import Phase
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import checks_of, run_step
from kafka_dr.verbs.table import VERB_PARTS
from support import outside_view
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.waiting import settled

_RUNS = itertools.count(1)


class Killed(BaseException):
    """The process that ran a step is gone. No ``except Exception`` of the program may see it."""


@dataclass(slots=True)
class SwitchedGroup:
    """A group that is adopted and stable, on either cluster.

    :param foreign: DENYs that somebody else put on the clusters, by cluster: they have to be there for ever
    :param timeless: brokers stamp its records, so copies bear other times
    """

    protection: Protection
    foreign: dict[str, frozenset[Acl]] = field(default_factory=dict)
    timeless: bool = False

    @classmethod
    def adopt(cls, protection: Protection, *, records: int = 300) -> SwitchedGroup:
        """Create and adopt a group with records, a consumer group at the head and one far behind."""
        protection.create()
        protection.adopt()
        switching = cls(protection)
        if records:
            protection.produce("east", records)
            half = records // 2
            protection.commit("east", f"{protection.name}-head", switching.at(half, half))
            protection.commit("east", f"{protection.name}-slow", switching.at(17, 33))
            switching.wait_equal()
        return switching

    @property
    def name(self) -> str:
        """The group's name."""
        return self.protection.name

    @property
    def active(self) -> str:
        """The cluster that the newest record of both registers names."""
        return self.protection.active

    @property
    def standby(self) -> str:
        """The other one."""
        return other(self.active)

    @property
    def flow(self) -> Flow:
        """Replication from where the group is to where it is not."""
        return Flow(self.name, self.active, self.standby)

    def at(self, *offsets: int) -> dict[TopicPartition, int]:
        """Return offsets of the topic of payments, partition by partition."""
        return {TopicPartition(self.protection.topic, number): offset for number, offset in enumerate(offsets)}

    def request(self, **changes: object) -> RunRequest:
        """Return a request for a new run from where the group is to where it is not."""
        fields: dict[str, object] = {"source": None, "target": None, **changes}
        return self.protection.request(f"run-{next(_RUNS)}", **fields)

    def go(self, last: StepName, request: RunRequest | None = None) -> RunRequest:
        """Run a new run through a step, and return it."""
        request = request or self.request()
        with self.protection.clients() as clients:
            self.protection.run_until(request, last, clients)
        return request

    def interrupted_after_act(self, step: StepName, request: RunRequest | None = None) -> RunRequest:
        """Run a new run up to a step whose process dies when it has acted and proven nothing."""
        before = STEPS_AFTER_APPROVAL.index(step)
        request = self.go(STEPS_AFTER_APPROVAL[before - 1] if before else StepName.PREFLIGHT, request)
        with self.protection.clients() as clients:
            act_only(step, request, clients)
        return request

    def killed(self, step: StepName, death: AbstractContextManager[None]) -> RunRequest:
        """Run a new run up to a step that does not live to see its end.

        :param death: where in that step its process dies, see :func:`dying`
        """
        before = STEPS_AFTER_APPROVAL.index(step)
        request = self.go(STEPS_AFTER_APPROVAL[before - 1] if before else StepName.PREFLIGHT)
        with self.protection.clients() as clients, death:
            try:
                run_step(step, request, clients)
            except Killed:
                return request
        raise AssertionError(f"{step} came through: it never reached the point where it was to die")

    def roll_back(self, request: RunRequest) -> StepRecord:
        """Roll a run back in a process of its own."""
        with self.protection.clients() as clients:
            return roll_back(request, clients)

    def produce(self, count: int = 20) -> None:
        """Write records where the group is active."""
        self.protection.produce(self.active, count)

    def committed(self, cluster: str, group: str) -> dict[TopicPartition, int]:
        """Return a group's offsets on a cluster."""
        with self.protection.cluster(cluster, "admin") as admin:
            return admin.groups.offsets([group])[group]

    def wait_equal(self, seconds: float = 30) -> None:
        """Wait until both clusters hold the same records in the same order, read by a plain client."""
        deadline = time.monotonic() + seconds
        while True:
            here, there = ask_all(self.contents, ("east", "west")).values()
            if here == there:
                return
            assert time.monotonic() < deadline, f"east and west differ after {seconds} s: {_differing(here, there)}"
            time.sleep(0.2)

    def contents(self, cluster: str) -> dict[TopicPartition, list[outside_view.Content]]:
        """Return what a plain client reads; without times where these are the brokers' own."""
        found = outside_view.contents(self.protection, cluster)
        return {p: [(0, *record[1:]) if self.timeless else record for record in log] for p, log in found.items()}

    def wait_answering(self, seconds: float = 60) -> None:
        """Wait until both clusters and their Connect workers work again after one of them hung."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                for cluster in ("east", "west"):
                    self.protection.state(cluster)
                    with self.protection.clients() as clients:
                        clients.replicator(Flow(self.name, other(cluster), cluster)).status()
                break
            except KafkaDrError:
                assert time.monotonic() < deadline, f"no answer within {seconds} s"
                time.sleep(0.5)
        # It answers at once, and its controller forgets a broker that hung for long only after that.
        ask_all(self._settled, ("east", "west"))

    def _settled(self, cluster: str) -> None:
        with self.protection.cluster(cluster, "admin") as admin:
            settled(admin, tuple(range(1, self.protection.lab.settings.brokers + 1)))

    def wait_for_register(self, cluster: str, seconds: float = 60) -> None:
        """Wait until a cluster that hung answers again; its Connect worker may still hang."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self.protection.state(cluster)
                return
            except KafkaDrError:
                assert time.monotonic() < deadline, f"no answer within {seconds} s"
                time.sleep(0.2)

    def is_at_rest(self) -> bool:
        """Whether both registers hold the same stable record."""
        east, west = (self.protection.state(cluster) for cluster in ("east", "west"))
        return east is not None and east == west and east.phase is Phase.STABLE

    def assert_at_rest(self, on: str) -> None:
        """The group is stable on one cluster: that takes writes and feeds the other, which refuses them."""
        away = other(on)
        states = {cluster: self.protection.state(cluster) for cluster in ("east", "west")}
        state = states[on]
        assert state is not None
        assert (state.phase, state.active, state.standby) == (Phase.STABLE, on, away)
        assert states[away] == state
        assert self.protection.takes_writes(on)
        assert self.protection.refuses_writes(away)
        principals = {acl.principal for acl in outside_view.denies(self.protection, on) - self.foreign_on(on)}
        assert principals == {"User:replicator"}, f"left behind on {on}: {principals}"
        assert "User:replicator" not in {acl.principal for acl in outside_view.denies(self.protection, away)}
        for cluster in ("east", "west"):
            assert self.foreign_on(cluster) <= outside_view.denies(self.protection, cluster)
        self.assert_flowing(on)

    def assert_flowing(self, on: str) -> None:
        """One direction runs and moves, the other does not run."""
        flows = outside_view.connectors(self.protection)
        assert "RUNNING" in flows[f"dr.{self.name}.{on}-to-{other(on)}"]
        assert flows.get(f"dr.{self.name}.{other(on)}-to-{on}", "STOPPED") == "STOPPED"
        self.protection.produce(on, 20)
        self.wait_equal()

    def foreign_on(self, cluster: str) -> frozenset[Acl]:
        """Return the DENYs that somebody else put on a cluster."""
        return self.foreign.get(cluster, frozenset())


def other(cluster: str) -> str:
    """Return the cluster that is not this one."""
    return "west" if cluster == "east" else "east"


def act_only(step: StepName, request: RunRequest, clients: Clients) -> None:
    """Let a step check and act, and nothing after that: as if its process had died there."""
    run, acting = Run(request, clients), VERB_PARTS[request.verb].steps[step]
    run.checks = checks_of(acting, run)
    assert worst(run.checks) == "ok", run.checks
    acting.act(run)


def failed(step: StepName, request: RunRequest, clients: Clients) -> StepRecord:
    """Run a step that must not come through, and return what it left in the evidence."""
    try:
        record = run_step(step, request, clients)
    except StepFailed as failure:
        return failure.record
    raise AssertionError(f"{step} went through: {record.summary()}")


@contextmanager
def dying(at: object, method: str, *, when: str = "after", nth: int = 1, in_threads: bool = True) -> Iterator[None]:
    """Let the process die before or after the n-th call of a method.

    :param at: the class whose method it is
    :param in_threads: whether calls count that the step makes in other threads
    """
    real, calls, here = getattr(at, method), itertools.count(1), threading.current_thread()

    def deadly(*arguments: object, **named: object) -> object:
        last = (in_threads or threading.current_thread() is here) and next(calls) == nth
        if last and when == "before":
            raise Killed(method)
        answer = real(*arguments, **named)
        if last:
            raise Killed(method)
        return answer

    with mock.patch.object(at, method, deadly):
        yield


def _differing(
    here: Mapping[TopicPartition, Sequence[object]], there: Mapping[TopicPartition, Sequence[object]]
) -> dict[str, tuple[int, int, object]]:
    """Return how much each cluster holds of each partition that differs, and the first records that do."""
    found: dict[str, tuple[int, int, object]] = {}
    for p in sorted(here.keys() | there.keys()):
        one, other = here.get(p), there.get(p)
        if one != other:
            first = next((pair for pair in zip(one or (), other or (), strict=False) if pair[0] != pair[1]), None)
            found[str(p)] = (-1 if one is None else len(one), -1 if other is None else len(other), first)
    return found
