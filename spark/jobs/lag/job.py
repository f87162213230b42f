"""The lag audit: ask, read, judge, remember, report."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.by_hand import how_to_record
from jobs.checksum.state import AuditState, StateStore
from jobs.connections import JobConnections
from jobs.flows import ReachedFlow, flow_of, reached
from jobs.lag.facts import LagFacts, ask
from jobs.lag.observed import LIFE, ask_observed, placed
from jobs.lag.reading import LagReading, read
from jobs.session import UNKNOWN, Sessions, exit_code, spark_session
from jobs.storage import local, path_of, rename_old_report
from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore
from kafka_dr.clock import Clock, SystemClock
from kafka_dr.errors import NeedsPerson
from kafka_dr.json_documents import write_whole
from kafka_dr.lag.assessment import Assessment, LagLook, assess
from kafka_dr.lag.findings import LagFinding, LagLimits, find
from kafka_dr.lag.report import Subject, behind_seconds, report
from kafka_dr.lag.window import Window, WindowStore, WindowUnreadable
from kafka_dr.replication.flow import Flow
from kafka_dr.topology.audited import AuditedFlow, audited_flow
from kafka_dr.topology.group_keys import Thresholds
from kafka_dr.topology.loading import load

FINDINGS = 1


def main(arguments: Sequence[str], environ: Mapping[str, str], sessions: Sessions = spark_session) -> int:
    """Audit the lag of one flow.

    :param sessions: lends the Spark session
    :returns: 0 if nothing exceeds its limit, 1 if something does, 2 if the result is unknown
    """
    return exit_code(lambda: _audit(_parse(arguments), environ, SystemClock(), sessions))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="lag_audit.py", description="Audit the lag of one flow and of its groups.")
    parser.add_argument("--topology", required=True, type=Path, help="the topology file")
    parser.add_argument(
        "--flow", required=True, help="GROUP.SOURCE-to-TARGET; of an observed flow FLOW.SOURCE-to-TARGET"
    )
    parser.add_argument("--out", required=True, help="a folder for report.json: a path, or a URI that Spark knows")
    parser.add_argument(
        "--most-offsets",
        type=int,
        default=1_000_000,
        help="offsets between two readers of a partition that are read; the rest is estimated (%(default)s)",
    )
    return parser.parse_args(arguments)


def _audit(options: argparse.Namespace, environ: Mapping[str, str], clock: Clock, sessions: Sessions) -> int:
    began = clock.monotonic()
    if (folder := local(options.out)) is not None:
        rename_old_report(folder)
    topology = load(options.topology, environ)
    flow = audited_flow(topology, options.flow)
    connections = JobConnections.read(environ)
    with sessions(f"lag audit of {options.flow}") as session:
        memory = _LagStore(path_of(topology.evidence.root, session), flow_of(flow))
        window = memory.window()
        out = path_of(options.out, session)
        out.mkdir(parents=True, exist_ok=True)
        rename_old_report(out)
        with reached(topology, flow, connections) as found:
            facts = _facts(session, found, memory, window, most=options.most_offsets, clock=clock)
            access = {"source": found.source.settings, "target": found.target.settings}
            reading = read(session, facts, **access, most_offsets=options.most_offsets)
        limits = _limits(flow.thresholds)
        assessed = assess(reading.partitions, facts.groups, _look(facts, window, limits))
        findings = find(assessed, limits, observed=flow.observed)
        subject = _subject(flow, facts, reading, seconds=clock.monotonic() - began)
        content = report(subject, assessed, findings, limits)
        _write(out, content)
        memory.keep(assessed, facts, findings, sentence=content["sentence"], report=f"{out}/report.json")
    if not flow.observed:
        print(how_to_record(memory.root, AuditKind.LAG, flow))
    print(f"{content['verdict']}: {content['sentence']}")
    return FINDINGS if findings else UNKNOWN if facts.left_out else 0


def _facts(
    session: SparkSession, found: ReachedFlow, memory: _LagStore, window: Window, *, most: int, clock: Clock
) -> LagFacts:
    if found.watched is not None:
        return ask(found, found.watched, clock=clock)
    asked = ask_observed(found, state=memory.settled(), window=window, most=most, clock=clock)
    return placed(session, found, asked)


@dataclass(frozen=True, slots=True)
class _LagStore:
    """What the lag audits of one flow keep below the evidence root."""

    root: Any
    flow: Flow

    @property
    def _windows(self) -> WindowStore:
        return WindowStore(self.root, self.flow.group, source=self.flow.source, target=self.flow.target)

    def window(self) -> Window:
        try:
            return self._windows.read()
        except WindowUnreadable as error:
            raise NeedsPerson(
                f"{error}: find out what changed it, then remove it; the trend is then judged from now on"
            ) from error

    def settled(self) -> AuditState | None:
        """Return what the last checksum audit left."""
        direction = f"{self.flow.source}-to-{self.flow.target}"
        return StateStore(self.root.joinpath("audits", self.flow.group, str(AuditKind.CHECKSUM), direction)).read()

    def keep(
        self, found: Assessment, facts: LagFacts, findings: Sequence[LagFinding], *, sentence: str, report: str
    ) -> None:
        """Keep the window before the result: otherwise the next audit would judge by fewer looks."""
        self._windows.write(found.window)
        ResultStore(self.root).write(
            AuditResult(
                kind=AuditKind.LAG,
                group=self.flow.group,
                source=self.flow.source,
                target=self.flow.target,
                epoch=facts.epoch,
                verdict=_verdict(findings, facts),
                at=facts.at,
                sentence=sentence,
                report=report,
                behind_seconds=behind_seconds(found),
            )
        )


def _verdict(findings: Sequence[LagFinding], facts: LagFacts) -> AuditVerdict:
    if any(finding.blocks_failover for finding in findings):
        return AuditVerdict.RED
    if facts.left_out:
        return AuditVerdict.UNKNOWN
    return AuditVerdict.WARNING if findings else AuditVerdict.GREEN


def _limits(thresholds: Thresholds) -> LagLimits:
    return LagLimits(
        record_age=thresholds.max_record_age_seconds,
        failover_lag=thresholds.max_lag_seconds,
        replication_latency=thresholds.max_replication_latency_seconds,
        checkpoint_latency=thresholds.max_checkpoint_latency_seconds,
        retention_headroom=thresholds.min_retention_headroom_seconds,
    )


def _look(facts: LagFacts, window: Window, limits: LagLimits) -> LagLook:
    return LagLook(
        at=facts.at,
        window=window,
        life=LIFE if facts.state == "observed" else f"epoch {facts.epoch}",
        active=facts.active,
        allowed_seconds=limits.record_age,
        headroom_seconds=limits.retention_headroom,
    )


def _subject(flow: AuditedFlow, facts: LagFacts, reading: LagReading, *, seconds: float) -> Subject:
    return Subject(
        flow=flow.name,
        epoch=facts.epoch,
        flow_state=facts.state,
        at=facts.at,
        seconds=seconds,
        records_read=reading.records,
        latency_from=reading.latency_from,
        not_looked_at=facts.left_out,
        cautions=facts.cautions,
        unjudged=facts.unjudged,
    )


def _write(out: Any, content: Mapping[str, Any]) -> None:
    write_whole(out.joinpath("report.json"), (json.dumps(content, indent=1) + "\n").encode())
