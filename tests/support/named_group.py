"""A protection group whose copies have other names than their originals: ``east.payments`` on west."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import Acl, OffsetRange, PatternType, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab import rights
from lab.api import Lab
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.switched_group import other
from support.waiting import eventually

_RUNS = itertools.count(1)


class NamedProtection(Protection):
    """The same, with what such a group declares and what its owners allow."""

    def name_copies(self, separator: str = ".") -> None:
        """Declare that copies begin with the name of their original's cluster."""
        wanted = self.group.flow.model_copy(update={"naming": "default", "separator": separator})
        self.changes = {**self.changes, "flow": wanted, "drill": None}

    def _acls(self, cluster: str) -> Iterable[Acl]:
        """Return the lab's rights, on topics and on copies of them."""
        for acl in super()._acls(cluster):
            yield acl
            if acl.pattern is PatternType.PREFIXED and acl.name == f"{self.name}.":
                for origin in self.lab.settings.names:
                    if origin != cluster and (naming := self.group.naming(origin, cluster)) is not None:
                        yield replace(acl, name=str(naming.copy_of(acl.name)))


@contextmanager
def named_protection(lab: Lab, folder: Path, separator: str = ".") -> Iterator[NamedProtection]:
    """Yield such a group, not yet created, whose flows are gone at the end."""
    protection = NamedProtection(lab, folder)
    protection.name_copies(separator)
    try:
        yield protection
    finally:
        protection.delete_flows()


@dataclass(slots=True)
class NamedGroup:
    """Such a group, adopted, with both of its flows running."""

    protection: Protection

    @classmethod
    def adopt(cls, protection: Protection) -> NamedGroup:
        protection.create()
        return cls.adopt_created(protection)

    @classmethod
    def adopt_created(cls, protection: Protection) -> NamedGroup:
        with protection.clients() as clients:
            record = adopt(protection.name, clients, "adoption", create_canary_topic=True)
            assert record.outcome == "done", record
        group = cls(protection)
        group.flows()
        return group

    @property
    def name(self) -> str:
        return self.protection.name

    @property
    def active(self) -> str:
        return self.protection.active

    @property
    def standby(self) -> str:
        return other(self.active)

    def flows(self) -> None:
        """Do what ``dr_flows`` does, until both flows copy."""

        def done() -> bool:
            with self.protection.clients() as clients:
                return reconcile_flows(self.name, clients).outcome == "ok"

        eventually(done, seconds=60)

    def local(self, number: int) -> TopicPartition:
        """Return a partition of the topic of payments, as the applications of each cluster write it."""
        return TopicPartition(self.protection.topic, number)

    def copy(self, number: int, origin: str) -> TopicPartition:
        """Return its copy on the other cluster."""
        return self.log(number, origin, other(origin))

    def log(self, number: int, origin: str, cluster: str) -> TopicPartition:
        """Return what a cluster holds of the partition of another one, or its own."""
        naming = self.protection.group.naming(origin, cluster)
        assert naming is not None
        return (
            TopicPartition(str(naming.copy_of(self.protection.topic)), number)
            if origin != cluster
            else self.local(number)
        )

    def wait_copied(self) -> None:
        for source, target in (("east", "west"), ("west", "east")):
            self.protection.wait_copied(source=source, target=target)

    def request(self, **changes: object) -> RunRequest:
        return self.protection.request(f"run-{next(_RUNS)}", source=None, target=None, **changes)

    def request_to(self, target: str) -> RunRequest:
        """Return a request for a planned failover to one of several clusters."""
        return self.protection.request(f"run-{next(_RUNS)}", source=None, target=target)

    def move(self, request: RunRequest | None = None) -> dict[StepName, StepRecord]:
        """Run a whole planned failover, and return the record of each step."""
        request = request or self.request()
        with self.protection.clients() as clients:
            records = {StepName.PREFLIGHT: run_step(StepName.PREFLIGHT, request, clients)}
            self.protection.approve(request, clients)
            for step in STEPS_AFTER_APPROVAL:
                records[step] = run_step(step, request, clients)
        return records

    def unread(self, cluster: str, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, bytes | None]:
        """Return the value of the record that each offset is the next to read of; ``None`` at the end of a log."""
        with self.protection.cluster(cluster, "admin") as admin:
            ends = admin.topics.high_watermarks(offsets)
            wanted = {p: OffsetRange(at, ends[p]) for p, at in offsets.items() if at < ends[p]}
            first: dict[TopicPartition, bytes | None] = dict.fromkeys(offsets)
            seen: set[TopicPartition] = set()
            for record in admin.log.read(wanted):
                if record.topic_partition not in seen:
                    seen.add(record.topic_partition)
                    first[record.topic_partition] = record.value
            return first

    def values(self, cluster: str, *partitions: TopicPartition) -> list[bytes | None]:
        """Return the values of all records of some partitions of a cluster; of a topic that is not there, none."""
        with self.protection.cluster(cluster, "admin") as admin:
            there = [p for p in partitions if p.topic in admin.topics.names()]
            return [record.value for record in admin.log.read(held_by(admin, there))]

    def refused(self, cluster: str, principal: str, partition: TopicPartition) -> bool:
        """Return whether a principal may not write there, by trying."""
        with self.protection.cluster(cluster, principal) as client:
            answers = client.write_permission.ask([partition])
            return {answer.verdict for answer in answers} == {"refused"}

    def write(self, cluster: str, values: Iterable[bytes], key: bytes | None = b"k") -> int:
        """Write to the topic of the cluster's applications, and return how many were acknowledged."""
        with self.protection.cluster(cluster, rights.ORDERS_APP) as client:
            return len(client.writing.append(NewRecord(self.local(n % 2), key, v) for n, v in enumerate(values)))

    def denies(self, cluster: str) -> frozenset[Acl]:
        """Return the DENYs about the group's names there, those of copies among them."""
        with self.protection.cluster(cluster, "admin") as admin:
            return frozenset(acl for acl in admin.acls.list() if acl.permission == "DENY" and self.name in acl.name)

    def flow_states(self) -> Iterator[str]:
        with self.protection.clients() as clients:
            for ends in (("east", "west"), ("west", "east")):
                yield clients.replicator(Flow(self.name, *ends)).status().state
