"""What an audit found of a group, as tasks hand it on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypedDict

from kafka_dr.quoting import line
from kafka_dr_airflow.operators.kept_results import LookResult

#: The first sentences are handed on; the status page, the report and the log have all of them.
_MOST_SENTENCES = 10
_MOST_CHARACTERS = 1000


class AuditedGroup(TypedDict):
    """The result of one group's audit.

    :param facts: the verdict and where the report is below the evidence root, if there is a report
    :param at: when it was known, ISO 8601, UTC
    :param kept: whether it is the group's newest result, and not an answer to another question
    """

    group: str
    outcome: str
    sentences: list[str]
    facts: dict[str, Any]
    at: str
    kept: bool


def audited_group(group: str, found: LookResult, *, kept: bool) -> AuditedGroup:
    """Return what is handed on of a result."""
    said = [line(each)[:_MOST_CHARACTERS] for each in found.sentences[:_MOST_SENTENCES]]
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return AuditedGroup(group=group, outcome=found.outcome, sentences=said, facts=dict(found.facts), at=at, kept=kept)
