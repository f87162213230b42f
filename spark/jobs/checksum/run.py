"""One checksum audit of one flow, from what was asked to what is kept."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np

from copy_audit.expired import ComparedRange
from copy_audit.fingerprints import NOTHING, Fingerprints
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import nowhere
from jobs.checksum import plan as checksum_plan
from jobs.checksum import self_test
from jobs.checksum.aborted_copies import aborted_named
from jobs.checksum.audit_store import AuditStore, ScanFacts, scan_name
from jobs.checksum.bounded import AuditOptions, within_offsets, within_time
from jobs.checksum.compared_logs import ComparedLogs
from jobs.checksum.complete import complete_up_to
from jobs.checksum.grace import FlowWait
from jobs.checksum.outcome import blocked_too_long, failure_of, next_state, reported
from jobs.checksum.payloads import keys_of, payloads_of
from jobs.checksum.plan import AuditPlan, PartitionAuditPlan
from jobs.checksum.previous_scans import PreviousKeys, previous_scans
from jobs.checksum.ranges import ResolvedRanges, resolve
from jobs.checksum.report import ChecksumReport, PartitionReport
from jobs.checksum.state import AuditState, Both, Scan
from jobs.fingerprint_log import FLOW_ENDS, FlowEnd
from jobs.flows import ReachedFlow
from kafka_dr.clock import Clock, Stopwatch
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.errors import TryAgain
from kafka_dr.parallel import at_once
from kafka_dr.positions import SeedPoint
from kafka_dr.register.flow_seed import all_seeds, newest
from kafka_dr.register.port import History
from kafka_dr.topology.audited import AuditedFlow
from kafka_dr_spark.fingerprints import Special

#: No record is younger than this.
_NEVER_YOUNG = 2**62


@dataclass(frozen=True, slots=True)
class AuditInput:
    """What an audit knows before it reads anything.

    :param batch: known faults that were written, which the audit has to find
    """

    resolved: ResolvedRanges
    batch: self_test.SelfTestBatch


def ask(reached: ReachedFlow, *, clock: Clock, options: AuditOptions) -> AuditInput:
    """Ask both clusters and the flow which offsets to read, and write the self-test at the same time."""
    resolved, batch = at_once(
        lambda: resolve(reached, clock=clock, only=options.of_topics), lambda: _self_test(reached, clock)
    )
    return AuditInput(resolved, batch)


def _self_test(reached: ReachedFlow, clock: Clock) -> self_test.SelfTestBatch:
    now_ms = int(clock.now().timestamp() * 1000)
    if reached.declared.observed or not isinstance(reached.target, KafkaCluster):
        return self_test.in_memory(now_ms=now_ms)
    copies = reached.declared.replication_factor
    return self_test.write(reached.source, reached.target, now_ms=now_ms, replication_factor=copies)


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """The result of an audit, before any of it counts.

    :param state: what the next audit would continue from
    :param found: what else is kept
    """

    report: ChecksumReport
    state: AuditState
    found: ScanFacts


@dataclass(slots=True)
class ChecksumRun:
    """One audit.

    :param reached: the flow, and both clusters by a principal that may only read
    :param flow_wait: gives the flow time for records that seem late; ``None`` if it cannot be asked where it is
    :param history: the journals of the group, which name the ranges that a failback quarantined
    """

    reached: ReachedFlow
    store: AuditStore
    watch: Stopwatch
    flow_wait: FlowWait | None
    history: History = field(default_factory=dict)

    @property
    def flow(self) -> AuditedFlow:
        """What is declared of the flow."""
        return self.reached.declared

    @property
    def source(self) -> KafkaCluster:
        """The source."""
        return self.reached.source

    @property
    def target(self) -> FlowCluster:
        """The target, under the names of the source."""
        return self.reached.target

    def audit(self, options: AuditOptions, asked: AuditInput) -> AuditOutcome:
        """Audit the flow. The result is valid only after it is saved."""
        resolved, batch = asked.resolved, asked.batch
        scan = scan_name(resolved.at, secrets.token_hex(3))
        before = self.store.read()
        kept = None if options.bounded else before
        if kept is not None and any(each.at >= resolved.at for each in kept.scans):
            # Compared with its state, these ends would look like those of truncated logs.
            raise TryAgain("another audit of this flow ended after this one had begun: run this one again")
        if before is not None and not options.full:
            resolved = resolved.with_untimed(checksum_plan.without_times(before, resolved), ())
        resolved, plan = self._planned(kept, resolved, options, scan, batch)
        gone = self._log_starts(plan)
        self.watch.lap("scan")
        report, state = self._compare(scan, plan, resolved, gone, options)
        report = replace(report, self_test=self._self_test(scan, batch))
        self.watch.lap("self_test")
        report = replace(report, failure=failure_of(report), seconds=self.watch.total(), bounded=options.bounded)
        if options.bounded:
            self.store.log.remove(scan)
        keep_for = timedelta(seconds=self.flow.audits.keep_fingerprints_seconds)
        begun_again = frozenset(p for p, each in plan.partitions.items() if each.events)
        return AuditOutcome(report, state, ScanFacts(scan, resolved.at, begun_again, keep_for))

    def _planned(
        self,
        kept: AuditState | None,
        resolved: ResolvedRanges,
        options: AuditOptions,
        scan: str,
        batch: self_test.SelfTestBatch,
    ) -> tuple[ResolvedRanges, AuditPlan]:
        """Plan and scan; again, if records have no time of their own, and their topics' settings do not say so."""
        while True:
            begins = {} if options.bounded else beginnings(self.history, resolved, self.source.name, self.target.name)
            plan = checksum_plan.make(kept, resolved, full=options.full or options.bounded, beginnings=begins)
            if options.bounded:
                plan = self._within(plan, options, resolved)
            self._scan(scan, plan, batch, resolved)
            found = [self.store.log.times(scan, end).without(self_test.TOPIC) for end in FLOW_ENDS]
            seen = resolved.with_stamped(*(each.stamped for each in found))
            seen = seen.with_untimed(*(each.untimed for each in found))
            if seen.restamped == resolved.restamped:
                return seen, plan
            resolved = seen

    def _within(self, plan: AuditPlan, options: AuditOptions, resolved: ResolvedRanges) -> AuditPlan:
        known = self.store.known_runs(plan.state.identity[:2])
        if options.offsets:
            return within_offsets(plan, options.offsets, known)
        clusters = self.source, self.target
        return within_time(plan, options, clusters, restamped=resolved.restamped, known=known)

    def keep(self, done: AuditOutcome) -> None:
        """Let the next audit continue from this one.

        The report has to be written before: what is settled now is never looked at again, and is kept nowhere else.
        """
        self.store.keep(done.state, done.report, done.found)
        self.store.advance_frontier(done.state, done.report)

    @property
    def _logs(self) -> ComparedLogs:
        return ComparedLogs(self.store.log, {"source": self.source.name, "target": self.target.name}, self.history)

    def _scan(self, scan: str, plan: AuditPlan, batch: self_test.SelfTestBatch, resolved: ResolvedRanges) -> None:
        ranges: dict[FlowEnd, dict[TopicPartition, OffsetRange]] = {
            "source": {p: each.source for p, each in plan.partitions.items()},
            "target": {p: each.target for p, each in plan.partitions.items()},
        }
        if not batch.records:
            ranges["source"] |= batch.ranges(batch.source)
            ranges["target"] |= batch.ranges(batch.target)
        self.store.log.scan(
            scan,
            settings={"source": self.source.settings, "target": self.target.settings},
            ranges=ranges,
            special=Special(compacted=resolved.compacted, restamped=resolved.restamped),
            copies=self._copy_names({p.topic for p in plan.partitions}),
            more=batch.records,
        )

    def _copy_names(self, topics: Collection[str]) -> dict[str, str]:
        """Return what copies are called, where that is another name than that of their originals."""
        names = {topic: self.flow.copy_of(topic) for topic in sorted(topics)}
        return {topic: copy for topic, copy in names.items() if copy is not None and copy != topic}

    def _log_starts(self, plan: AuditPlan) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]]:
        """Ask where the logs start now: records below may have been deleted before they were read."""
        on_source = [p for p, each in plan.partitions.items() if len(each.source)]
        on_target = [p for p, each in plan.partitions.items() if len(each.target)]
        return at_once(
            lambda: self.source.topics.log_starts(on_source), lambda: self.target.topics.log_starts(on_target)
        )

    def _compare(
        self,
        scan: str,
        plan: AuditPlan,
        resolved: ResolvedRanges,
        gone: tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]],
        options: AuditOptions,
    ) -> tuple[ChecksumReport, AuditState]:
        age = timedelta(seconds=self.flow.thresholds.max_record_age_seconds)
        young_from = int((resolved.at - age).timestamp() * 1000)
        late_before = resolved.at - timedelta(seconds=self.flow.thresholds.max_lag_seconds)
        seen = {p: _seen_below(plan, p, late_before) for p in plan.partitions}
        outcomes: dict[TopicPartition, PartitionOutcome] = {}
        records = 0
        for topic in sorted({p.topic for p in plan.partitions}):
            logs, ancestors = self._logs.of_topic(scan, topic, plan, resolved, gone)
            records += sum(len(each.source) + len(each.target) for each in logs)
            lookups = AuditLookups(
                payloads_of(topic, source=self.source, target=self.target, restamped=topic in resolved.restamped),
                lambda hashes, topic=topic: self._logs.ancestors(plan, topic, hashes),  # type: ignore[misc]
                PreviousKeys(self.store.log, plan, topic, {"source": self.source, "target": self.target}).living,
                keys_of(topic, self.source),
                ancestors,
            )
            self.watch.lap("read_log")
            found = audit_topic(
                [replace(each, seen_below=seen[TopicPartition(topic, each.partition)]) for each in logs],
                compacted=topic in resolved.compacted,
                young_from=young_from,
                lookups=lookups,
                late_before=int(late_before.timestamp() * 1000),
            )
            if resolved.by_others:
                special = Special(resolved.compacted, resolved.restamped)
                found = aborted_named(
                    self.store.log, topic, (logs, found), source=self.source.settings, special=special
                )
            outcomes |= {TopicPartition(topic, outcome.partition): outcome for outcome in found}
            self.watch.lap("compare")
        reports: list[PartitionReport] = []
        states = dict(plan.state.partitions)
        judged = outcomes if self.flow_wait is None else self.flow_wait.judged(outcomes, seen)
        for partition, outcome in judged.items():
            each = plan.partitions[partition]
            blocked = blocked_too_long(partition, each.known, resolved, age)
            reports.append(reported(partition, each, outcome, resolved, blocked))
            states[partition] = next_state(partition, each, outcome, resolved, scan)
        self.watch.lap("wait")
        done = Scan(scan, resolved.at, {p: _ranges(each) for p, each in plan.partitions.items()})
        # An audit from the start of the logs makes a whole new map.
        maps = () if options.full and not options.topics else plan.state.maps
        before = (plan.state.complete, plan.state.awaited)
        complete, awaited = complete_up_to(before, reports, resolved.source.hidden, resolved.at)
        state = replace(
            plan.state,
            partitions=states,
            scans=(*plan.state.scans, done),
            maps=maps,
            complete=complete,
            awaited=awaited,
        )
        report = ChecksumReport(
            flow=self.flow.name,
            epoch=resolved.epoch,
            at=resolved.at,
            full=options.full,
            partitions=tuple(reports),
            topic_ids=plan.state.topic_ids,
            self_test=(),
            failure="",
            duplicates_fail=self.flow.audits.duplicates == "fail",
            seconds={},
            times_lost=resolved.times_lost(self.source.name, self.target.name),
            restamped=resolved.restamped,
            left_out=resolved.left_out,
            cautions=resolved.cautions,
            copies=self._copy_names(plan.state.topic_ids),
            complete=complete,
            records_read=records,
            log_bytes=self.store.log.bytes_of(scan),
        )
        return report, state

    def _self_test(self, scan: str, batch: self_test.SelfTestBatch) -> list[str]:
        """Audit the batch of known faults, and return what was not found in it."""
        logs_of = {end: self._logs.of_scans(end, [scan], self_test.TOPIC) for end in FLOW_ENDS}
        logs = [
            PartitionLogs(
                partition.partition,
                _only(logs_of["source"].get(partition, NOTHING), batch.source[partition]),
                _only(logs_of["target"].get(partition, NOTHING), batch.target[partition]),
                ComparedRange(min(batch.source[partition]), max(batch.source[partition]) + 1),
                ComparedRange(min(batch.target[partition]), max(batch.target[partition]) + 1),
            )
            for partition in sorted(batch.source)
        ]
        payloads = (
            batch.payloads
            if batch.records
            else payloads_of(self_test.TOPIC, source=self.source, target=self.target, restamped=False)
        )
        lookups = AuditLookups(payloads, nowhere)
        outcomes = audit_topic(logs, compacted=False, young_from=_NEVER_YOUNG, lookups=lookups)
        return batch.missed([d for outcome in outcomes for d in (*outcome.settled, *outcome.waiting)])


def beginnings(history: History, resolved: ResolvedRanges, source: str, target: str) -> dict[TopicPartition, SeedPoint]:
    """Return where comparing a flow begins that took over existing replication; nothing for any other flow.

    What the existing replication had copied, with its faults, was compared and approved by the take over.

    :param history: the journals of the group
    """
    seeds = (seed for seed in all_seeds(history) if (seed.source, seed.target) == (source, target))
    seed = newest(each for each in seeds if each.epoch == resolved.epoch)
    if seed is None or not seed.takes_over:
        return {}
    now = {name: topic.topic_id for name, topic in resolved.source.topics.items()}
    known = seed.topic_ids or {}
    return {p: point for p, point in seed.points.items() if p.topic in now and now[p.topic] == known.get(p.topic)}


def _seen_below(plan: AuditPlan, partition: TopicPartition, before: datetime) -> int:
    """Return up to which offset an audit at that time or before had seen a partition of the source."""
    return max((s.ranges[partition][0][1] for s in previous_scans(plan, partition) if s.at <= before), default=0)


def _ranges(plan: PartitionAuditPlan) -> tuple[Both, Both]:
    return (plan.source.start, plan.source.end), (plan.target.start, plan.target.end)


def _only(log: Fingerprints, offsets: Collection[int]) -> Fingerprints:
    return log.at(np.flatnonzero(np.isin(log.offsets, list(offsets))))
