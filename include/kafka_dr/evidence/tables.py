"""Tables on pages. Made ones say which rows and columns of a document they show, in people's words and with units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from kafka_dr.durations import duration
from kafka_dr.evidence.status_colour import StatusColour, colour_of

#: The most rows of one table: the page must open on a phone.
MOST_ROWS = 500
_NOT_KNOWN = "not known"
#: ``s``: seconds. ``ms``: a time, in milliseconds. ``at``: a time, ISO 8601. ``state``: a word that is good or not,
#: ``word``: another. ``ranges``: pairs of the first offset and the one after the last.
Unit = Literal["", "s", "bytes", "ms", "at", "state", "word", "ranges"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table."""

    text: str
    number: bool = False
    colour: StatusColour | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    :param rows: those to look at
    :param left_out: how many more rows there are
    :param well: the rows that are good, of which a page says the number
    :param folded: whether a page shows only the title without a click
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int = 0
    well: tuple[tuple[Cell, ...], ...] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a made table.

    :param key: of the value; ``a.b`` is the key b in the section a
    :param rare: whether it is left out where every row has a zero
    :param null: what a null says
    """

    label: str
    key: str
    unit: Unit = ""
    rare: bool = False
    null: str = field(default=_NOT_KNOWN, kw_only=True)


@dataclass(frozen=True, slots=True)
class MadeTable:
    """What a table shows of a document.

    :param rows: the key of the list; ``a/b``: the lists b of the rows of the list a, with the values of both. Empty:
        the document is one row, a line for each of its values
    """

    title: str
    rows: str
    columns: tuple[Column, ...]
    folded: bool = field(default=False, kw_only=True)


def made_tables(made: Iterable[MadeTable], document: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of a document that have rows; what no row has is no column.

    :param document: plain JSON values
    """
    for table in made:
        found = list(_rows(document, table.rows))
        columns = [each for each in table.columns if _is_shown(each, found)]
        if not columns:
            continue
        if not table.rows:
            lines = tuple((Cell(each.label), _made(each, document)) for each in columns)
            yield Table(table.title, ("", ""), lines, folded=table.folded)
            continue
        state = next((each for each in columns if each.unit == "state"), None)
        parts: dict[bool, list[tuple[Cell, ...]]] = {True: [], False: []}
        for row in found:
            well = state is not None and colour_of(_value(row, state.key)) == "good"
            parts[well].append(tuple(_made(each, row) for each in columns))
        bad, good = parts[False], parts[True]
        left = max(len(bad) - MOST_ROWS, 0) + max(len(good) - MOST_ROWS, 0)
        labels = tuple(each.label for each in columns)
        yield Table(
            table.title, labels, tuple(bad[:MOST_ROWS]), left, well=tuple(good[:MOST_ROWS]), folded=table.folded
        )


def _rows(document: Mapping[str, Any], path: str) -> Iterator[Mapping[str, Any]]:
    first, _, rest = path.partition("/")
    if not first:
        yield document
        return
    found = _value(document, first)
    for row in found if isinstance(found, list) else ():
        each = row if isinstance(row, Mapping) else {"value": row}
        yield from ({**each, **inner} for inner in _rows(each, rest)) if rest else (each,)


def _value(row: Mapping[str, Any], key: str) -> Any:
    """Return a value of a row; empty if the row has no such key, ``None`` if its value is not known."""
    found: Any = row
    for part in key.split("."):
        found = found.get(part, "") if isinstance(found, Mapping) else found
    return found


def _is_shown(column: Column, rows: Iterable[Mapping[str, Any]]) -> bool:
    values = [_value(row, column.key) for row in rows]
    return any(value not in (None, "", [], {}) and not (column.rare and not value) for value in values)


def _made(column: Column, row: Mapping[str, Any]) -> Cell:
    value = _value(row, column.key)
    if value is None:
        return Cell(column.null)
    if column.unit in ("state", "word"):
        shown = str(value).replace("_", " ")
        return Cell(shown, colour=colour_of(value) if column.unit == "state" and value else None)
    if column.unit == "at":
        return Cell(_moment(value))
    if isinstance(value, Mapping):
        return Cell(", ".join(f"{each} {_cell(many).text}" for each, many in value.items()))
    if isinstance(value, list):
        return Cell(_ranges(value) if column.unit == "ranges" else ", ".join(map(str, value)))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if column.unit == "ms":
            return Cell(f"{datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC")
        said = duration(value) if column.unit == "s" else f"{value:,}"
        return Cell(f"{said} bytes" if column.unit == "bytes" else said, number=True)
    return _cell(value)


def _moment(value: Any) -> str:
    try:
        return f"{datetime.fromisoformat(value).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (TypeError, ValueError):
        return str(value)


def _ranges(ranges: Sequence[Any]) -> str:
    try:
        found = [f"{first} to {after - 1}" for first, after in ranges]
    except (TypeError, ValueError):
        return str(ranges)
    return ", ".join(found[:10]) + (f" and {len(found) - 10} more" if len(found) > 10 else "")


def _cell(value: object) -> Cell:
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, (int, float)):
        return Cell(f"{value:,}", number=True)
    return Cell("" if value is None else str(value))
