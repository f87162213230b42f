"""The figures of an audit's report that are kept with its result, so that nobody has to read the report for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kafka_dr.json_documents import is_number
from kafka_dr.metrics.table import PERCENTILES
from kafka_dr.topology.names import is_canary_topic
from kafka_dr.watch_results import FLOW


def facts_of(report: Mapping[str, Any], kept_at: str, direction: str) -> dict[str, Any]:
    """Return what is kept of a report with the result of its audit.

    :param kept_at: where the report is, below the evidence root
    :param direction: of the flow: ``SOURCE-to-TARGET``
    """
    return {**figures_of(report), "verdict": str(report["verdict"]), "report": kept_at, FLOW: direction}


def sentences_of(report: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a report says: the whole in one sentence, then one for each finding."""
    findings = (each.get("sentence") if isinstance(each, dict) else each for each in report.get("findings") or ())
    return (str(report.get("sentence") or "see the report"), *map(str, findings))


def figures_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of a report of a checksum or lag audit; what it does not have is left out."""
    replication = report.get("replication")
    found = _lag(report, replication) if isinstance(replication, Mapping) else _checksum(report)
    return {name: value for name, value in {**found, "at": report.get("at")}.items() if value is not None}


def _checksum(report: Mapping[str, Any]) -> dict[str, Any]:
    counts = report.get("counts")
    return {
        "verified_rpo_seconds": report.get("verified_rpo_seconds"),
        "unverified_offsets": report.get("verified_rpo_records"),
        "complete_up_to": _complete_up_to(report),
        "findings": dict(counts) if isinstance(counts, Mapping) else None,
    }


def _complete_up_to(report: Mapping[str, Any]) -> str | None:
    """Return up to when all topics of applications are complete on the target, ISO 8601 in UTC."""
    topics = [each for each in _rows(report.get("topics")) if not is_canary_topic(str(each.get("topic")))]
    times = [str(each["complete_up_to"]) for each in topics if each.get("complete_up_to")]
    return min(times) if len(times) == len(topics) > 0 else None


def _lag(report: Mapping[str, Any], replication: Mapping[str, Any]) -> dict[str, Any]:
    latency, partitions = replication.get("latency"), _rows(replication.get("partitions"))
    headroom = [each["headroom_seconds"] for each in partitions if is_number(each.get("headroom_seconds"))]
    return {
        **{name: replication.get(name) for name in ("records", "bytes", "seconds")},
        "latency": {name: latency.get(_key(name)) for name in PERCENTILES} if isinstance(latency, Mapping) else None,
        "headroom_seconds": min(headroom, default=None),
        "consumer_groups": dict(Counter(str(each.get("verdict")) for each in _rows(report.get("groups")))),
        "findings": dict(Counter(str(each.get("kind")) for each in _rows(report.get("findings")))),
    }


def _key(percentile: str) -> str:
    return f"{percentile}_seconds"


def _rows(value: object) -> Iterable[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
