"""Which lists of an audit's report no table of its page shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kafka_dr.evidence.report_tables import REPORTS


def not_shown(audit: str, report: Mapping[str, Any]) -> set[str]:
    """Return the paths of the lists with rows that have no table, as tables name them."""
    return {path for path in _lists(report) if path not in {table.rows for table in REPORTS[audit]}}


def _lists(section: Mapping[str, Any]) -> Iterator[str]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from (f"{key}.{inner}" for inner in _lists(value))
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield key
            yield from {f"{key}/{inner}" for row in value for inner in _lists(row)}
