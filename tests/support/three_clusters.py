"""A protection group with two standbys, on a lab of three clusters."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kafka_dr.adoption.adopt import adopt
from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.clusters import TopicPartition
from kafka_dr.register import RegisterState, highest
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import VERBS, RunRequest, StepName
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab.api import Lab
from support import outside_view
from support.protection import Protection
from support.waiting import eventually

_RUNS = itertools.count(1)
_SECONDS = 60.0


@dataclass(slots=True)
class GroupOfThree:
    """The group, and what a test does with it."""

    protection: Protection

    @classmethod
    def adopt(cls, lab: Lab, folder: Path, **changes: object) -> GroupOfThree:
        """Create and adopt a group on every cluster of a lab, and start its flows as ``dr_flows`` does.

        :param changes: to the group as the topology declares it
        """
        return cls.adopt_as(Protection(lab, folder, changes={"clusters": lab.settings.names, **changes}))

    @classmethod
    def adopt_as(cls, protection: Protection) -> GroupOfThree:
        """Create and adopt a group that names all clusters, and start its flows as ``dr_flows`` does."""
        made = cls(protection)
        protection.create()
        with protection.clients() as clients:
            assert adopt(made.name, clients, "adoption").outcome == "done"
        eventually(lambda: made.flows().outcome == "ok", seconds=_SECONDS)
        return made

    @property
    def name(self) -> str:
        """The group's name."""
        return self.protection.name

    @property
    def state(self) -> RegisterState:
        """The newest record of all registers that answer."""
        lab = self.protection.lab
        runs = {process.name for process in lab.status().processes if process.running}
        names = [name for name in lab.settings.names if outside_view.broker_of(name) in runs]
        states = {name: self.protection.state(name) for name in names}
        found = highest(states)
        assert found is not None
        return found

    @property
    def roles(self) -> dict[str, str]:
        """What the record says that each cluster is."""
        return {name: role.value for name, role in self.state.roles.each}

    def flows(self) -> WatchResult:
        """Let ``dr_flows`` look once."""
        with self.protection.clients() as clients:
            return reconcile_flows(self.name, clients)

    def stop_flow(self, source: str, target: str) -> None:
        """Stop a flow, as if its standby were cut off."""
        with self.protection.clients() as clients:
            replicator = clients.replicator(Flow(self.name, source, target))
            replicator.stop()
            replicator.wait_stopped(_SECONDS)

    def move(self, source: str, target: str) -> list[StepRecord]:
        """Move the group by a planned failover."""
        request = RunRequest(self.name, f"run-{next(_RUNS)}", source=source, target=target, reason="a test")
        with self.protection.clients() as clients:
            return self.protection.run_until(request, StepName.REPORT, clients)

    def give_up(self, source: str, target: str, *, override: str) -> dict[StepName, StepRecord]:
        """Move the group by an unplanned failover, each step with clients of its own, as its task would."""
        request = RunRequest(
            self.name,
            f"run-{next(_RUNS)}",
            source=source,
            target=target,
            reason="a test",
            verb="unplanned_failover",
            override=override,
            acknowledged=True,
        )
        records = {}
        with self.protection.clients() as clients:
            records[StepName.GATHER_EVIDENCE] = run_step(StepName.GATHER_EVIDENCE, request, clients)
            question = ask_approval(request, clients)
            record_answer(request, clients, Answer(True, "alice", datetime.now(UTC), question.digest))
        for step in VERBS["unplanned_failover"].from_claim:
            with self.protection.clients() as clients:
                records[step] = run_step(step, request, clients)
        return records

    def release(self) -> dict[StepName, StepRecord]:
        """End the protection of the group; its flows stay as they are."""
        run = f"run-{next(_RUNS)}"
        return self._released(RunRequest(self.name, run, reason="a test", verb="un_adopt", hand_back_to="own_flow"))

    def leaving(self, cluster: str, *, off: str = "") -> RunRequest:
        """Return what asks for a standby to leave the group.

        :param off: names the cluster as known to be off
        """
        run = f"leaving-{next(_RUNS)}"
        return RunRequest(self.name, run, target=cluster, leaves=True, override=off, reason="a test", verb="un_adopt")

    def leave(self, cluster: str, *, off: str = "") -> dict[StepName, StepRecord]:
        """Let a standby leave the group."""
        return self._released(self.leaving(cluster, off=off))

    def _released(self, request: RunRequest) -> dict[StepName, StepRecord]:
        records = {}
        with self.protection.clients() as clients:
            records[StepName.PREFLIGHT] = run_step(StepName.PREFLIGHT, request, clients)
            question = ask_approval(request, clients)
            record_answer(request, clients, Answer(True, "alice", datetime.now(UTC), question.digest))
        for step in VERBS["un_adopt"].from_claim:
            with self.protection.clients() as clients:
                records[step] = run_step(step, request, clients)
        return records

    @contextmanager
    def hanging(self, cluster: str) -> Iterator[None]:
        """Let the broker and the Connect worker of a cluster hang for a while."""
        lab, names = self.protection.lab, (f"{cluster}-broker-1", f"{cluster}-connect")
        for name in names:
            lab.pause(name)
        try:
            yield
        finally:
            for name in names:
                lab.resume(name)

    def contents(self, cluster: str) -> Mapping[TopicPartition, list[outside_view.Content]]:
        """Return the records of a cluster, by partition, in order."""
        return outside_view.contents(self.protection, cluster)

    def flow_status(self, source: str, target: str) -> str:
        """Return how a flow is."""
        with self.protection.clients() as clients:
            return str(clients.replicator(Flow(self.name, source, target)).status())

    def let_return(self, *clusters: str, seconds: float) -> None:
        """Let dead clusters run again, and wait until they answer."""
        for cluster in clusters:
            self.protection.lab.restart(outside_view.broker_of(cluster))
        deadline = time.monotonic() + seconds
        while True:
            try:
                for cluster in clusters:
                    assert self.protection.state(cluster) is not None
                    self.contents(cluster)
                return
            except Exception:
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)

    def wait_equal_between(self, first: str, second: str, seconds: float = _SECONDS) -> None:
        """Wait until two clusters hold the same records in the same order."""
        deadline = time.monotonic() + seconds
        while self.contents(first) != self.contents(second):
            assert time.monotonic() < deadline
            time.sleep(0.3)

    def wait_equal(self, seconds: float = _SECONDS) -> Mapping[TopicPartition, list[outside_view.Content]]:
        """Wait until every cluster holds the same records in the same order, and return them."""
        deadline = time.monotonic() + seconds
        while True:
            found = {name: self.contents(name) for name in self.protection.lab.settings.names}
            first = found[self.state.active]
            if all(each == first for each in found.values()):
                return first
            counted = {name: {str(p): len(log) for p, log in each.items()} for name, each in found.items()}
            assert time.monotonic() < deadline, counted
            time.sleep(0.3)
