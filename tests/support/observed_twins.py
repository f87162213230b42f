"""An observed flow between two clusters in memory, under any naming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jobs.flows import ReachedFlow
from kafka_dr.clusters.renamed import RenamedCluster
from kafka_dr.naming import AffixNaming, DefaultNaming, IdentityNaming, Naming, TableNaming
from kafka_dr.topology.audited import AuditedEnd, AuditedFlow
from kafka_dr.topology.group_keys import AuditsSpec, Thresholds
from support.memory_cluster import MemoryCluster, numbered

TOPIC = "invoices"
NAMINGS: dict[str, Naming] = {
    "identity": IdentityNaming("berlin", "hamburg"),
    "default": DefaultNaming("berlin", "hamburg"),
    "affix": AffixNaming("from-", ".copy"),
    "table": TableNaming({TOPIC: "bills", "billing.eu": "accounts"}),
}


def observed_flow(naming: Naming, *, topics: tuple[str, ...] = (TOPIC,), seconds: float = 60) -> AuditedFlow:
    """Return a flow of these topics and all that begin with ``billing.``."""
    return AuditedFlow(
        "invoices-to-hamburg",
        AuditedEnd("berlin", "kafka_berlin", None),
        AuditedEnd("hamburg", "kafka_hamburg", None),
        observed=True,
        covers_topic=lambda name: name in topics or name.startswith("billing."),
        covers_group=lambda name: name == "ledger",
        thresholds=Thresholds(max_record_age_seconds=seconds, max_lag_seconds=seconds),
        audits=AuditsSpec(duplicates="report"),
        topics=topics,
        naming=naming,
    )


def between(flow: AuditedFlow, source: MemoryCluster, target: MemoryCluster) -> ReachedFlow:
    """Return the flow as a job reaches it."""
    assert flow.naming is not None
    return ReachedFlow(flow, source.as_kafka, RenamedCluster(target.as_kafka, flow.naming), None)


def clusters(naming: Naming, *, copied: Sequence[int] = range(8), first_ms: int = 1_000) -> tuple[MemoryCluster, ...]:
    """Return a source with ten records of one topic, and a target with copies of some and a topic of its own."""
    own = naming.copy_of(TOPIC)
    assert own is not None
    source = MemoryCluster("berlin", "B", {TOPIC: [numbered(TOPIC, range(10), first_ms=first_ms), []]})
    target = MemoryCluster("hamburg", "H", {own: [numbered(own, copied, first_ms=first_ms)], "billing.own": [[]]})
    return source, replace(target, committed_offsets={})
