"""A thousand groups on a hundred partitions: translated, committed on the target, and read back."""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import Producer
from rich.console import Console

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings, KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.connections.port import Connections
from kafka_dr.group_offsets.sync_archive import archive_syncs
from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.syncs.archive import SyncLookup
from kafka_dr.offsets.translate.anchor_cache import AnchorCache
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.by_content import translate_by_content
from kafka_dr.offsets.translate.choice import WithCheckpoint, with_checkpoint
from kafka_dr.offsets.translate.facts import GatheredFacts, gather
from kafka_dr.offsets.translate.pipeline import offsets_of, translate_offsets
from kafka_dr.offsets.verify import not_read_back
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from lab import credentials
from lab.api import Lab
from lab.errors import LabError
from lab.submitted import spark_audit

GROUP, TOPIC = "orders", "orders.bench-offsets"
SOURCE, TARGET = "east", "west"
_SECONDS = 300.0
_LIMITS = {"seconds": ("at most", 60.0), "memory_gb": ("at most", 1.0), "redelivered": ("at most", 0.0)}
T = TypeVar("T")
Committed = dict[str, dict[TopicPartition, int]]


def run(options: argparse.Namespace, console: Console) -> int:
    """Bring a lab up, measure, write the report, and take the lab down unless it was up before.

    :returns: 0 if every figure is within its limit, else 1
    """
    lab = Lab(options.home, port_base=options.port_base)
    was_up = lab.status().in_use
    lab.up(airflow=False)
    try:
        with lab_clients(lab) as clients:
            bench = _OffsetsBench(lab, clients, console, groups=options.groups, partitions=options.partitions)
            report = bench.measure(records=options.records)
    finally:
        if not was_up:
            lab.down(delete=True)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    missed = 0
    for name, (side, limit) in _LIMITS.items():
        good = report[name] <= limit
        missed += not good
        console.print(f"{'[green]✓[/]' if good else '[red]✗[/]'} {name} {report[name]} ({side} {limit:g})")
    console.print(f"delivered again: {report['redelivered']}; by MirrorMaker's checkpoints {report['mm2_redelivered']}")
    return 1 if missed else 0


class _OffsetsBench:
    """One run.

    :param groups: how many
    :param partitions: of the one topic that all of them read
    """

    def __init__(self, lab: Lab, clients: Clients, console: Console, *, groups: int, partitions: int) -> None:
        self._lab = lab
        self._clients = clients
        self._console = console
        self._groups = [f"orders-bench-{number:04d}" for number in range(groups)]
        self._partitions = tuple(TopicPartition(TOPIC, number) for number in range(partitions))

    def measure(self, *, records: int) -> dict[str, Any]:
        """Write and copy the records, let an audit match them, then move the groups, and hold them against the logs."""
        self._timed("records written and copied", lambda: self._copy(records))
        self._timed("offset syncs archived", lambda: archive_syncs(GROUP, self._clients))
        self._timed("records matched by the audit", self._audit)
        source, target = (self._clients.cluster(name, "operator") for name in (SOURCE, TARGET))
        logs = {name: self._log(name) for name in (SOURCE, TARGET)}
        positions = _positions(self._groups, logs[SOURCE])
        self._timed("groups committed on the source", lambda: source.groups.set_offsets(positions))
        began = time.monotonic()
        committed = self._timed("read from the source", lambda: source.groups.offsets(self._groups))
        gathered = self._timed("facts gathered", self._gather)
        placed = self._timed("translated", lambda: _place(committed, gathered, self._basis()))
        wanted = {
            group: {p: offset for p, found in row.items() if (offset := found.translation.target_offset) is not None}
            for group, row in placed.items()
        }
        self._timed("committed on the target", lambda: target.groups.set_offsets(wanted))
        back = self._timed("read back", lambda: target.groups.offsets(self._groups))
        seconds = time.monotonic() - began
        if problems := not_read_back(wanted, back):
            raise LabError(f"{len(problems)} positions were not read back: {problems[0]}")
        return _report(seconds, placed, _judged(positions, back, logs))

    def _copy(self, records: int) -> None:
        for name in (SOURCE, TARGET):
            with KafkaCluster(name, self._settings(name, credentials.ADMIN)) as admin:
                admin.topics.create(TOPIC, partitions=len(self._partitions), replication_factor=1, config={})
        replicator = self._clients.replicator(Flow(GROUP, SOURCE, TARGET))
        replicator.ensure(stopped=True)
        replicator.wait_stopped(_SECONDS)
        replicator.seed({}, epoch=1)
        replicator.resume()
        producer = Producer({**self._lab.client_settings(SOURCE, credentials.ADMIN), "linger.ms": 20})
        for number in range(records):
            partition = self._partitions[number % len(self._partitions)].partition
            while True:
                try:
                    producer.produce(TOPIC, partition=partition, key=b"k", value=b"%020d" % number)
                    break
                except BufferError:
                    producer.poll(0.05)
        producer.flush(_SECONDS)
        source = self._clients.cluster(SOURCE, "operator")
        deadline = time.monotonic() + _SECONDS
        while True:
            ends, done = source.topics.last_stable_offsets(self._partitions), replicator.positions()
            if all(done.get(p, 0) >= end for p, end in ends.items()):
                break
            if time.monotonic() > deadline:
                raise LabError(f"the records were not copied within {_SECONDS:.0f} s: look at the flow's connector")
            time.sleep(0.2)
        replicator.stop()
        replicator.wait_stopped(_SECONDS)

    def _audit(self) -> None:
        spark_audit(self._lab, f"{GROUP}.{SOURCE}-to-{TARGET}", topics=[TOPIC])

    def _gather(self) -> GatheredFacts:
        return gather(self._basis(), self._partitions)

    def _basis(self) -> TranslationBasis:
        """Return what a cut-over has, too; nothing was journaled, and no translation has kept pairs."""
        source, target = (self._clients.cluster(name, "audit") for name in (SOURCE, TARGET))
        ids = {name: self._clients.topology.cluster(name).cluster_id for name in (SOURCE, TARGET)}
        root = self._clients.evidence_root
        return TranslationBasis(
            source,
            target,
            syncs=SyncLookup(source, target, root=root, cluster_ids=(ids[SOURCE], ids[TARGET])),
            maps=MapStore(root, GROUP, source=(SOURCE, ids[SOURCE]), target=(TARGET, ids[TARGET])),
            cache=AnchorCache(root, GROUP),
        )

    def _log(self, name: str) -> dict[TopicPartition, list[tuple[int, bytes]]]:
        with KafkaCluster(name, self._settings(name, credentials.ADMIN)) as reader:
            ends = reader.topics.last_stable_offsets(self._partitions)
            found: dict[TopicPartition, list[tuple[int, bytes]]] = {p: [] for p in self._partitions}
            for record in reader.log.read({p: OffsetRange(0, end) for p, end in ends.items()}):
                found[record.topic_partition].append((record.offset, record.value or b""))
        return found

    def _settings(self, cluster: str, principal: str) -> ClientSettings:
        return ClientSettings.from_librdkafka(self._lab.client_settings(cluster, principal))

    def _timed(self, what: str, do: Callable[[], T]) -> T:
        began = time.monotonic()
        done = do()
        self._console.print(f"{what}: {time.monotonic() - began:.1f} s")
        return done


def _positions(groups: list[str], log: Mapping[TopicPartition, list[tuple[int, bytes]]]) -> Committed:
    """Return the groups' offsets: random ones in every partition, from the first record to the end."""
    chance = random.Random(4_711)  # noqa: S311 - the same offsets each time
    places = {p: [offset for offset, _ in found] + [found[-1][0] + 1] for p, found in log.items()}
    return {group: {p: chance.choice(offsets) for p, offsets in places.items()} for group in groups}


def _place(
    committed: Committed, gathered: GatheredFacts, basis: TranslationBasis
) -> dict[str, dict[TopicPartition, WithCheckpoint]]:
    found = translate_offsets(partial(translate_by_content, basis), offsets_of(committed), facts=gathered.partitions)
    placed = {key: with_checkpoint(key[1], gathered.partitions[key[0]], answer) for key, answer in found.items()}
    return {group: {p: placed[p, offset] for p, offset in row.items()} for group, row in committed.items()}


def _judged(
    before: Committed, after: Committed, logs: Mapping[str, Mapping[TopicPartition, list[tuple[int, bytes]]]]
) -> tuple[int, int]:
    """Count, in the logs themselves, what comes again and what is skipped."""
    again = skipped = 0
    ranks = {
        name: {p: {offset: rank for rank, (offset, _) in enumerate(found)} for p, found in log.items()}
        for name, log in logs.items()
    }
    same = {p: [v for _, v in logs[SOURCE][p]] == [v for _, v in logs[TARGET][p]] for p in logs[SOURCE]}
    if not all(same.values()):
        raise LabError("the copy is not the same as the source: the figures would mean nothing")
    for group, row in before.items():
        for p, offset in row.items():
            here = ranks[SOURCE][p].get(offset, len(logs[SOURCE][p]))
            there = _rank(logs[TARGET][p], ranks[TARGET][p], after[group][p])
            again, skipped = again + max(0, here - there), skipped + max(0, there - here)
    return again, skipped


def _rank(log: list[tuple[int, bytes]], ranks: Mapping[int, int], offset: int) -> int:
    while offset not in ranks and log and offset <= log[-1][0]:
        offset += 1
    return ranks.get(offset, len(log))


def _report(
    seconds: float, placed: Mapping[str, Mapping[TopicPartition, WithCheckpoint]], judged: tuple[int, int]
) -> dict[str, Any]:
    rows = [found for row in placed.values() for found in row.values()]
    kinds = [found.translation.kind for found in rows]
    again, skipped = judged
    if skipped:
        raise LabError(f"{skipped} records would be skipped: this must never be")
    return {
        "seconds": round(seconds, 2),
        "groups": len(placed),
        "partitions": len(next(iter(placed.values()))),
        "redelivered": again,
        "mm2_redelivered": sum(found.mirrormaker_again or 0 for found in rows),
        "mm2_without_checkpoint": sum(found.mirrormaker is None for found in rows),
        "skipped": skipped,
        "classes": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        "memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2, 2),
        "machine": {"processors": os.cpu_count()},
    }


def lab_clients(lab: Lab, changed: Callable[[Topology], Topology] = lambda declared: declared) -> Clients:
    """Return clients of a lab, as a process outside Airflow has them.

    :param changed: returns what this process declares otherwise than the lab
    """
    topology = changed(load(Path(lab.environ["KAFKA_DR_TOPOLOGY"]), lab.environ))

    root = Path(topology.evidence.root.removeprefix("file://"))
    root.mkdir(parents=True, exist_ok=True)
    return Clients(
        topology,
        connections=Connections.stored(lab.connections().get),
        evidence_root=root,
        clock=SystemClock(),
    )
