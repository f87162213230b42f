"""The view model of the page of an audit: its report as tables. Any report can be shown, with whatever keys it has.

Missing or unexpected values are shown as such. An unknown verdict is never shown as good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_dr.evidence.status_colour import StatusColour, colour_of

#: The most rows of one table: the page must open on a phone.
MOST_ROWS = 500
#: Keys whose values are shown as good or bad.
_JUDGED = ("verdict", "state")
#: Labels of keys that would mislead: these count offsets, and not every offset holds a record.
_LABELS = {
    "produced": "Offsets given out",
    "verified": "Records verified",
    "differing": "Records differing",
    "in_flight": "Records in flight",
    "expired": "Offsets deleted before they were read",
    "control": "Offsets without a record",
    "compacted": "Offsets compacted away",
    "excluded": "Offsets left out on purpose",
}
_COVERAGE = "coverage_"
_OFFSETS = {"verified_rpo_records": "Offsets not yet verified", "deleted": "Offsets deleted before they were read"}
_IN_THE_HEAD = ("schema_version", "verdict", "sentence", "at", "flow", "audit")


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table."""

    text: str
    number: bool = False
    colour: StatusColour | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    :param left_out: how many more rows there are
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int = 0


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
    verdict = str(report.get("verdict", "unknown"))
    apart = {
        "findings": "Findings",
        "groups_late": "Consumer groups that make no progress",
        "groups_unknown": "Groups whose lag cannot be judged",
    }
    body = {key: value for key, value in report.items() if key not in (*_IN_THE_HEAD, *apart)}
    return AuditView(
        title=f"{audit.capitalize()} audit of {flow}",
        verdict=verdict,
        colour=colour_of(verdict),
        sentence=str(report.get("sentence") or ""),
        at=str(report.get("at") or ""),
        tables=(
            *(
                table
                for key, title in apart.items()
                if isinstance(rows := report.get(key), list)
                for table in tables_of(title, rows)
            ),
            *tables_of("Measured", body),
        ),
    )


def build_stranded_view(found: Mapping[str, Any]) -> AuditView:
    """Return the view of a list of stranded records.

    :param found: its summary, as plain JSON values
    """
    head = (*_IN_THE_HEAD, "group", "run", "old", "new", "cluster_ids", "topic_ids", "partitions", "files", "seconds")
    partitions = [row for row in found.get("partitions") or () if row.get("records") or row.get("missing")]
    rows = [
        {**row, **{name: _moment(row.get(f"{name}_ms")) for name in ("oldest", "newest")}, "ranges": _ranges(row)}
        for row in partitions
    ]
    shown = [{key: each for key, each in row.items() if not key.endswith("_ms")} for row in rows]
    verdict = str(found.get("verdict", "unknown"))
    return AuditView(
        title=f"Stranded records of {found.get('group')}, on {found.get('old')}, after run {found.get('run')}",
        verdict=verdict,
        colour=colour_of(verdict),
        sentence=str(found.get("sentence") or ""),
        at=str(found.get("at") or ""),
        tables=(
            *_of_rows("By partition", shown),
            *_of_rows("Kept as Parquet", list(found.get("files") or ())),
            *tables_of("Also measured", {key: each for key, each in found.items() if key not in head}),
        ),
    )


def _moment(millis: object) -> str:
    if not isinstance(millis, int):
        return ""
    return f"{datetime.fromtimestamp(millis / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _ranges(row: Mapping[str, Any]) -> str:
    found = [f"{first} to {after - 1}" for first, after in row.get("ranges") or ()]
    return ", ".join(found[:10]) + (f" and {len(found) - 10} more" if len(found) > 10 else "")


def tables_of(title: str, value: object) -> Iterator[Table]:
    """Yield tables of a plain JSON value, with whatever keys it has.

    :param title: of the first one
    """
    if isinstance(value, Mapping):
        flat = dict(_flat(value))
        if flat:
            yield Table(title, ("", ""), tuple((Cell(_words(key)), _cell(key, each)) for key, each in flat.items()))
        for key, each in _nested(value):
            yield from tables_of(_words(key), each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from _of_rows(title, [each if isinstance(each, Mapping) else {"value": each} for each in value])


def _of_rows(title: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    flat = [dict(_flat(row)) for row in rows[:MOST_ROWS]]
    columns = tuple(dict.fromkeys(key for row in flat for key in row))
    cells = tuple(tuple(_cell(key, row.get(key)) for key in columns) for row in flat)
    yield Table(title, tuple(map(_words, columns)), cells, left_out=max(len(rows) - MOST_ROWS, 0))
    inner: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        name, label = next(((key, each) for key, each in _flat(row) if isinstance(each, str)), ("", ""))
        for key, found in _nested(row):
            if isinstance(found, list):
                inner.setdefault(key, []).extend({name: label, **each} for each in found if isinstance(each, Mapping))
    for key, found in inner.items():
        yield from _of_rows(f"{title}: {_words(key)}", found)


def _flat(row: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yield every value that is not a list; values of nested sections under both names."""
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}_{inner}", each) for inner, each in _flat(value))
        elif not isinstance(value, list):
            yield key, value


def _nested(row: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, list):
            yield key, value
        elif isinstance(value, Mapping):
            yield from ((f"{key}_{inner}", each) for inner, each in _nested(value))


def _cell(key: str, value: object) -> Cell:
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, (int, float)):
        return Cell(f"{value:,}", number=True)
    text = "" if value is None else str(value)
    return Cell(text, colour=colour_of(text) if key.endswith(_JUDGED) and text else None)


def _words(key: str) -> str:
    prefix, found, part = key.rpartition(_COVERAGE)
    if found and part in _LABELS:
        return " ".join(filter(None, (prefix.replace("_", " ").strip().capitalize(), _LABELS[part])))
    if key in _OFFSETS:
        return _OFFSETS[key]
    return key.replace("_", " ").capitalize()
