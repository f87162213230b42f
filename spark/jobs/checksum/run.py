"""One checksum audit of one flow, from what was asked to what is kept."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np

from copy_audit.expired import ComparedRange
from copy_audit.fingerprints import Fingerprints, Longs
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import Ancestry, nowhere
from jobs.checksum import plan as checksum_plan
from jobs.checksum import self_test
from jobs.checksum.audit_store import AuditStore, ScanFacts, scan_name
from jobs.checksum.bounded import AuditOptions, within_offsets, within_time
from jobs.checksum.grace import FlowWait
from jobs.checksum.outcome import blocked_too_long, failure_of, next_state, reported
from jobs.checksum.payloads import keys_of, payloads_of
from jobs.checksum.plan import AuditPlan, PartitionAuditPlan
from jobs.checksum.previous_scans import PreviousKeys, previous_scans
from jobs.checksum.ranges import ResolvedRanges, resolve
from jobs.checksum.report import ChecksumReport, PartitionReport
from jobs.checksum.state import AuditState, Both, Scan
from jobs.fingerprint_log import FlowEnd
from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.errors import NeedsPerson, TryAgain
from kafka_dr.register.abandonment import History
from kafka_dr.register.quarantine import by_partition, quarantined
from kafka_dr.replication import Mm2Replicator
from kafka_dr.topology import ProtectionGroup
from kafka_dr_spark.fingerprints import Special

#: No record is younger than this.
_NEVER_YOUNG = 2**62
_SIDES: tuple[FlowEnd, FlowEnd] = ("source", "target")
_NOTHING = Fingerprints.joined([])


@dataclass(slots=True)
class Stopwatch:
    """How long each part took, in seconds."""

    clock: Clock
    laps: dict[str, float] = field(default_factory=dict)
    _began: float = 0.0
    _last: float = 0.0

    def __post_init__(self) -> None:
        self._began = self._last = self.clock.monotonic()

    def lap(self, name: str) -> None:
        """Say what the time since the last lap was spent on."""
        now = self.clock.monotonic()
        self.laps[name] = round(self.laps.get(name, 0.0) + now - self._last, 3)
        self._last = now

    def total(self) -> dict[str, float]:
        """Return all laps and their sum."""
        return {**self.laps, "total": round(self.clock.monotonic() - self._began, 3)}


@dataclass(frozen=True, slots=True)
class AuditInput:
    """What an audit knows before it reads anything.

    :param batch: known faults that were written, which it has to find
    """

    resolved: ResolvedRanges
    batch: self_test.SelfTestBatch


def ask(
    group: ProtectionGroup,
    *,
    source: KafkaCluster,
    target: KafkaCluster,
    replicator: Mm2Replicator,
    clock: Clock,
    options: AuditOptions,
) -> AuditInput:
    """Ask both clusters and Connect what there is to be read, and write the self test meanwhile."""
    now_ms, copies = int(clock.now().timestamp() * 1000), group.flow.replication_factor
    with ThreadPoolExecutor(1) as pool:
        testing = pool.submit(self_test.write, source, target, now_ms=now_ms, replication_factor=copies)
        resolved = resolve(
            group, source=source, target=target, replicator=replicator, clock=clock, only=options.of_topics
        )
        return AuditInput(resolved, testing.result())


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """What an audit has come to, before anything of it counts.

    :param state: what the next audit would go on from
    :param found: what is kept besides
    """

    report: ChecksumReport
    state: AuditState
    found: ScanFacts


@dataclass(slots=True)
class ChecksumRun:
    """One audit.

    :param source: reached as audit
    :param target: reached as audit
    :param flow_wait: what is asked about records that seem to wait too long
    :param history: what the registers hold about the group, where ranges are named that stay aside
    """

    group: ProtectionGroup
    source: KafkaCluster
    target: KafkaCluster
    memory: AuditStore
    watch: Stopwatch
    flow_wait: FlowWait
    history: History = field(default_factory=dict)

    def audit(self, options: AuditOptions, asked: AuditInput) -> AuditOutcome:
        """Audit the flow. Nothing of it counts until it is kept."""
        resolved, batch = asked.resolved, asked.batch
        scan = scan_name(resolved.at, secrets.token_hex(3))
        before = self.memory.read()
        kept = None if options.bounded else before
        if kept is not None and any(each.at >= resolved.at for each in kept.scans):
            # Beside it these ends would look like those of logs that were cut off.
            raise TryAgain("another audit of this flow has ended since this one began: run it again")
        if before is not None and not options.full:
            resolved = resolved.with_stamped((), checksum_plan.without_times(before, resolved))
        resolved, plan = self._planned(kept, resolved, options, scan, batch)
        gone = self._log_starts(plan)
        self.watch.lap("scan")
        report, state = self._compare(scan, plan, resolved, gone, options)
        report = replace(report, self_test=self._self_test(scan, batch))
        self.watch.lap("self_test")
        report = replace(report, failure=failure_of(report), seconds=self.watch.total())
        if options.bounded:
            self.memory.log.remove(scan)
        keep_for = timedelta(seconds=self.group.audits.keep_fingerprints_seconds)
        begun_anew = frozenset(p for p, each in plan.partitions.items() if each.events)
        return AuditOutcome(report, state, ScanFacts(scan, resolved.at, begun_anew, keep_for))

    def _planned(
        self,
        kept: AuditState | None,
        resolved: ResolvedRanges,
        options: AuditOptions,
        scan: str,
        batch: self_test.SelfTestBatch,
    ) -> tuple[ResolvedRanges, AuditPlan]:
        """AuditPlan and scan; once more where the records bear other times than the settings of their topics say."""
        while True:
            plan = checksum_plan.make(kept, resolved, full=options.full or options.bounded)
            if options.bounded:
                plan = self._within(plan, options, resolved)
            self._scan(scan, plan, batch, resolved)
            seen = resolved.with_stamped(*(self.memory.log.stamped(scan, side) - {self_test.TOPIC} for side in _SIDES))
            if seen.restamped == resolved.restamped:
                return seen, plan
            resolved = seen

    def _within(self, plan: AuditPlan, options: AuditOptions, resolved: ResolvedRanges) -> AuditPlan:
        known = self.memory.known_runs(plan.state.identity[:2])
        if options.offsets:
            return within_offsets(plan, options.offsets, known)
        clusters = self.source, self.target
        return within_time(plan, options, clusters, restamped=resolved.restamped, known=known)

    def keep(self, done: AuditOutcome) -> None:
        """Let the next audit go on from this one. The report has to be written before: what is settled now is never
        looked at again, and stands nowhere else.
        """
        self.memory.keep(done.state, done.report, done.found)
        self.memory.advance_frontier(done.state, done.report)

    def _scan(self, scan: str, plan: AuditPlan, batch: self_test.SelfTestBatch, resolved: ResolvedRanges) -> None:
        ranges: dict[FlowEnd, dict[TopicPartition, OffsetRange]] = {
            "source": {p: each.source for p, each in plan.partitions.items()} | batch.ranges(batch.source),
            "target": {p: each.target for p, each in plan.partitions.items()} | batch.ranges(batch.target),
        }
        self.memory.log.scan(
            scan,
            settings={"source": self.source.settings, "target": self.target.settings},
            ranges=ranges,
            special=Special(compacted=resolved.compacted, restamped=resolved.restamped),
        )

    def _log_starts(self, plan: AuditPlan) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]]:
        """Ask where the logs begin now: what lies below may have been deleted before it was read."""
        with ThreadPoolExecutor(2) as pool:
            jobs: list[Future[dict[TopicPartition, int]]] = []
            for side, cluster in zip(_SIDES, (self.source, self.target), strict=True):
                read = [p for p, each in plan.partitions.items() if len(getattr(each, side))]
                jobs.append(pool.submit(cluster.topics.log_starts, read))
            return jobs[0].result(), jobs[1].result()

    def _compare(
        self,
        scan: str,
        plan: AuditPlan,
        resolved: ResolvedRanges,
        gone: tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]],
        options: AuditOptions,
    ) -> tuple[ChecksumReport, AuditState]:
        age = timedelta(seconds=self.group.thresholds.max_record_age_seconds)
        young_from = int((resolved.at - age).timestamp() * 1000)
        late_before = resolved.at - timedelta(seconds=self.group.thresholds.max_lag_seconds)
        seen = {p: _seen_below(plan, p, late_before) for p in plan.partitions}
        outcomes: dict[TopicPartition, PartitionOutcome] = {}
        records = 0
        for topic in sorted({p.topic for p in plan.partitions}):
            logs = self._logs(scan, topic, plan, resolved, gone)
            records += sum(len(each.source) + len(each.target) for each in logs)
            lookups = AuditLookups(
                payloads_of(topic, source=self.source, target=self.target, restamped=topic in resolved.restamped),
                lambda hashes, topic=topic: self._ancestors(plan, topic, hashes),  # type: ignore[misc]
                PreviousKeys(self.memory.log, plan, topic, {"source": self.source, "target": self.target}).living,
                keys_of(topic, self.source),
            )
            self.watch.lap("read_log")
            found = audit_topic(
                [replace(each, seen_below=seen[TopicPartition(topic, each.partition)]) for each in logs],
                compacted=topic in resolved.compacted,
                young_from=young_from,
                lookups=lookups,
                late_before=int(late_before.timestamp() * 1000),
            )
            outcomes |= {TopicPartition(topic, outcome.partition): outcome for outcome in found}
            self.watch.lap("compare")
        reports: list[PartitionReport] = []
        states = dict(plan.state.partitions)
        for partition, outcome in self.flow_wait.judged(outcomes, seen).items():
            each = plan.partitions[partition]
            blocked = blocked_too_long(partition, each.known, resolved, age)
            reports.append(reported(partition, each, outcome, resolved, blocked))
            states[partition] = next_state(partition, each, outcome, resolved, scan)
        self.watch.lap("wait")
        done = Scan(scan, resolved.at, {p: _ranges(each) for p, each in plan.partitions.items()})
        # What is compared from the beginning makes the whole map again.
        maps = () if options.full and not options.topics else plan.state.maps
        state = replace(plan.state, partitions=states, scans=(*plan.state.scans, done), maps=maps)
        report = ChecksumReport(
            flow=f"{self.group.name}.{self.source.name}-to-{self.target.name}",
            epoch=resolved.epoch,
            at=resolved.at,
            full=options.full,
            partitions=tuple(reports),
            topic_ids=plan.state.topic_ids,
            self_test=(),
            failure="",
            duplicates_fail=self.group.audits.duplicates == "fail",
            seconds={},
            times_lost=resolved.times_lost(self.source.name, self.target.name),
            restamped=resolved.restamped,
            records_read=records,
            log_bytes=self.memory.log.bytes_of(scan),
        )
        return report, state

    def _logs(
        self,
        scan: str,
        topic: str,
        plan: AuditPlan,
        resolved: ResolvedRanges,
        gone: tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]],
    ) -> list[PartitionLogs]:
        """Return the partitions of a topic as they lie in the log, from where each was settled."""
        aside = {side: self._aside(side, topic, resolved) for side in _SIDES}
        sides: dict[FlowEnd, dict[TopicPartition, Fingerprints]] = {}
        for number, side in enumerate(_SIDES):
            new, old = self._kept(side, [scan], topic), self._waiting(side, topic, plan)
            sides[side] = {
                p: _since(each, number, old.get(p, _NOTHING), new.get(p, _NOTHING)).without(aside[side].get(p, ()))
                for p, each in plan.partitions.items()
                if p.topic == topic
            }
        found = []
        for partition in sorted(sides["source"]):
            each = plan.partitions[partition]
            before = [s.ranges[partition] for s in previous_scans(plan, partition)]
            starts = (gone[0].get(partition, 0), gone[1].get(partition, 0))
            here, there = checksum_plan.stretches(each, before, starts)
            found.append(
                PartitionLogs(
                    partition=partition.partition,
                    source=sides["source"][partition],
                    target=sides["target"][partition],
                    source_range=here,
                    target_range=there,
                    first=each.first,
                    position=None if resolved.positions is None else resolved.positions.get(partition, 0),
                    held_back=partition in resolved.target.hidden,
                    left_over=each.left_over,
                    quarantined=tuple(aside["source"].get(partition, ())),
                    missing=_missing(each),
                )
            )
        return found

    def _aside(
        self, side: FlowEnd, topic: str, resolved: ResolvedRanges
    ) -> dict[TopicPartition, list[tuple[int, int]]]:
        """Return what a failback has left aside on a side: no copy of anything, and meant to have none."""
        held = resolved.source if side == "source" else resolved.target
        cluster = self.source if side == "source" else self.target
        ids = {topic: held.topics[topic].topic_id} if topic in held.topics else {}
        found = by_partition(quarantined(self.history, cluster.name, ids))
        return {p: [(each.start, each.end) for each in ranges] for p, ranges in found.items()}

    def _waiting(self, side: FlowEnd, topic: str, plan: AuditPlan) -> dict[TopicPartition, Fingerprints]:
        """Return what earlier audits have read of a topic and not settled.

        :raises NeedsPerson: it is not where the state says it is
        """
        number = _SIDES.index(side)
        wanted: dict[tuple[str, ...], list[TopicPartition]] = {}
        for partition in (p for p in plan.partitions if p.topic == topic):
            resume = plan.partitions[partition].known.resume[number]
            ranges = {s.name: s.ranges[partition][number] for s in previous_scans(plan, partition)}
            needed = tuple(name for name, (start, end) in ranges.items() if end > max(start, resume))
            if needed:
                wanted.setdefault(needed, []).append(partition)
        for name in {name for names in wanted for name in names}:
            if not self.memory.log.exists(name, side):
                raise NeedsPerson(
                    f"{self.memory.log.uri}/{name}/{side} is gone, and records of {topic} in it wait to be compared: "
                    "nothing can be said about them; bring the folder back, or audit in full"
                )
        found: dict[TopicPartition, Fingerprints] = {}
        for names, partitions in wanted.items():
            kept = self.memory.log.read(side, names, [topic])
            found |= {partition: kept[partition] for partition in partitions if partition in kept}
        return found

    def _kept(self, side: FlowEnd, scans: Sequence[str], topic: str) -> dict[TopicPartition, Fingerprints]:
        there = [name for name in scans if self.memory.log.exists(name, side)]
        return self.memory.log.read(side, there, [topic]) if there else {}

    def _ancestors(self, plan: AuditPlan, topic: str, hashes: Longs) -> Ancestry:
        """Look for records in what earlier audits kept of the source, unless all of it is compared now."""
        if all(each.first for partition, each in plan.partitions.items() if partition.topic == topic):
            return nowhere(hashes)
        scans = [s.name for s in plan.state.scans if self.memory.log.exists(s.name, "source")]
        return self.memory.log.holding(scans, topic, hashes)

    def _self_test(self, scan: str, batch: self_test.SelfTestBatch) -> list[str]:
        """Audit the batch of known faults, and return what was not found in it."""
        sides = {side: self._kept(side, [scan], self_test.TOPIC) for side in _SIDES}
        logs = [
            PartitionLogs(
                partition.partition,
                _only(sides["source"].get(partition, _NOTHING), batch.source[partition]),
                _only(sides["target"].get(partition, _NOTHING), batch.target[partition]),
                ComparedRange(min(batch.source[partition]), max(batch.source[partition]) + 1),
                ComparedRange(min(batch.target[partition]), max(batch.target[partition]) + 1),
            )
            for partition in sorted(batch.source)
        ]
        lookups = AuditLookups(
            payloads_of(self_test.TOPIC, source=self.source, target=self.target, restamped=False), nowhere
        )
        outcomes = audit_topic(logs, compacted=False, young_from=_NEVER_YOUNG, lookups=lookups)
        return batch.missed([d for outcome in outcomes for d in (*outcome.settled, *outcome.waiting)])


def _since(plan: PartitionAuditPlan, side: int, old: Fingerprints, new: Fingerprints) -> Fingerprints:
    """Return what is compared of one side: what waits since the audits before, and what was read now."""
    return new if plan.anew else Fingerprints.joined([old.since(plan.known.resume[side]), new])


def _missing(plan: PartitionAuditPlan) -> Fingerprints:
    columns = np.array(plan.known.missing, np.int64).reshape(-1, 3).T
    return Fingerprints(*columns)


def _seen_below(plan: AuditPlan, partition: TopicPartition, before: datetime) -> int:
    """Return up to where an audit that long ago has seen a partition of the source."""
    return max((s.ranges[partition][0][1] for s in previous_scans(plan, partition) if s.at <= before), default=0)


def _ranges(plan: PartitionAuditPlan) -> tuple[Both, Both]:
    return (plan.source.start, plan.source.end), (plan.target.start, plan.target.end)


def _only(log: Fingerprints, offsets: Collection[int]) -> Fingerprints:
    return log.at(np.flatnonzero(np.isin(log.offsets, list(offsets))))
