"""A protection group whose active cluster dies, hangs or returns, and the unplanned failover from it."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.clusters import TopicPartition
from kafka_dr.group_offsets.last_look import look
from kafka_dr.group_offsets.sync_archive import archive_syncs
from kafka_dr.offsets.syncs.archive import sync_topic
from kafka_dr.register import RegisterState
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import UNPLANNED_FAILOVER, RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.protection import Protection
from support.switched_group import Killed, SwitchedGroup, other
from support.vantage import vantage

_RUNS = itertools.count(1)
_ASKED = {StepName.GATHER_EVIDENCE, StepName.APPROVAL, StepName.SECOND_APPROVAL}
STEPS = tuple(step.name for step in UNPLANNED_FAILOVER if step.name not in _ASKED)

#: What a worker had asked for before it hung is answered still, and copied when it runs again; it asks for 100 ms.
_ASKED_BEFORE_SECONDS = 1.0


@dataclass(slots=True)
class Disaster:
    """A stable group whose active cluster is going to be lost."""

    group: SwitchedGroup
    active: str
    before: dict[TopicPartition, list[outside_view.Content]] = field(default_factory=dict)
    positions: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)
    unread: dict[str, dict[TopicPartition, bytes | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, group: SwitchedGroup) -> Disaster:
        """Take a group, whose active cluster is the one to be lost."""
        return cls(group, group.active)

    @property
    def standby(self) -> str:
        """Where the group goes."""
        return other(self.active)

    @property
    def broker(self) -> str:
        """The process that is the active cluster."""
        return outside_view.broker_of(self.active)

    def request(self, **changes: object) -> RunRequest:
        """Return a request for an unplanned failover away from the active cluster."""
        fields: dict[str, object] = {
            "source": self.active,
            "target": self.standby,
            "verb": "unplanned_failover",
            "acknowledged": True,
            "override": "a test has one vantage",
            **changes,
        }
        return self.group.protection.request(f"disaster-{next(_RUNS)}", **fields)

    def request_of(self, run: str) -> RunRequest:
        """Return the request of a run again."""
        return dataclasses.replace(self.request(), run=run)

    def look(self) -> None:
        """Look at the active cluster as the canary does every minute."""
        with self.group.protection.clients() as clients:
            state = clients.register(self.active).read(self.group.name)
            assert state is not None
            run = Run(RunRequest(self.group.name, "look"), clients)
            look(run, active=state.active, standby=state.standby, epoch=state.epoch)

    def produce_what_never_crosses(self, count: int) -> None:
        """Write records that the flow does not copy any more: its worker hangs meanwhile."""
        with self.hanging(f"{self.standby}-connect"):
            time.sleep(_ASKED_BEFORE_SECONDS)
            self.group.protection.produce(self.active, count)
            self.look()
            self.remember()
            self.group.protection.lab.kill(self.broker)

    def archive_syncs(self) -> None:
        """Archive what the flow wrote down so far, and let its topic lose that, as one that is compacted does."""
        protection, topic = self.group.protection, sync_topic(self.active)
        with protection.clients() as clients:
            assert archive_syncs(self.group.name, clients).outcome == "ok"
        with protection.cluster(self.standby, "admin") as admin:
            kept = admin.topics.configs([topic])[topic]["cleanup.policy"]
            (end,) = admin.topics.last_stable_offsets([TopicPartition(topic, 0)]).values()
            assert not admin.configs.set({topic: {"cleanup.policy": "delete"}})
            with AdminClient(protection.lab.client_settings(self.standby, "admin")) as client:
                for deleted in client.delete_records([ClientPartition(topic, 0, end)]).values():
                    deleted.result(60)
            assert not admin.configs.set({topic: {"cleanup.policy": kept}})

    def watch_from(self, address: str) -> None:
        """Declare a vantage."""
        spec = self.group.protection.group.disaster.model_copy(update={"vantages": {"office": address}})
        self.group.protection.changes["disaster"] = spec

    @contextmanager
    def seen_down_elsewhere(self) -> Iterator[None]:
        """Have a vantage that sees the active cluster down."""
        with vantage() as office:
            self.watch_from(office.address)
            yield

    @contextmanager
    def hanging(self, process: str) -> Iterator[None]:
        """Let a process hang, its connections open."""
        lab = self.group.protection.lab
        lab.pause(process)
        try:
            yield
        finally:
            lab.resume(process)

    def back(self) -> None:
        """Let the dead cluster return."""
        self.group.protection.lab.restart(self.broker)
        self.group.wait_answering(90)

    def approve(self, request: RunRequest) -> StepRecord:
        """Gather evidence, ask, and say yes."""
        with self.group.protection.clients() as clients:
            record = run_step(StepName.GATHER_EVIDENCE, request, clients)
            question = ask_approval(request, clients)
            record_answer(request, clients, Answer(True, "alice", datetime.now(UTC), question.digest))
        return record

    def go(self, last: StepName, request: RunRequest | None = None) -> dict[StepName, StepRecord]:
        """Run a new run through a step, each step with clients of its own, as its task would."""
        request = request or self.request()
        records = {StepName.GATHER_EVIDENCE: self.approve(request)}
        for step in STEPS[: STEPS.index(last) + 1]:
            records[step] = self.step(step, request)
        return records

    def step(self, step: StepName, request: RunRequest) -> StepRecord:
        """Run one step in a world of its own."""
        with self.group.protection.clients() as clients:
            return run_step(step, request, clients)

    def killed(self, step: StepName, request: RunRequest, place: AbstractContextManager[None]) -> None:
        """Run a step that does not live to see its end."""
        with self.group.protection.clients() as clients, place:
            try:
                run_step(step, request, clients)
            except Killed:
                return
        raise AssertionError(f"{step} came through: it never reached the point where it was to die")

    def state(self) -> RegisterState:
        """Return the register record on the new cluster."""
        with self.group.protection.clients() as clients:
            found = clients.register(self.standby).read(self.group.name)
        assert found is not None
        return found

    def journal(self, run: str) -> dict[str, Any]:
        """Return what a run journaled on the new cluster."""
        with self.group.protection.clients() as clients:
            return clients.register(self.standby).facts(self.group.name, run)

    def remember(self) -> None:
        """Read the active cluster while it lives, as somebody who will know better when it is dead."""
        self.before = outside_view.contents(self.group.protection, self.active)
        self.positions = outside_view.committed(self.group.protection, self.active)
        self.unread = {
            name: outside_view.next_values(self.group.protection, self.active, positions)
            for name, positions in self.positions.items()
        }

    def _read(self, group: str, partition: TopicPartition) -> set[bytes | None]:
        """Return the values that a group had read: an offset does not count them, as transactions leave gaps."""
        values, unread = [record[2] for record in self.before[partition]], self.unread[group][partition]
        return set(values if unread is None else values[: values.index(unread)])

    def read_again(self) -> dict[str, int]:
        """Return how many records each group reads again on the new cluster; one that skips any is caught here."""
        protection, again = self.group.protection, dict[str, int]()
        placed, there = (
            outside_view.committed(protection, self.standby),
            outside_view.contents(protection, self.standby),
        )
        for name, positions in self.positions.items():
            assert placed.get(name, {}).keys() >= positions.keys(), f"{name} has no offset on {self.standby}"
            following = outside_view.next_values(protection, self.standby, {p: placed[name][p] for p in positions})
            for p, position in positions.items():
                values, old = [record[2] for record in there[p]], self._read(name, p)
                read = sum(value in old for value in values)
                resumes = len(values) if following[p] is None else values.index(following[p])
                assert resumes <= read, f"{name} at {position} of {p} resumes at record {resumes}: late"
                again[name] = again.get(name, 0) + read - resumes
        return again


def adopted(protection: Protection) -> SwitchedGroup:
    """Adopt a group with quick looks at its clusters."""
    group = protection.group
    protection.changes["timing"] = group.timing.model_copy(update={"confirm_seconds": 0.2})
    protection.changes["disaster"] = group.disaster.model_copy(update={"probe_seconds": 2.0})
    return SwitchedGroup.adopt(protection)


def disaster_is_over(disaster: Disaster) -> None:
    """Let everything run again that hangs or is dead, and wait until it answers."""
    lab = disaster.group.protection.lab
    for process in lab.status().processes:
        if process.running:
            lab.resume(process.name)
        else:
            lab.restart(process.name)
    disaster.group.wait_answering(90)
