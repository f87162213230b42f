"""The page of an observed flow: what a failover by the existing copy would cost, and how that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_dr.durations import duration
from kafka_dr.evidence.status_colour import StatusColour, colour_of
from kafka_dr.evidence.tables import Table, tables_of

#: What a person reads for a verdict; every other word is unknown.
_WORDS = {
    "ok": "nothing wrong was found",
    "warning": "some things to know",
    "failed": "not fit for a failover",
    "unknown": "unknown: not everything was looked at",
}
#: The sections of a report, in the order in which a person asks for them.
_SECTIONS = {
    "not_looked_at": "Not looked at",
    "groups": "Groups: what a failover by the existing positions would do",
    "readers": "Readers that need more than a moved offset, and what their owners do",
    "configuration": "Settings that differ",
    "findings": "Records that differ",
    "partitions": "Partitions",
    "partitions_left_out": "Partitions that were not compared",
    "retention": "For how long the source keeps what is not copied",
    "group_positions": "Positions of the consumer groups",
    "totals": "Records by what became of them",
    "groups_by_kind": "Groups that were looked at",
}
#: Columns of the tables about groups, for who reads them for the first time.
_GROUP_COLUMNS = {"again": "delivered_again", "skipped": "unread_and_skipped"}
#: Columns of the table of partitions that are shown whatever they hold.
_ALWAYS = ("partition", "read", "equal", "equal_until", "source_end", "target_end", "audited_until", "verified")


@dataclass(frozen=True, slots=True)
class ObservationFigure:
    """One number at the head of the page.

    :param text: ``unknown`` if it is not known
    """

    text: str
    label: str
    kept: StatusColour


@dataclass(frozen=True, slots=True)
class AuditLine:
    """The newest result of an audit of the flow, or of its canary.

    :param what: which one, and what it looks at
    :param when: when it looked, and since when it says so
    :param said: what it found
    :param first: what to do first; empty if there is nothing to do
    """

    what: str
    word: str
    colour: StatusColour
    when: str
    said: str
    first: str


@dataclass(frozen=True, slots=True)
class ObservationView:
    """Everything that the page shows.

    :param audits: the newest result of each audit and of the canary
    """

    title: str
    word: str
    colour: StatusColour
    sentence: str
    at: str
    figures: tuple[ObservationFigure, ...]
    tables: tuple[Table, ...]
    audits: tuple[AuditLine, ...] = ()


def build_observation_view(report: Mapping[str, Any]) -> ObservationView:
    """Return the view of a report.

    :param report: plain JSON values
    """
    verdict = str(report.get("verdict", "unknown"))
    source, target = report.get("source") or {}, report.get("target") or {}
    shown = {key: report[key] for key in _SECTIONS if report.get(key)}
    reshaped = {
        "partitions": _without_zeros,
        "groups": _with_plain_columns,
        "group_positions": _with_plain_columns,
        "retention": _with_durations,
    }
    shown |= {key: reshape(shown[key]) for key, reshape in reshaped.items() if key in shown}
    return ObservationView(
        title=f"{report.get('flow')}: {source.get('name')} to {target.get('name')}",
        word=_WORDS.get(verdict, _WORDS["unknown"]),
        colour=colour_of(verdict if verdict in _WORDS else "unknown"),
        sentence=str(report.get("sentence") or ""),
        at=str(report.get("at") or ""),
        figures=_figures(report),
        tables=tuple(table for key, rows in shown.items() for table in tables_of(_title(key, report), rows)),
        audits=tuple(_audit(row) for row in report.get("audits") or ()),
    )


def _audit(row: Mapping[str, Any]) -> AuditLine:
    verdict = str(row.get("verdict") or "unknown")
    times = {"": row.get("at"), "so since ": row.get("since")}
    when = ", ".join(f"{word}{time}" for word, time in times.items() if time)
    said, first = (str(row.get(key) or "") for key in ("said", "first"))
    return AuditLine(str(row.get("audit") or ""), verdict, colour_of(verdict), when, said, first)


def _title(section: str, report: Mapping[str, Any]) -> str:
    more = int(report.get("findings_not_shown") or 0) if section == "findings" else 0
    return f"{_SECTIONS[section]}: the worst ones; {more:,} more are only counted" if more else _SECTIONS[section]


def _without_zeros(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what no partition has: the table must be seen at once."""
    kept = {key for row in rows for key, value in row.items() if value != 0 or key in _ALWAYS}
    return [{key: value for key, value in row.items() if key in kept} for row in rows]


def _with_plain_columns(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{_GROUP_COLUMNS.get(key, key): value for key, value in row.items()} for row in rows]


def _with_durations(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"for" if key == "seconds" else key: _for(value) if key == "seconds" else value for key, value in row.items()}
        for row in rows
    ]


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
        ObservationFigure(f"{counts.get('records_read_on_source', 0):,}", "records were compared", "warn"),
    )


def _for(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)
