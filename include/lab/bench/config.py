"""The config sync on many topics and ACLs: how long, how many requests, how much memory.

Everything goes the way that ``dr_config_sync`` goes: register, lock, guards, evidence, reading back. What is counted,
and delayed, is each request to a broker that is waited for, those of the register and of the lock among them.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from rich.console import Console

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    ClientSettings,
    KafkaCluster,
    PatternType,
    ResourceType,
)
from kafka_dr.clusters.configuration import NewTopic
from kafka_dr.config_sync.plan import Plan
from kafka_dr.connections.port import Connections
from kafka_dr.parallel import ask_all
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.topology.group_keys import ConfigSyncSpec
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from kafka_dr.watch.apply_config import apply_config
from kafka_dr.watch.config_plan import KeptPlan, plan_config, watch_config
from lab import credentials, rights
from lab.api import Lab
from lab.clusters import EAST, WEST
from lab.errors import LabError

_GROUP = "bench"
_CLUSTERS = (EAST, WEST)
_APPLICATION = "User:bench-app"
_PARTITIONS = 3
_ROUND_TRIP_SECONDS = 0.05
#: Of the few topics that an apply of many is held against.
_FEW = 3
_LIMITS = {
    "plan_seconds": 10.0,
    "apply_seconds": 30.0,
    "peak_mb": 300.0,
    "round_trips_more_than_small": 0,
    # On a busy machine a guard's answer may be too old, and it is asked again: some requests, whatever the topics.
    "apply_round_trips_more_than_small": 12,
}


#: Who looks at the topics: once in each plan.
_LOOKING = ("operator", "audit")
_EACH_LOOK = "look at the topics"


def configure(benches: Any, *, options: Sequence[argparse.ArgumentParser]) -> None:
    """Add this benchmark to the others.

    :param options: the options that say where the lab is
    """
    parser = benches.add_parser("config", parents=list(options), help="the config sync on many topics and ACLs")
    parser.add_argument("--topics", type=int, default=2_000, metavar="N", help="of 3 partitions, on the active cluster")
    parser.add_argument("--new", type=int, default=500, metavar="N", help="of them missing on the standby")
    parser.add_argument("--acls", type=int, default=5_000, metavar="N", help="on each cluster")
    parser.add_argument("--report", type=Path, required=True, metavar="FILE", help="where the figures go, as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> int:
    """Bring a lab up, measure, write the report, and take the lab down unless it was up before.

    :returns: 0 if every figure is within its limit, else 1
    """
    if not 0 < options.new < options.topics:
        raise LabError(f"--new is {options.new}: write less than --topics, which is {options.topics}")
    lab = Lab(options.home, port_base=options.port_base)
    was_up = lab.status().in_use
    lab.up(airflow=False)
    try:
        report = _ConfigBench(lab, options, console).measure()
    finally:
        if not was_up:
            lab.down(delete=True)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    missed = [name for name, limit in _LIMITS.items() if report[name] > limit]
    for name, limit in _LIMITS.items():
        console.print(f"{'[red]✗[/]' if name in missed else '[green]✓[/]'} {name} {report[name]} (at most {limit:g})")
    return 1 if missed else 0


@dataclass(slots=True)
class _Requests:
    """Counts requests, and makes each take as long as one across a continent."""

    seconds: float = 0.0
    count: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, doing: str) -> None:
        with self._lock:
            self.count += 1
            self.kinds[doing] = self.kinds.get(doing, 0) + 1
        time.sleep(self.seconds)

    def without_waiting(self, a_look: int) -> int:
        """Return how many there were, had the standby shown at the first look what was made.

        :param a_look: the requests of each look
        """
        looks = self.kinds[_EACH_LOOK] // (len(_CLUSTERS) * len(_LOOKING))
        return self.count - looks * a_look


class _ConfigBench:
    """One run in one lab."""

    def __init__(self, lab: Lab, options: argparse.Namespace, console: Console) -> None:
        self._lab = lab
        self._options = options
        self._console = console
        self._topology = _topology(lab)
        self._names = [f"{_GROUP}.t{number:05}" for number in range(options.topics)]

    def measure(self) -> dict[str, Any]:
        """Fill the clusters, plan and apply, and return the report."""
        self._prepare()
        few = [f"{_GROUP}.few{number}" for number in range(_FEW)]
        with self._admin("east") as admin:
            self._create(admin, few)
            # Of the many rights, too, the standby lacks some: its fence is one of as many as the active cluster has.
            admin.acls.add([_acl(few[0], 1)])
            _wait(lambda: set(few) <= admin.topics.names())
        small = self._plan("few topics")[1].count
        few_applied = self._apply("few topics")[1]
        self._fill()
        plan_seconds, counted, plan = self._plan("all topics")
        far_seconds, _, _ = self._plan("all topics, 50 ms away", away=_ROUND_TRIP_SECONDS)
        self._console.print(plan.summary)
        apply_seconds, applied = self._apply("new topics")
        a_look = self._a_look()
        left = self._plan("what is left")[2]
        if left.changes:
            raise LabError(f"{len(left.changes)} changes are left after the apply: {left.changes[0]}")
        return {
            "plan_seconds": round(plan_seconds, 2),
            "apply_seconds": round(apply_seconds, 2),
            "round_trips": counted.count,
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
            "round_trips_more_than_small": counted.count - small,
            "plan_seconds_50ms_away": round(far_seconds, 2),
            "apply_round_trips": applied.count,
            "apply_round_trips_more_than_small": applied.without_waiting(a_look) - few_applied.without_waiting(a_look),
            "requests_of_a_plan": counted.kinds,
            "topics": self._options.topics,
            "new_topics": self._options.new,
            "acls": self._options.acls,
        }

    def _prepare(self) -> None:
        """Give the project's principals their rights, and adopt the group while it has no topics."""
        for cluster in _CLUSTERS:
            with self._admin(cluster.name) as admin:
                admin.acls.add(_rights(self._lab.allowed_on(cluster.name)))
                admin.configs.create([NewTopic(f"{_GROUP}.dr-canary", 1, 1)])
        with self._clients() as clients:
            adopt(_GROUP, clients, "adoption")

    def _fill(self) -> None:
        began = time.monotonic()
        missing = self._options.topics - self._options.new
        shares = {"east": self._names, "west": self._names[:missing]}

        def fill(cluster: str) -> None:
            with self._admin(cluster) as admin:
                self._create(admin, shares[cluster])
                there = len(admin.acls.list())
                acls = [_acl(self._names[n % len(self._names)], n) for n in range(self._options.acls - there)]
                for start in range(0, len(acls), 1_000):
                    admin.acls.add(acls[start : start + 1_000])
                # A broker shows a change only after it has created the logs of the topics of earlier changes.
                _wait(lambda: set(shares[cluster]) <= admin.topics.names())
                _wait(lambda: there + len(acls) <= len(admin.acls.list()))

        ask_all(fill, shares)
        self._console.print(f"clusters filled [dim]{time.monotonic() - began:.1f} s[/]")

    @staticmethod
    def _create(admin: KafkaCluster, names: Sequence[str]) -> None:
        topics = [NewTopic(name, _PARTITIONS, 1, (("retention.ms", "86400000"),)) for name in names]
        for start in range(0, len(topics), 500):
            errors = admin.configs.create(topics[start : start + 500])
            if errors:
                raise LabError(f"{admin.name} did not take the topics: {next(iter(errors.values()))}")

    def _plan(self, what: str, *, away: float = 0.0) -> tuple[float, _Requests, Plan]:
        with self._clients() as clients, self._counted(clients, what, seconds=away) as requests:
            began = time.monotonic()
            planned = plan_config(_GROUP, clients, f"bench-{time.monotonic_ns()}")
            seconds = time.monotonic() - began
        if not isinstance(planned, KeptPlan):
            raise LabError(planned.summary)
        return seconds, requests, planned.plan

    def _apply(self, what: str) -> tuple[float, _Requests]:
        run_id = f"bench-{time.monotonic_ns()}"
        with self._clients() as clients:
            plan_config(_GROUP, clients, run_id)
            with self._counted(clients, f"apply {what}") as requests:
                began = time.monotonic()
                apply_config(_GROUP, clients, run_id, approved=False)
                return time.monotonic() - began, requests

    def _a_look(self) -> int:
        """Return how many requests it takes to look once more whether the standby shows by now what was made."""
        with self._clients() as clients:
            watch_config(_GROUP, clients)
            with self._counted(clients, "a look, and the group's state") as both:
                watch_config(_GROUP, clients)
            with self._counted(clients, "the group's state") as standing:
                GroupContext(_GROUP, clients).read_register_state()
        return both.count - standing.count

    @contextmanager
    def _counted(self, clients: Clients, what: str, *, seconds: float = 0.0) -> Iterator[_Requests]:
        requests = _Requests(seconds)
        clients.observe(requests)
        began = time.monotonic()
        yield requests
        self._console.print(f"{what} [dim]{time.monotonic() - began:.2f} s, {requests.count} requests[/]")

    def _admin(self, cluster: str) -> KafkaCluster:
        settings = ClientSettings.from_librdkafka(self._lab.client_settings(cluster, credentials.ADMIN))
        return KafkaCluster(cluster, settings)

    def _clients(self) -> Clients:
        root = self._lab.home.root / "bench" / "evidence"
        root.mkdir(parents=True, exist_ok=True)
        return Clients(
            self._topology,
            connections=Connections.stored(self._lab.connections().get),
            evidence_root=root,
            clock=SystemClock(),
        )


def _topology(lab: Lab) -> Topology:
    """Return the lab's topology with one group that holds the benchmark's topics."""
    declared = load(Path(lab.environ["KAFKA_DR_TOPOLOGY"]), lab.environ)
    base = declared.protection_groups["orders"]
    group = base.model_copy(
        update={
            "name": _GROUP,
            "topic_prefixes": (f"{_GROUP}.",),
            "consumer_group_prefixes": (f"{_GROUP}-",),
            "transactional_id_prefixes": (f"{_GROUP}-",),
            "principals": (_APPLICATION,),
            "route": base.route.model_copy(update={"path": str(lab.home.root / "bench" / "route.json")}),
            "config_sync": ConfigSyncSpec(apply_safe=True),
        }
    )
    return declared.model_copy(update={"protection_groups": {_GROUP: group}})


def _rights(given: Iterable[Acl]) -> Iterator[Acl]:
    """Yield what the lab gives the project's own principals, on the benchmark's names."""
    for acl in given:
        if acl.name == "orders." and acl.principal.removeprefix("User:") not in rights.APPLICATIONS:
            yield replace(acl, name=f"{_GROUP}.")


def _acl(topic: str, number: int) -> Acl:
    """Return one of many rights: a topic's by name, of the application or of one of forty readers."""
    principal = _APPLICATION if number % 2 else f"User:reader-{number % 40}"
    operation = (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)[number // 2_000 % 3]
    return Acl(ResourceType.TOPIC, topic, PatternType.LITERAL, principal, operation, AclPermission.ALLOW)


def _wait(until: Callable[[], bool], *, seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not until():
        if time.monotonic() > deadline:
            raise LabError(f"the cluster did not show its topics within {seconds:g} s: see its brokers' logs")
        time.sleep(0.2)
