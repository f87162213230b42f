"""What the pages of audits and observed flows show, as tables: labels, keys, units. A document may have more keys."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_dr.evidence.conflict_tables import CONFLICT_TABLES
from kafka_dr.evidence.stretch_tables import STRETCH_TABLES
from kafka_dr.evidence.tables import Column, MadeTable

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
_KIND, _MEANS = Column("Kind", "kind"), Column("What it means", "meaning")
#: What a look at an observed flow counts.
_RECORDS = {
    "Lost": "lost",
    "Late": "late",
    "Corrupted": "corrupted",
    "In another order": "reordered",
    "In another partition": "moved",
    "Without an original": "foreign",
    "Copies of aborted records": "aborted",
    "Second copies": "duplicated",
    "Expired on the target alone": "expired_on_target",
    "Unexplained": "unexplained",
    "Not read": "not_read",
    "In flight": "in_flight",
    "Undecided": "undecided",
    "Compacted away": "compacted",
    "Expired on the source": "expired_on_source",
}
_COSTS = (Column("Read again", "again"), Column("Unread and skipped", "skipped"))
_AUDITED = (Column("Audits compared until", "audited_until"), Column("Verified by audits", "verified"))
#: By audit, in the order in which a person asks; and what an observation found.
REPORTS: Mapping[str, tuple[MadeTable, ...]] = {
    "lag": (
        _FINDINGS,
        _NOT_LOOKED_AT,
        MadeTable(
            "Consumer groups whose lag cannot be judged",
            "groups_unknown",
            (_GROUP, _KIND, Column("Seen by", "shown_by"), _TO_DO),
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
                Column("Complete up to", "complete_up_to"),
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
                Column("Key written since", "written_since", rare=True),
                Column("Too old for the copy", "outdated", rare=True),
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
    "stretch": STRETCH_TABLES,
    "conflicts": CONFLICT_TABLES,
    "observation": (
        _NOT_LOOKED_AT,
        MadeTable(
            "Audits of the whole flow",
            "audits",
            (
                Column("Audit", "audit"),
                _VERDICT,
                Column("Looked at", "at"),
                Column("So since", "since"),
                Column("Found", "said"),
                Column("To do first", "first"),
            ),
        ),
        MadeTable(
            "Groups: what a failover by the existing positions would do",
            "groups",
            (
                _GROUP,
                _KIND,
                _VERDICT,
                Column("Partitions", "partitions"),
                *_COSTS,
                Column("Partitions without a position", "partitions_without_position", rare=True),
                Column("Partitions whose commit metadata is wrong", "metadata_wrong", rare=True),
            ),
        ),
        MadeTable(
            "Readers that need more than a moved offset, and what their owners do",
            "readers",
            (_GROUP, _KIND, _VERDICT, Column("Seen by", "shown_by"), Column("Own topics", "internal_topics"), _TO_DO),
        ),
        MadeTable(
            "Settings that differ",
            "configuration",
            (
                _TOPIC,
                Column("Setting", "setting"),
                _VERDICT,
                Column("On the source", "source", null="none"),
                Column("On the target", "target", null="none"),
                Column("Why it matters", "meaning"),
            ),
        ),
        MadeTable(
            "Records that differ",
            "findings",
            (
                _TOPIC,
                _PARTITION,
                Column("What they are", "kind", "word"),
                Column("Records", "count"),
                Column("First on the source", "source_offset", null="none"),
                Column("First on the target", "target_offset", null="none"),
                Column("What it means", "detail"),
            ),
        ),
        MadeTable(
            "Partitions",
            "partitions",
            (
                _TOPIC,
                _PARTITION,
                _VERDICT,
                Column("Records read", "read"),
                Column("Equal", "equal"),
                Column("Equal until", "equal_until"),
                Column("End of the source", "source_end"),
                Column("End of the target", "target_end"),
                Column("Older offsets that were not read", "offsets_not_read", rare=True),
                *_AUDITED,
                *(Column(label, kind, rare=True) for label, kind in _RECORDS.items()),
            ),
        ),
        MadeTable(
            "Partitions that were not compared", "partitions_left_out", (_TOPIC, _PARTITION, _VERDICT, _WHY, *_AUDITED)
        ),
        MadeTable(
            "For how long the source keeps what is not copied",
            "retention",
            (_TOPIC, _VERDICT, Column("For", "seconds", "s", null=""), _MEANS),
        ),
        MadeTable(
            "Positions of the consumer groups",
            "group_positions",
            (
                _GROUP,
                _TOPIC,
                _PARTITION,
                _VERDICT,
                Column("Committed on the source", "source_offset"),
                Column("The same record on the target", "exact_target_offset"),
                Column("Would begin at", "existing_target_offset", null=""),
                Column("By", "existing_from", "word"),
                *_COSTS,
                Column("Commit metadata", "metadata", "word"),
            ),
            folded=True,
        ),
        MadeTable(
            "What was looked at",
            "",
            (
                Column("Records read on the source", "totals.records_read_on_source"),
                *(Column(label, f"totals.{kind}", rare=True) for label, kind in _RECORDS.items()),
                Column("Groups", "groups_by_kind"),
            ),
            folded=True,
        ),
    ),
}
