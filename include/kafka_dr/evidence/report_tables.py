"""What the pages of audits and of watches show, as tables: labels, keys and units. A document may have more keys."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_dr.evidence.tables import Column, MadeTable
from kafka_dr.watch_results import WatchName

_WAITS = (Column("Records that wait", "records"), Column("The oldest waits", "seconds", "s"))
_GROUP, _TOPIC, _PARTITION = Column("Group", "group"), Column("Topic", "topic"), Column("Partition", "partition")
_VERDICT, _STATE = Column("Result", "verdict", "state"), Column("Result", "state", "state")
_TO_DO, _WHY = Column("To do", "to_do"), Column("Why", "reason")
_COVERAGE = (
    Column("Verified", "coverage.verified"),
    Column("Differ", "coverage.differing"),
    Column("In flight", "coverage.in_flight", rare=True),
    Column("Offsets deleted before they were read", "coverage.expired", rare=True),
    Column("Offsets compacted away", "coverage.compacted", rare=True),
    Column("Offsets left out on purpose", "coverage.excluded", rare=True),
    Column("Offsets without a record", "coverage.control", rare=True),
)
_FINDINGS = MadeTable("Findings", "findings", (Column("What was found", "sentence"),))
_NOT_LOOKED_AT = MadeTable("Not looked at", "not_looked_at", (Column("What", "value"),))

#: By audit, in the order in which a person asks.
REPORTS: Mapping[str, tuple[MadeTable, ...]] = {
    "lag": (
        _FINDINGS,
        _NOT_LOOKED_AT,
        MadeTable(
            "Consumer groups whose lag cannot be judged",
            "groups_unknown",
            (_GROUP, Column("Kind", "kind"), Column("Seen by", "shown_by"), _TO_DO),
        ),
        MadeTable(
            "Consumer groups",
            "groups",
            (
                _GROUP,
                _VERDICT,
                *_WAITS,
                Column("Ahead of the copy", "ahead_of_copy_seconds", "s"),
                Column("Members", "state"),
            ),
        ),
        MadeTable(
            "Partitions of the flow",
            "replication.partitions",
            (
                _TOPIC,
                _PARTITION,
                _VERDICT,
                *_WAITS,
                Column("99 of 100 arrive within", "latency.p99_seconds", "s"),
                Column("Until the source deletes it", "headroom_seconds", "s"),
                Column("Held back by open transactions", "held_back_offsets", rare=True),
                Column("Deleted before it was copied", "deleted", rare=True),
            ),
        ),
        MadeTable(
            "Partitions of the consumer groups",
            "groups/partitions",
            (_GROUP, _TOPIC, _PARTITION, _VERDICT, Column("Next record", "position"), *_WAITS),
            folded=True,
        ),
        MadeTable(
            "How it was measured",
            "",
            (
                Column("The flow", "replication.state"),
                Column("Size of the records that wait", "replication.bytes", "bytes"),
                Column("How long records take", "replication.latency_from"),
                Column("Records read", "records_read"),
                Column("The audit took", "seconds", "s"),
                Column("A record may be this old before it is copied", "limits_seconds.record_age", "s"),
                Column("No failover begins above", "limits_seconds.failover_lag", "s"),
            ),
            folded=True,
        ),
    ),
    "checksum": (
        _FINDINGS,
        _NOT_LOOKED_AT,
        MadeTable(
            "Topics",
            "topics",
            (
                _TOPIC,
                Column("Its copy", "copy"),
                _VERDICT,
                Column("Found", "counts"),
                *_COVERAGE,
                Column("Timestamps", "times"),
            ),
        ),
        MadeTable(
            "Partitions",
            "topics/partitions",
            (
                _TOPIC,
                _PARTITION,
                _VERDICT,
                Column("Found", "counts"),
                *_COVERAGE,
                Column("Verified until", "frontier.source_offset"),
                Column("On the copy", "frontier.target_offset"),
                Column("Offsets not verified yet", "verified_rpo_records"),
                Column("The oldest of them", "verified_rpo_seconds", "s"),
                Column("Found a second time", "second_copies"),
            ),
            folded=True,
        ),
        MadeTable(
            "How it was measured",
            "",
            (
                Column("Everything was compared, from the beginning", "full"),
                Column("The audit found its own known faults", "self_test.passed"),
                Column("Known faults that it missed", "self_test.missed"),
                Column("Records read", "records_read"),
                Column("The audit took", "seconds.total", "s"),
            ),
            folded=True,
        ),
    ),
    "offsets": (
        _FINDINGS,
        MadeTable("Left to do", "left_to_do", (Column("Reader", "reader"), _TO_DO, Column("Command", "command"))),
        MadeTable(
            "Consumer groups",
            "groups",
            (
                _GROUP,
                _VERDICT,
                Column("Begins by", "start", "word"),
                Column("Read again at most", "redelivered_at_most"),
                Column("Written within", "redelivered_seconds", "s"),
                Column("Skipped at most", "skipped_at_most", rare=True),
                Column("Second copies", "second_copies", rare=True),
                Column("Read again by the flow's own checkpoints", "mm2_redelivered_at_most"),
                Column("Positions without a checkpoint", "mm2_without_checkpoint", rare=True),
                Column("Commit metadata", "metadata_left_out"),
                _WHY,
            ),
        ),
        MadeTable("Share groups", "not_moved", (_GROUP, _STATE, _TO_DO)),
        MadeTable(
            "Kafka Streams applications",
            "streams_applications",
            (
                _GROUP,
                _STATE,
                Column("Seen by", "shown_by"),
                Column("Own topics that are not copied", "internal_topics_not_copied"),
                _TO_DO,
            ),
        ),
        MadeTable("Sinks", "connect_sinks", (_GROUP, _TO_DO)),
        MadeTable("Groups that nobody has joined", "never_joined", (_GROUP, Column("What that means", "hint"))),
        MadeTable("Consumers that keep their offsets elsewhere", "external_offsets", (Column("Consumer", "consumer"),)),
        MadeTable("Partitions without an offset map", "not_exported", (_TOPIC, _PARTITION, _WHY)),
        MadeTable(
            "Topics that groups read elsewhere",
            "read_elsewhere",
            (
                _GROUP,
                _STATE,
                _TOPIC,
                Column("Protection group of the topic", "belongs_to"),
                Column("Positions", "positions"),
                Column("Is read now", "live_members"),
            ),
        ),
        MadeTable(
            "Readers that nobody declared",
            "undeclared_readers",
            (
                _GROUP,
                Column("On", "cluster"),
                Column("Topics", "topics"),
                Column("Positions", "positions"),
                Column("Reads now", "live"),
                Column("Its protection group", "belongs_to"),
            ),
        ),
        MadeTable(
            "Commit metadata",
            "commit_metadata",
            (
                _GROUP,
                Column("Partitions that carry it", "carried"),
                Column("Partitions that leave it out", "left_out"),
                _WHY,
            ),
            folded=True,
        ),
        MadeTable("Never committed", "never_committed", (_GROUP, _TOPIC, _PARTITION, _WHY), folded=True),
        MadeTable(
            "What each way to begin would cost",
            "choices",
            (
                _GROUP,
                Column("Exact: again", "exact_again"),
                Column("skipped", "exact_skipped"),
                Column("Checkpoint: again", "mm2_checkpoint_again"),
                Column("skipped", "mm2_checkpoint_skipped"),
                Column("Timestamp: again", "timestamp_again"),
                Column("skipped", "timestamp_skipped"),
                Column("Start time: again", "at_time_again", rare=True),
                Column("skipped", "at_time_skipped", rare=True),
                Column("Earliest: again", "earliest_again"),
                Column("skipped", "earliest_skipped"),
                Column("Latest: again", "latest_again"),
                Column("skipped", "latest_skipped"),
            ),
            folded=True,
        ),
        MadeTable(
            "Positions",
            "positions",
            (
                _GROUP,
                _TOPIC,
                _PARTITION,
                _VERDICT,
                Column("Committed", "source_offset"),
                Column("Resumes at", "target_offset"),
                Column("Read again at most", "redelivered_at_most"),
                Column("Skipped at most", "skipped_at_most", rare=True),
                Column("Checkpoint of the flow", "mm2_offset"),
                _WHY,
            ),
            folded=True,
        ),
        MadeTable(
            "How it was measured",
            "",
            (
                Column("Offsets checked by the records around them", "proof.detail"),
                Column("Files of the offset map", "exported"),
            ),
            folded=True,
        ),
    ),
    "stranded": (
        MadeTable(
            "Partitions",
            "partitions",
            (
                _TOPIC,
                _PARTITION,
                Column("Records", "records"),
                Column("Offsets", "ranges", "ranges"),
                Column("Keys", "keys"),
                Column("Size", "size", "bytes"),
                Column("The oldest", "oldest_ms", "ms"),
                Column("The newest", "newest_ms", "ms"),
                Column("Missing", "missing", rare=True),
            ),
        ),
        MadeTable("Topics that the old cluster no longer has", "gone", (Column("Topic", "value"),)),
        MadeTable("Compacted topics", "compacted", (Column("Topic", "value"),)),
        MadeTable(
            "Kept as Parquet",
            "files",
            (Column("File", "path"), Column("Size", "size", "bytes"), Column("SHA-256", "sha256")),
            folded=True,
        ),
    ),
}

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
    (_TOPIC, Column("Pattern", "pattern"), Column("First seen", "since", "at")),
)
