"""The checksum audit: arguments, session, what is written where, exit code."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.by_hand import how_to_record
from jobs.checksum.audit_store import AuditStore
from jobs.checksum.bounded import AuditOptions, OffsetBounds
from jobs.checksum.grace import FlowWait
from jobs.checksum.run import ChecksumRun, ask
from jobs.connections import JobConnections
from jobs.flows import ReachedFlow, flow_of, group_named, reached
from jobs.session import UNKNOWN, Sessions, exit_code, spark_session
from jobs.storage import local, path_of, rename_old_report
from kafka_dr.audit.result import AuditKind
from kafka_dr.causes import cause
from kafka_dr.clock import Clock, Stopwatch, SystemClock
from kafka_dr.clusters.renamed import plain
from kafka_dr.register import KafkaRegister
from kafka_dr.register.port import History
from kafka_dr.topology.audited import audited_flow
from kafka_dr.topology.drill_group import topology_for
from kafka_dr.topology.loading import load

FINDINGS = 1


def main(arguments: Sequence[str], environ: Mapping[str, str], sessions: Sessions = spark_session) -> int:
    """Audit one flow.

    :param sessions: lends the Spark session
    :returns: 0 if the copy is equal, 1 if there are findings, 2 if the result is unknown
    """
    parsed = _parse(arguments)
    return exit_code(lambda: _audit(parsed, environ, SystemClock(), sessions))


def _history(found: ReachedFlow, clock: Clock) -> History:
    """Return the journals of the group in both registers, by run; a fact may be in one of them only.

    An observed flow has no register.
    """
    merged: dict[str, dict[str, Any]] = {}
    for cluster in (found.source, plain(found.target)) if not found.declared.observed else ():
        for run, facts in KafkaRegister(cluster, clock).history(found.declared.subject).items():
            merged.setdefault(run, {}).update(facts)
    return merged


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="checksum_audit.py", description="Verify, record by record, that the copy of a flow is the original."
    )
    parser.add_argument("--topology", required=True, type=Path, help="the topology file")
    parser.add_argument(
        "--flow", required=True, help="GROUP.SOURCE-to-TARGET; of an observed flow FLOW.SOURCE-to-TARGET"
    )
    parser.add_argument("--out", required=True, help="a folder for the report: a path, or a URI that Spark knows")
    parser.add_argument("--full", action="store_true", help="begin again instead of continuing the previous audit")
    parser.add_argument("--topics", nargs="+", default=[], metavar="TOPIC", help="only these topics of the group")
    when = "; ISO 8601, UTC unless it says otherwise; only the report is kept then"
    parser.add_argument("--since", type=_moment, metavar="TIME", help=f"only records made then or later{when}")
    parser.add_argument("--until", type=_moment, metavar="TIME", help=f"only records made before{when}")
    parser.add_argument(
        "--offsets",
        nargs="+",
        default=[],
        type=_stretch,
        metavar="TOPIC-PARTITION:START-END",
        help="only these offsets of the source, END excluded, both may be left out; only the report is kept",
    )
    options = parser.parse_args(arguments)
    if options.offsets and (options.topics or options.since or options.until):
        parser.error("--offsets cannot be combined with --topics, --since or --until: leave these out")
    return options


def _stretch(text: str) -> OffsetBounds:
    try:
        return OffsetBounds.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(cause(error)) from error


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _options(arguments: argparse.Namespace) -> AuditOptions:
    return AuditOptions(
        arguments.full, tuple(arguments.topics), arguments.since, arguments.until, tuple(arguments.offsets)
    )


def _audit(arguments: argparse.Namespace, environ: Mapping[str, str], clock: Clock, sessions: Sessions) -> int:
    watch = Stopwatch(clock)
    if (folder := local(arguments.out)) is not None:
        rename_old_report(folder)
    topology = topology_for(group_named(arguments.flow), load(arguments.topology, environ))
    flow = audited_flow(topology, arguments.flow)
    connections = JobConnections.read(environ)
    options = _options(arguments)
    with reached(topology, flow, connections) as found:
        history = _history(found, clock)
        asked = ask(found, clock=clock, options=options)
        watch.lap("resolve")
        with sessions(f"checksum audit of {arguments.flow}") as session:
            watch.lap("session")
            out = path_of(arguments.out, session)
            out.mkdir(parents=True, exist_ok=True)
            rename_old_report(out)
            store = AuditStore.of(topology.evidence.root, session, flow_of(flow))
            latency = flow.thresholds.max_replication_latency_seconds
            flow_wait = None if found.watched is None else FlowWait(found.watched, clock, latency)
            run = ChecksumRun(found, store, watch, flow_wait, history)
            done = run.audit(options, asked)
            report = done.report
            # In this order: wherever the process dies, every settled finding is in a report, and only a result that was
            # kept permits a failover.
            report.write(out)
            if not options.bounded and not report.failure:
                run.keep(done)
            if options.whole or report.verdict == "findings":
                store.publish(report, report_path=f"{out}/report.json", whole=options.whole)
            if options.whole and not flow.observed:
                print(how_to_record(store.root, AuditKind.CHECKSUM, flow))
    print(f"{report.verdict}: {report.sentence}")
    return {"equal": 0, "findings": FINDINGS}.get(report.verdict, UNKNOWN)
