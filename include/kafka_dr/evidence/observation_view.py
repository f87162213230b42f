"""The page of an observed flow: what a failover by the existing copy would cost, and how that is known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_dr.evidence.report_tables import REPORTS
from kafka_dr.evidence.status_colour import StatusColour, colour_of
from kafka_dr.evidence.tables import Table, made_tables

#: What a person reads for a verdict; every other word is unknown.
_WORDS = {
    "ok": "nothing wrong was found",
    "warning": "some things to know",
    "failed": "not fit for a failover",
    "unknown": "unknown: not everything was looked at",
}
#: Where a sentence of a report ends and the next one begins.
_NEXT_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z])")
#: The table of differences, which shows the worst ones.
_DIFFERENCES = "Records that differ"


@dataclass(frozen=True, slots=True)
class ObservationFigure:
    """One number at the head of the page.

    :param text: ``unknown`` if it is not known
    """

    text: str
    label: str
    kept: StatusColour


@dataclass(frozen=True, slots=True)
class ObservationView:
    """Everything that the page shows.

    :param sentence: what a failover by the existing copy would cost
    :param more: what else was found, a sentence each
    """

    title: str
    word: str
    colour: StatusColour
    sentence: str
    more: tuple[str, ...]
    at: str
    figures: tuple[ObservationFigure, ...]
    tables: tuple[Table, ...]


def build_observation_view(report: Mapping[str, Any]) -> ObservationView:
    """Return the view of a report.

    :param report: plain JSON values
    """
    verdict = str(report.get("verdict", "unknown"))
    source, target = report.get("source") or {}, report.get("target") or {}
    sentence, *more = _NEXT_SENTENCE.split(str(report.get("sentence") or ""))
    return ObservationView(
        title=f"{report.get('flow')}: {source.get('name')} to {target.get('name')}",
        word=_WORDS.get(verdict, _WORDS["unknown"]),
        colour=colour_of(verdict if verdict in _WORDS else "unknown"),
        sentence=sentence,
        more=tuple(more),
        at=str(report.get("at") or ""),
        figures=_figures(report),
        tables=tuple(_counted(table, report) for table in made_tables(REPORTS["observation"], report)),
    )


def _counted(table: Table, report: Mapping[str, Any]) -> Table:
    """Say how many differences are not in the report."""
    more = int(report.get("findings_not_shown") or 0) if table.title == _DIFFERENCES else 0
    return replace(table, title=f"{table.title}: the worst ones; {more:,} more are only counted") if more else table


def _figures(report: Mapping[str, Any]) -> tuple[ObservationFigure, ...]:
    counts: Mapping[str, int] = report.get("totals") or {}
    groups: Sequence[Mapping[str, Any]] = report.get("groups") or ()
    lost = sum(counts.get(kind, 0) for kind in ("lost", "late", "in_flight"))
    bound = bool(report.get("partitions_left_out") or counts.get("not_read") or counts.get("unexplained"))
    rows = (*(report.get("partitions") or ()), *(report.get("partitions_left_out") or ()))
    compared = lost or counts.get("records_read_on_source") or any(row.get("verified") for row in rows)
    at_least = "at least " if bound else ""
    sure = compared and not bound and not counts.get("undecided")
    losing: StatusColour = "bad" if lost else "good" if sure else "unknown"
    skipping = sum(bool(row.get("skipped")) or bool(row.get("partitions_without_position")) for row in groups)
    unsure = not groups or any(row.get("skipped") is None or row.get("verdict") == "unknown" for row in groups)
    again = [row.get("again") for row in groups]
    repeated = "unknown" if not again or None in again else f"{sum(each or 0 for each in again):,}"
    return (
        ObservationFigure(f"{at_least}{lost:,}" if compared else "unknown", "records would be lost", losing),
        ObservationFigure(repeated, "would be delivered again", "unknown" if repeated == "unknown" else "warn"),
        ObservationFigure(
            f"{skipping} of {len(groups)}" if groups else "unknown",
            "groups would skip records, or find no position",
            "bad" if skipping else "unknown" if unsure else "good",
        ),
        ObservationFigure(f"{counts.get('records_read_on_source', 0):,}", "records compared", "warn"),
    )
