"""What the pages show of a stretch cluster, as tables."""

from __future__ import annotations

from kafka_dr.evidence.tables import Column, MadeTable

#: What the loss of each site of a stretch cluster would do.
SITES = MadeTable(
    "If a site is lost",
    "sites",
    (
        Column("Site", "site"),
        Column("Result", "verdict", "state"),
        Column("Brokers", "brokers"),
        Column("Controllers", "controllers"),
        Column("Partitions that stop", "stops"),
        Column("Refuse writes", "refuses"),
        Column("Not known", "unknown", rare=True),
        Column("Leaders that move", "leaders_that_move"),
        Column("Quorum", "quorum"),
        Column("Largest load, times", "largest_load"),
    ),
)
#: Everything that a look found.
STRETCH_TABLES = (
    SITES,
    MadeTable("Findings", "findings", (Column("Result", "level", "state"), Column("What was found", "sentence"))),
    MadeTable(
        "Delay between sites",
        "delays",
        (
            Column("From the leader to the replica", "pair"),
            Column("Median, ms", "typical"),
            Column("99 of 100 below, ms", "longest"),
            Column("Measurements", "samples"),
            Column("Why it is not known", "problem"),
        ),
    ),
    MadeTable(
        "Partitions that a loss stops or that refuse writes then",
        "affected",
        (
            Column("Site that is lost", "site"),
            Column("Topic", "topic"),
            Column("Partition", "partition"),
            Column("Then", "outcome", "word"),
            Column("Until", "until", "word"),
            Column("Why", "reason"),
            Column("Replicas", "replicas"),
            Column("In sync", "in_sync"),
        ),
    ),
)
