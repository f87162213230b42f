"""The list of stranded records: arguments, session, the clusters that are asked, exit code."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jobs.connections import JobConnections
from jobs.flows import recognised
from jobs.session import Sessions, exit_code, spark_session
from jobs.storage import path_of, uri_of
from jobs.stranded.plan import AbandonedGroup, abandoned_group, plan
from jobs.stranded.run import find
from kafka_dr.audit.erasure import Erasure, erasures_in
from kafka_dr.audit.stranded import StrandedList, StrandedStore, StrandedUnreadable, knows_less
from kafka_dr.clock import Clock, Stopwatch, SystemClock
from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.clusters.renamed import seen_as
from kafka_dr.codec import NotDecoded
from kafka_dr.errors import KafkaDrError, NeedsPerson, TryAgain
from kafka_dr.register import KafkaRegister
from kafka_dr.register.abandonment import failback_changed_it_since
from kafka_dr.register.port import History
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.watched_flow import watch_flow
from kafka_dr.topology.drill_group import topology_for
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology

FINDINGS = 1


def main(arguments: Sequence[str], environ: Mapping[str, str], sessions: Sessions = spark_session) -> int:
    """List the stranded records of one protection group, and keep them.

    :param sessions: lends the Spark session
    :returns: 0 if nothing is stranded, 1 if there are stranded records, 2 if the result is unknown
    """
    return exit_code(lambda: _list(_parse(arguments), environ, SystemClock(), sessions))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="stranded_records.py",
        description="List and keep the records that the old cluster holds and that were never copied.",
    )
    parser.add_argument("--topology", required=True, type=Path, help="the topology file")
    parser.add_argument("--group", required=True, help="the protection group")
    parser.add_argument("--cluster", help="the cluster that holds them; needed if several may hold stranded records")
    return parser.parse_args(arguments)


def _list(options: argparse.Namespace, environ: Mapping[str, str], clock: Clock, sessions: Sessions) -> int:
    watch = Stopwatch(clock)
    topology = topology_for(options.group, load(options.topology, environ))
    group = topology.group(options.group)
    connections = JobConnections.read(environ)
    encryption = topology.evidence.encryption_connection
    keys = None if encryption is None else connections.content_keys(encryption)
    with ExitStack() as stack:
        clusters = _all_reached(topology, group.clusters, connections, stack)
        registers = {name: KafkaRegister(cluster, clock) for name, cluster in clusters.items()}
        left = abandoned_group(group, registers, options.cluster)
        old, new = clusters[left.abandonment.old], clusters[left.abandonment.new]
        session = stack.enter_context(sessions(f"stranded records of {group.name}"))
        watch.lap("session")
        root = path_of(topology.evidence.root, session)
        list_name = left.abandonment.name
        store = StrandedStore(root, group.name, list_name)
        kept = _kept(store)
        if kept is not None and (left.held or failback_changed_it_since(left.history, list_name)):
            return _said_before(kept, "a failback rests on it")
        said = _flow_says(topology, left, new)
        others = {name: clusters[name] for name in left.others}
        copies = seen_as(new, group.naming(old.name, new.name))
        planned = plan(group, left, old, copies, root=root, positions=said, now=clock.now(), others=others)
        watch.lap("resolve")
        if kept is not None and knows_less(planned.as_list(), kept):
            return _said_before(kept, f"{kept.old} has changed since")
        erasures = _erasures(left.history, list_name)
        found = find(
            session, planned, old, copies, uri=_uri(topology, store), watch=watch, erasures=erasures, keys=keys
        )
        if _erasures(registers[new.name].history(group.name), list_name) != erasures:
            raise TryAgain("records were erased while the list was made, and it may hold them: run this again")
        store.write(found)
    print(f"{found.verdict}: {found.sentence}")
    return FINDINGS if found.records else 0


def _said_before(kept: StrandedList, why: str) -> int:
    """Keep the former list: the old cluster may no longer hold its records, or somebody has approved it."""
    print(f"{kept.verdict}: {kept.sentence} (kept before; {why})")
    return FINDINGS if kept.records else 0


def _all_reached(
    topology: Topology, names: Sequence[str], connections: JobConnections, stack: ExitStack
) -> dict[str, KafkaCluster]:
    """Reach the clusters of a group; of several standbys one may be away.

    :raises KafkaDrError: a cluster of a pair does not answer, or one answers with another id
    """
    found = {}
    for name in names:
        try:
            found[name] = stack.enter_context(recognised(topology, name, connections))
        except TryAgain as error:
            if len(names) == 2:
                raise
            print(f"{name} is not asked what it holds: {error}")
    return found


def _flow_says(topology: Topology, left: AbandonedGroup, new: KafkaCluster) -> Mapping[TopicPartition, int]:
    """Return up to where the flow's positions say that it copied; empty if they cannot be read: content decides.

    That they cannot be read is printed with what to do about it.
    """
    flow = Flow(left.group, left.abandonment.old, left.abandonment.new)
    try:
        return watch_flow(flow, target=new, declared=topology.cluster(new.name)).positions()
    except KafkaDrError as error:
        print(f"the positions of {flow} are not known, so only the content of records is compared: {error}")
        return {}


def _erasures(history: History, left_by: str) -> tuple[Erasure, ...]:
    """Return what was erased from former lists of a run."""
    try:
        return erasures_in(history.get(left_by, {}))
    except NotDecoded as error:
        raise NeedsPerson(f"the register's record of what was erased cannot be read: {error}") from error


def _kept(store: StrandedStore) -> StrandedList | None:
    try:
        return store.read()
    except StrandedUnreadable as error:
        raise NeedsPerson(f"{error}: find out what changed it, and move it away; then run this again") from error


def _uri(topology: Topology, store: StrandedStore) -> Any:
    """Return the list's folder as Spark names it."""
    return f"{uri_of(topology.evidence.root).rstrip('/')}/stranded/{store.folder.parent.name}/{store.folder.name}"
