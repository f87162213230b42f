"""When a run let the applications write on its target: as it opened it, or later, where readers went first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kafka_dr.runs.run import Run

#: The field of the fact ``opened`` that says that readers were let in before writers.
READERS_FIRST = "readers_first"
#: The fact that says when writers followed.
WRITES_ADMITTED = "writes_admitted"


def admitted_at(facts: Mapping[str, Mapping[str, Any]]) -> datetime | None:
    """Return since when applications may write on the target of a run; ``None``: not yet.

    :param facts: what the run has journaled
    """
    opened = facts.get("opened", {})
    found = facts.get(WRITES_ADMITTED, {} if opened.get(READERS_FIRST) else opened).get("at")
    return None if found is None else datetime.fromisoformat(found)


def began(run: Run) -> datetime:
    """Return the same of a run that has opened its target.

    :raises NeedsPerson: it has not
    """
    return admitted_at(run.journal) or datetime.fromisoformat(run.fact("opened")["at"])
