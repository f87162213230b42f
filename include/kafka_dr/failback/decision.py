"""What the approval of a failback is about, and what the failback would delete on the old cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_dr.approvals.decision import PARTITIONS, common
from kafka_dr.errors import KafkaDrError
from kafka_dr.failback.context import FailbackContext
from kafka_dr.failback.late import late_topics
from kafka_dr.named_rows import ID_OF_A_TOPIC, rows_of
from kafka_dr.outcomes import Check

#: What a topic of the old cluster holds, for :func:`~kafka_dr.named_rows.rows_of`.
OLD_TOPICS = {"named": "topic", "holding": "holds"}


def facts(context: FailbackContext, checks: Sequence[Check]) -> dict[str, Any]:
    """Return the decision facts as they are now.

    :param checks: results of the checks of the same moment
    """
    ranges = next((list(check.facts["ranges"]) for check in checks if "ranges" in check.facts), [])
    return {
        **common(context.run, checks),
        "mode": context.mode,
        "rescue": context.rescue,
        **_of_the_list(context),
        "quarantine": ranges if context.mode == "quarantine" else [],
        **_of_late_records(context),
    }


def _of_late_records(context: FailbackContext) -> dict[str, Any]:
    if context.mode != "deliver":
        return {}
    try:
        found = late_topics(context.stranded, context.late)
        passed_over = list(map(str, context.passed_over))
        listed_at = context.stranded.at.isoformat()
        return {"late": [each.to_json() for each in found], "listed_at": listed_at, "quarantine": passed_over}
    except KafkaDrError:
        return {}


def _of_the_list(context: FailbackContext) -> dict[str, Any]:
    try:
        found = context.stranded
        source, target = context.run.topics(context.run.source), context.run.topics(context.run.target)
        erased = {"erased": context.erased_records} if context.erasures else {}
    except KafkaDrError:
        # A check says what is wrong, and nothing is approved without a list.
        return {"stranded": None, "partitions": [], "deletes": []}
    ids = {name: topic.topic_id for name, topic in target.items()}
    return {
        "left_by": found.run,
        "stranded": {"records": found.records, "list_sha256": context.list_sha256, **erased},
        "partitions": rows_of({name: len(topic.leaders) for name, topic in source.items()}, **PARTITIONS),
        "deletes": rows_of(ids, **ID_OF_A_TOPIC) if context.mode == "rebuild" else [],
    }


def measured(context: FailbackContext) -> dict[str, Any]:
    """Measure what the old cluster holds; for information; not covered by the approval."""
    run = context.run
    target = run.operator(run.target)
    partitions = run.partitions(run.target)
    starts, ends = target.topics.log_starts(partitions), target.topics.high_watermarks(partitions)
    sizes = target.log_sizes.of({p.topic for p in partitions})
    topics: dict[str, dict[str, int]] = {}
    for p in partitions:
        row = topics.setdefault(p.topic, {"records": 0, "bytes": 0, "stranded": 0})
        row["records"] += ends[p] - starts[p]
        row["bytes"] += sizes.get(p, 0)
    for each in context.stranded.partitions:
        if each.topic in topics:
            topics[each.topic]["stranded"] += each.records
    return {"old_side": rows_of(topics, **OLD_TOPICS), "stranded_records": context.stranded.records}
