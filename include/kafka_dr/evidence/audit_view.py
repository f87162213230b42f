"""The view model of the page of an audit: its finding in a sentence, then tables made for it.

Missing or unexpected values are shown as such. An unknown verdict is never shown as good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.evidence.report_tables import REPORTS
from kafka_dr.evidence.status_colour import StatusColour, colour_of
from kafka_dr.evidence.tables import Table, made_tables


@dataclass(frozen=True, slots=True)
class AuditView:
    """Everything that the page of an audit shows."""

    title: str
    verdict: str
    colour: StatusColour
    sentence: str
    at: str
    tables: tuple[Table, ...]


def build_audit_view(audit: str, flow: str, report: Mapping[str, Any]) -> AuditView:
    """Return the view of a report.

    :param audit: the audit that wrote it
    :param flow: the flow that was audited
    :param report: plain JSON values
    """
    return _view(f"{audit.capitalize()} audit of {flow}", audit, report)


def build_stranded_view(found: Mapping[str, Any]) -> AuditView:
    """Return the view of a list of stranded records.

    :param found: its summary, as plain JSON values
    """
    held = [row for row in found.get("partitions") or () if row.get("records") or row.get("missing")]
    title = f"Stranded records of {found.get('group')}, on {found.get('old')}, after run {found.get('run')}"
    return _view(title, "stranded", {**found, "partitions": held})


def _view(title: str, made: str, document: Mapping[str, Any]) -> AuditView:
    verdict = str(document.get("verdict", "unknown"))
    return AuditView(
        title=title,
        verdict=verdict,
        colour=colour_of(verdict),
        sentence=str(document.get("sentence") or ""),
        at=str(document.get("at") or ""),
        tables=tuple(made_tables(REPORTS.get(made, ()), document)),
    )
