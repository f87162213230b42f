"""The conflict audit: arguments, session, what is written where, exit code."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from jobs.conflicts.origins import MemberBlock, ask_members
from jobs.conflicts.run import ConflictRun
from jobs.conflicts.self_test import missed
from jobs.connections import JobConnections
from jobs.flows import recognised
from jobs.session import UNKNOWN, Sessions, exit_code, spark_session
from jobs.storage import path_of, rename_old_report, uri_of
from kafka_dr.clock import Clock, Stopwatch, SystemClock
from kafka_dr.errors import Refused
from kafka_dr.json_documents import write_whole
from kafka_dr.topology.conflicts import ConflictsSpec
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology

FINDINGS = 1


def main(arguments: Sequence[str], environ: Mapping[str, str], sessions: Sessions = spark_session) -> int:
    """Audit one block.

    :param sessions: lends the Spark session
    :returns: 0 if no conflict is certain, 1 if some are, 2 if the result is unknown
    """
    parsed = _parse(arguments)
    return exit_code(lambda: _audit(parsed, environ, SystemClock(), sessions))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="conflict_audit.py",
        description="Find records of one key that two members took before either had the other's.",
    )
    parser.add_argument("--topology", required=True, type=Path, help="the topology file")
    parser.add_argument("--block", required=True, help="the block of active_active")
    parser.add_argument("--out", required=True, help="a folder for the report: a path, or a URI that Spark knows")
    parser.add_argument("--full", action="store_true", help="begin again instead of continuing the previous audit")
    parser.add_argument("--topics", nargs="+", default=[], metavar="TOPIC", help="only these topics; nothing is kept")
    return parser.parse_args(arguments)


def _declared(topology: Topology, name: str) -> tuple[MemberBlock, ConflictsSpec]:
    found = topology.active_active.get(name)
    if found is None:
        known = ", ".join(sorted(topology.active_active)) or "none is declared"
        raise Refused(f"active_active has no block {name!r}: choose one of {known}")
    if found.conflicts is None:
        raise Refused(f"the topology declares no audit of conflicts in {name}: add conflicts: {{skew_ms: 500}} to it")
    member_of = topology.blocks[name]
    readers = {member: found.readers_on(member) for member in member_of.groups}
    return MemberBlock(name, topology, member_of.groups, readers, member_of.canary_topics), found.conflicts


def _audit(options: argparse.Namespace, environ: Mapping[str, str], clock: Clock, sessions: Sessions) -> int:
    watch = Stopwatch(clock)
    topology = load(options.topology, environ)
    block, declared = _declared(topology, options.block)
    connections = JobConnections.read(environ)
    encryption = topology.evidence.encryption_connection
    keys = None if encryption is None else connections.content_keys(encryption)
    with ExitStack() as stack:
        clusters = {name: stack.enter_context(recognised(topology, name, connections)) for name in block.sites}
        asked = ask_members(block, clusters, clock)
        if options.topics:
            asked = asked.of_topics(options.topics)
        watch.lap("resolve")
        session = stack.enter_context(sessions(f"conflict audit of {block.name}"))
        watch.lap("session")
        out = path_of(options.out, session)
        out.mkdir(parents=True, exist_ok=True)
        rename_old_report(out)
        if wrong := missed(session, skew_ms=declared.skew_ms):
            raise Refused(f"the self-test failed, so nothing is said: {wrong}; keep this log, and report it")
        root = topology.evidence.root
        run = ConflictRun(
            session,
            block,
            declared,
            clusters,
            path_of(root, session),
            uri_of(root),
            watch,
            keys,
            whole=not options.topics,
        )
        done = run.audit(asked, full=options.full, out=uri_of(options.out))
        write_whole(out.joinpath("report.json"), (json.dumps(done.report.to_json(), indent=1) + "\n").encode())
        if not options.topics:
            run.keep(done)
    print(f"{done.report.verdict}: {done.report.sentence}")
    return {"findings": FINDINGS, "unknown": UNKNOWN}.get(done.report.verdict, 0)
