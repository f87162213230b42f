"""What the pages of watches show of their newest results, as tables: labels, keys and units."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_dr.evidence.tables import Column, MadeTable
from kafka_dr.watch_results import WatchName

_FLOW = Column("The flow", "flow")
#: By watch, what its newest result has with its sentences. Readiness has its own tables.
RESULTS: Mapping[WatchName, tuple[Column, ...]] = {
    "health": (
        Column("Active", "active"),
        Column("Standby", "standby"),
        Column("Phase", "phase"),
        Column("Moved last at", "recorded_at", "at"),
        Column("Approved by", "approved_by"),
        Column("Epoch", "epoch"),
        Column("Clusters that do not answer", "silent"),
        Column("Not fenced", "fence_missing"),
        Column("DENYs added by this look", "denies_added"),
    ),
    "canary": (
        _FLOW,
        Column("Canaries sent", "sent"),
        Column("Canaries that arrived", "arrived"),
        Column("The slowest took", "seconds", "s"),
        Column("Data at risk (RPO)", "rpo_seconds", "s"),
        Column("Copied twice", "copied_twice", rare=True),
    ),
    "lag": (
        _FLOW,
        Column("Records that wait", "records"),
        Column("Their size", "bytes", "bytes"),
        Column("The oldest waits", "seconds", "s"),
        Column("Half arrive within", "latency.p50", "s"),
        Column("95 of 100 arrive within", "latency.p95", "s"),
        Column("99 of 100 arrive within", "latency.p99", "s"),
        Column("The slowest took", "latency.max", "s"),
        Column("Until the source deletes what waits", "headroom_seconds", "s"),
        Column("Consumer groups", "consumer_groups"),
        Column("Found", "findings"),
        Column("The audit took", "audit_seconds", "s"),
    ),
    "checksum": (
        _FLOW,
        Column("Data at risk (RPO), by what was compared", "verified_rpo_seconds", "s"),
        Column("Offsets not verified yet", "unverified_offsets"),
        Column("Complete up to", "complete_up_to"),
        Column("Found", "findings"),
        Column("The audit took", "audit_seconds", "s"),
    ),
    "offsets": (
        _FLOW,
        Column("Read again at most", "redelivered"),
        Column("Read again by the flow's own checkpoints", "mm2_redelivered"),
    ),
    "flows": (_FLOW,),
}
#: The topics that patterns match, as health keeps them.
MATCHED = MadeTable(
    "Topics that patterns match",
    "matched_topics",
    (Column("Topic", "topic"), Column("Pattern", "pattern"), Column("First seen", "since", "at")),
)
