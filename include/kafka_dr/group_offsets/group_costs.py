"""What a failover would cost each consumer group: one answer for each, because a form with two answers is not clear.

Two sources say how sure an offset is: the decision, which must not change between two looks, and the measurement of
this moment. A person is shown the worse of the two, with the measured figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka_dr.counted import counted
from kafka_dr.named_rows import by_name
from kafka_dr.offsets.translate.answers import badness
from kafka_dr.outcomes import Check

Rows = Sequence[Mapping[str, Any]]
#: How sure a group's offset is, for :func:`~kafka_dr.named_rows.rows_of`.
CLASSES = {"named": "group", "holding": "class"}

#: What the copies are that a consumer group reads twice although its offset is exact.
SECOND_COPIES = "second copies, made before the take over"
#: How many groups are named where there is room for one sentence.
_SHOWN = 4


def costs(classes: Rows, measured: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each group, in order; rows and not keys, as a group may have any name.

    :param classes: how sure each group's offset is by the decision
    :param measured: rows with ``group``, ``class``, ``redelivered_at_most`` and ``skipped_at_most``; ``second_copies``,
        if there are some among the records that are read again; ``metadata_left_out``, a sentence, if that is so
    """
    decided = by_name(classes, **CLASSES)
    found: dict[str, dict[str, Any]] = {
        group: {"class": kind, "redelivered_at_most": None, "skipped_at_most": None} for group, kind in decided.items()
    }
    for row in measured:
        group, kind = str(row["group"]), str(row["class"])
        found[group] = {
            "class": max(kind, decided.get(group, kind), key=badness),
            "redelivered_at_most": row.get("redelivered_at_most"),
            "skipped_at_most": row.get("skipped_at_most"),
            **{name: value for name in ("second_copies", "metadata_left_out") if (value := row.get(name))},
        }
    return [{"group": group, **row} for group, row in sorted(found.items())]


def decided(checks: Iterable[Check]) -> Rows:
    """Return how sure each group's offset is by the decision that is asked for, as the checks of a step found it."""
    found: Rows = next((check.facts["classes"] for check in checks if "classes" in check.facts), [])
    return found


def in_words(found: Rows) -> str:
    """Say of each group how sure its offset is, and what it would read again or skip.

    :param found: what :func:`costs` returned
    """
    return "; ".join(f"{row['group']}: {_cost(row)}" for row in found) or "no positions are known"


def in_short(rows: Rows) -> str:
    """Say the same in one sentence, however many groups there are: what is not known and what costs most comes first.

    :param rows: what :func:`costs` returned
    """
    unknown = [row for row in rows if _is_unknown(row)]
    costly = sorted((row for row in rows if not _is_unknown(row) and not _costs_nothing(row)), key=_most_first)
    said = [f"of {_named(unknown)} it is not known what would be read again or skipped"] if unknown else []
    said += [f"{row['group']}: {_cost(row)}" for row in costly[:_SHOWN]]
    if len(costly) > _SHOWN:
        said.append(f"{len(costly) - _SHOWN} more read less again")
    if free := len(rows) - len(unknown) - len(costly):
        said.append(f"{'all' if free == len(rows) else 'the other'} {free} resume exactly and read nothing again")
    return "; ".join(said) or "no positions are known"


def _named(rows: Rows) -> str:
    names = ", ".join(str(row["group"]) for row in rows[:_SHOWN])
    return f"{names} and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else names


def _is_unknown(row: Mapping[str, Any]) -> bool:
    skipped = row.get("skipped_at_most")
    return row.get("redelivered_at_most") is None or (row["class"] == "declared" and skipped is None)


def _costs_nothing(row: Mapping[str, Any]) -> bool:
    return (
        row["class"] == "exact"
        and row.get("redelivered_at_most") == 0
        and not (row.get("skipped_at_most") or row.get("metadata_left_out"))
    )


def _most_first(row: Mapping[str, Any]) -> tuple[int, str]:
    return -(row["redelivered_at_most"] + (row.get("skipped_at_most") or 0)), str(row["group"])


def _cost(row: Mapping[str, Any]) -> str:
    again, skipped = row.get("redelivered_at_most"), row.get("skipped_at_most")
    read = "how much is read again is not known" if again is None else f"at most {counted(again, 'record')} read again"
    if again and (second := row.get("second_copies")):
        read += f" ({second:,} are {SECOND_COPIES})"
    passed = f", at most {skipped:,} unread records skipped" if skipped else ""
    if row["class"] == "declared" and skipped is None:
        passed = ", how many unread records are skipped is not known"
    left_out = f"; {said}" if (said := row.get("metadata_left_out")) else ""
    return f"{row['class']}, {read}{passed}{left_out}"
