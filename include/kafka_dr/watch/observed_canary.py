"""Canaries of a flow that somebody else runs: the only thing that is written for it, to one topic of its source."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta

from kafka_dr.canary.probe import run_canary
from kafka_dr.canary.record import CanaryFlow
from kafka_dr.clusters import KafkaCluster
from kafka_dr.clusters.renamed import RenamedCluster
from kafka_dr.errors import Refused
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.observed import ObservedFlowSpec
from kafka_dr.watch.canary_check import canary_result

#: An observed flow has no register, and so no epoch.
_EPOCH = 0


def watch_observed_canary(flow: ObservedFlowSpec, clients: Clients) -> WatchResult:
    """Send a canary to each partition of the flow's canary topic, and judge how these and earlier ones were copied.

    :raises Refused: the topology names no canary for the flow
    :raises KafkaDrError: a cluster does not answer, or refuses
    """
    if (canary := flow.canary) is None:
        raise Refused(f"the topology declares no canary of {flow.name}: add canary to it, or leave it out")
    topic, naming = canary.topic, flow.naming.rule()
    with ExitStack() as stack:

        def reach(name: str, connection: str, known_topic: str) -> KafkaCluster:
            settings = clients.connections.kafka(connection)
            return stack.enter_context(KafkaCluster(name, settings, known_topic=known_topic))

        report = run_canary(
            CanaryFlow(flow.name, flow.source.name, flow.target.name, _EPOCH),
            topic=topic,
            publisher=reach(flow.source.name, canary.connection, topic),
            source=reach(flow.source.name, flow.source.connection, topic),
            target=RenamedCluster(
                reach(flow.target.name, flow.target.connection, naming.copy_of(topic) or topic), naming
            ),
            clock=clients.clock,
            late_after=timedelta(seconds=canary.late_seconds),
        )
    twice = report.verdict.copied_twice
    if flow.audits is None or flow.audits.duplicates == "report":
        report = replace(report, verdict=report.verdict.without_duplicates())
    found = canary_result(flow.name, report)
    facts = {**found.facts, "copied_twice": twice}
    repeated = (f"{twice} of the last canaries were copied more than once",) if twice else ()
    if found.outcome == "ok":
        return WatchResult(found.group, found.outcome, (*found.sentences, *repeated), facts)
    first = f"look at the replicator, which somebody else runs: does it copy {topic}, and keep up?"
    return WatchResult(found.group, found.outcome, (*found.sentences, *repeated, first), facts)
