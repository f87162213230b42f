"""What the page of a conflict audit shows, as tables."""

from __future__ import annotations

from kafka_dr.evidence.tables import Column, MadeTable

CONFLICT_TABLES = (
    MadeTable("Not known of arrivals", "cautions", (Column("What", "value"),)),
    MadeTable(
        "Found, certain ones first",
        "findings",
        (Column("Result", "level", "state"), Column("What was found", "sentence")),
    ),
    MadeTable(
        "By topic and pair of members",
        "counts",
        (
            Column("Topic", "topic"),
            Column("Earlier on", "earlier"),
            Column("Later on", "later"),
            Column("Kind", "kind", "word"),
            Column("Sure", "certainty"),
            Column("Equal values", "equal"),
            Column("Within the skew", "within_skew"),
            Column("How many", "count"),
        ),
    ),
    MadeTable(
        "Single records",
        "stray_counts",
        (
            Column("Topic", "topic"),
            Column("Taken by", "origin"),
            Column("What is wrong", "kind", "word"),
            Column("How many", "count"),
        ),
    ),
    MadeTable(
        "Keys with most conflicts",
        "top_keys",
        (Column("Topic", "topic"), Column("Key", "key"), Column("Conflicts", "conflicts")),
    ),
    MadeTable(
        "By hour",
        "hours",
        (Column("Hour", "hour"), Column("Certain", "certain"), Column("Possible", "possible")),
        folded=True,
    ),
    MadeTable(
        "What was read",
        "origins",
        (
            Column("Member", "origin"),
            Column("Topic", "topic"),
            Column("Partition", "partition"),
            Column("From offset", "first"),
            Column("To offset", "end"),
            Column("Records", "records"),
            Column("Expired", "expired"),
            Column("Compacted", "compacted", rare=True),
            Column("Without a time", "untimed", rare=True),
            Column("Late", "late", rare=True),
            Column("Without a key", "without_key", rare=True),
        ),
        folded=True,
    ),
)
